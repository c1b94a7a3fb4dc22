package turn

import (
	"context"
	"errors"
	"math"
	"slices"

	"a2a-server/store"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/engine/internal/scheduler"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
)

// Message is the row of a message that creates a task.
type Message struct {
	Hash  [16]byte    // its key
	Rev   uint64      // that the row must have; 0: it must not be there
	Holds func() bool // whether Rev still names the row that was read; nil: it does
}

// Create creates a task, with the limits of its context and of the disk and the row of its message (nil: none),
// and returns the use of the disk after it. The error is that of the store if it refuses the batch.
func (ts *Turns) Create(ctx context.Context, scope store.Scope, n rules.New, m *Message) (Landed, store.Disk, error) {
	l, used, err := ts.create(ctx, scope, n, m, true /* advance */)
	if stuck(err) || errors.Is(err, store.ErrConflict) { // see Turns.change; or a grant was used or revoked in the meantime
		l, used, err = ts.create(ctx, scope, n, m, false /* advance */)
	}
	return l, used, err
}

func (ts *Turns) create(ctx context.Context, scope store.Scope, n rules.New, m *Message, advance bool) (Landed, store.Disk, error) {
	t := ts.newTurn(n.ID, scope)
	d, err := rules.Create(ts.Env.Rules(), t.at(ctx), n)
	if err != nil {
		t.cancel(nil)
		return Landed{}, store.Disk{}, err
	}
	t.take(d.Fold())
	run, err := ts.goOn(&t.place, d, scheduler.Other, advance)
	if err != nil {
		t.cancel(nil)
		return Landed{}, store.Disk{}, err
	}
	b := ts.batch(d, scope, nil)
	if m != nil {
		b.Rows = append(b.Rows, store.RowChange{Of: scope, Kind: record.KindMessage, Key: m.Hash[:], IfRev: m.Rev, Value: slices.Clone(n.ID[:])})
		if draft := b.Holds; m.Holds != nil {
			b.Holds = func() bool { return m.Holds() && draft() }
		}
	}
	b.Disk = ts.Env.Limits.DiskBounds()
	if n.Message.ContextID != "" { // a context id of ours is new, so its context is empty
		b.Parked = uint32(min(ts.Env.Limits.Parked, math.MaxUint32))
	}
	r, err := ts.Env.Append(ctx, b, env.PointCreated, func(r store.Receipt, err error) { t.began(d, run, r, err) })
	if err != nil {
		return Landed{}, store.Disk{}, err
	}
	return Landed{r.Last, t}, r.Disk, nil
}
