package store

import (
	"fmt"
	"slices"
)

// Next is the arithmetic of the contract: it checks b against the current header of
// its task (nil: there is none) and returns the header and the receipt after b. It
// writes nothing. epoch is the appending handle's. The implementation checks rows,
// due rows and the bounds, and maintains Header.Due, Snapshot and BulkSnapshot.
//
// b must have passed [Batch.Validate] and must have a task.
func Next(h *Header, b *Batch, epoch uint64) (Header, Receipt, error) {
	var n Header
	switch {
	case b.Creates():
		if b.Scope.IsZero() {
			return n, Receipt{}, ErrNotFound
		}
		if h != nil {
			return n, Receipt{}, fmt.Errorf("%w: task %s exists", ErrConflict, b.Task)
		}
		n = Header{Task: b.Task, Owner: b.Scope, Context: b.Change.Context, Fence: 1}
	case h == nil || !b.Scope.Covers(h.Owner):
		return n, Receipt{}, ErrNotFound
	case b.Fence != nil && (*b.Fence != h.Fence || h.Phase != Live):
		return n, Receipt{}, ErrFenced
	case b.Rev != nil && *b.Rev != h.Rev:
		return n, Receipt{}, fmt.Errorf("%w: task has rev %d", ErrConflict, h.Rev)
	default:
		n = *h
	}
	if n.Context == "" && b.HasContextRows() {
		return n, Receipt{}, fmt.Errorf("%w: task %s has no context, so it cannot change context rows", ErrInvalid, n.Task)
	}
	if b.namesOther(n.Owner) {
		return n, Receipt{}, fmt.Errorf("%w: a row of another owner than the task's", ErrInvalid)
	}
	c := &b.Change
	if n.Phase == Final && (c.Status != nil || c.Phase != 0 || c.TakeFence) {
		return n, Receipt{}, fmt.Errorf("%w: a final task cannot change", ErrInvalid)
	}
	if b.Rev != nil {
		n.Rev++
	}
	if c.TakeFence {
		n.Fence++
	}
	if c.Status != nil {
		n.State, n.StatusTime = c.Status.State, c.Status.Time
	}
	if c.Pending != nil {
		n.Pending = *c.Pending
	}
	if c.Phase != 0 {
		n.Phase = c.Phase
		if c.Phase == Live {
			n.Epoch = epoch
		}
	}
	r := Receipt{Task: n.Task, First: n.Seq + 1}
	for i := range b.Events {
		n.Seq++
		if b.Events[i].Public {
			n.Pub++
		}
		size := uint64(len(b.Events[i].Data))
		n.Bytes += size
		if b.Events[i].Bulk {
			n.Bulk += size
		}
	}
	r.Last, r.Pub, r.Fence = n.Seq, n.Pub, n.Fence
	if b.Rev != nil {
		r.Rev = n.Rev
	}
	return n, r, nil
}

// KeepsSnapshot reports whether the store should keep b's snapshot. seq, rev and snap
// are the task's last seq, its rev and the seq of its newest snapshot before b.
func (b *Batch) KeepsSnapshot(seq, rev, snap uint64) bool {
	s := b.Snapshot
	return s != nil && s.After == seq && s.Rev == rev && seq > snap
}

// Number returns b's events as the log holds them, numbered from r. Each call
// returns a new slice; the data is shared.
func (b *Batch) Number(r Receipt) []Event {
	pub := r.Pub
	for i := range b.Events {
		if b.Events[i].Public {
			pub--
		}
	}
	events := make([]Event, len(b.Events))
	for i, e := range b.Events {
		e.Seq, e.Pub = r.First+uint64(i), 0
		if e.Public {
			pub++
			e.Pub = pub
		}
		events[i] = e
	}
	return events
}

// CheckRows returns ErrConflict unless each row that b needs has its rev, and each row that b
// changes has the rev that its change asks for, as the changes before leave it. It is for
// implementations. key returns the key of a row, and rev its rev before b; 0: there is no row.
func (b *Batch) CheckRows(key func(*RowChange) []byte, rev func(key []byte) (uint64, error)) error {
	for _, need := range b.Needs {
		now, err := rev(key(&RowChange{Kind: need.Kind, Key: need.Key, Of: need.Of}))
		if err != nil {
			return err
		}
		if now != need.Rev {
			return fmt.Errorf("%w: row %s has rev %d", ErrConflict, need.Kind, now)
		}
	}
	if !slices.ContainsFunc(b.Rows, func(c RowChange) bool { return c.IfRev != Any }) {
		return nil
	}
	var changed map[string]uint64
	if len(b.Rows) > 1 {
		changed = make(map[string]uint64, len(b.Rows))
	}
	for i := range b.Rows {
		c := &b.Rows[i]
		k := key(c)
		now, known := changed[string(k)]
		if !known {
			var err error
			if now, err = rev(k); err != nil {
				return err
			}
		}
		if c.IfRev != Any && c.IfRev != now {
			return fmt.Errorf("%w: row %s has rev %d", ErrConflict, c.Kind, now)
		}
		if now++; c.Delete {
			now = 0
		}
		if changed != nil {
			changed[string(k)] = now
		}
	}
	return nil
}
