package engine

import (
	"context"
	"fmt"

	"a2a-server/store"
	"a2a-server/task/internal/fold"
)

// loadPage is how many bytes of events a read of a task asks for.
const loadPage = 4 << 20

// reading says how much of a task to read and fold. The zero value means everything.
type reading struct {
	view        bool   // only the part that a client sees, which is half the work
	noArtifacts bool   // do not read artifacts
	noHistory   bool   // do not keep the history either; only with noArtifacts
	most        uint64 // read only the header if the log has more bytes; 0: no limit
	keep        int    // lighten the view if it has more bytes; 0: never
	last        uint64 // fold a view up to this seq, unless a snapshot holds more; 0: to the end
}

// load reads a task and folds it. The fold is nil if the log has more than r.most bytes. If
// the header changes between two pages, the newest header is used; a view is that of the first
// page, so that it is not larger than expected. If a view ends before that, Seq and Pub of the
// header say where.
func (e *Engine) load(ctx context.Context, s store.Scope, id store.TaskID, r reading) (*fold.Fold, store.Header, error) {
	limit := store.Limit{Bytes: loadPage, NoBulk: r.noArtifacts, Most: r.most}
	p, err := e.store.Read(ctx, s, id, store.AtSnapshot(), limit)
	if err != nil || limit.Refuses(&p.Header) {
		return nil, p.Header, err
	}
	limit.Most = 0
	f := fold.New(id, p.Header.Context)
	if p.Snapshot != nil {
		folded, err := fold.Decode(p.Snapshot, p.Bulk, r.view)
		if err == nil {
			f = folded
		} else { // a snapshot is only a cache: the log has everything
			e.log.Warn().Err(err).Str("task_id", id.String()).Msg("snapshot cannot be read; the task is folded from its first event")
			if p, err = e.store.Read(ctx, s, id, store.After(0), limit); err != nil {
				return nil, store.Header{}, err
			}
		}
	}
	f.Omit(r.noArtifacts, r.noHistory)
	first, end := p.Header, p.Header.Seq
	if r.last >= max(first.Snapshot, 1) {
		first.Seq = min(r.last, end)
		first.Pub -= end - first.Seq // the private ones among these are added again below
	}
	for {
		if err := apply(f, p.Events, r.view, first.Seq); err != nil {
			return nil, store.Header{}, fmt.Errorf("%w: task %s, %w", store.ErrDataLoss, id, err)
		}
		first.Pub += private(p.Events, first.Seq, end)
		f.Header = p.Header
		if r.view {
			f.Header = first
		}
		if r.keep > 0 {
			f.Lighten(r.keep)
		}
		if next, _ := p.Next.Seq(); !p.More || r.view && next >= end {
			return f, f.Header, nil
		}
		if p, err = e.store.Read(ctx, s, id, p.Next, limit); err != nil {
			return nil, store.Header{}, err
		}
	}
}

// private counts the non-public events after seq n, up to seq end. The bulk events, which a
// reading may leave out, are all public.
func private(events []store.Event, n, end uint64) (count uint64) {
	for i := range events {
		if ev := &events[i]; !ev.Public && ev.Seq > n && ev.Seq <= end {
			count++
		}
	}
	return count
}

// apply folds events; for a view, only those up to seq last.
func apply(f *fold.Fold, events []store.Event, view bool, last uint64) error {
	for i := range events {
		ev, one := &events[i], f.Apply
		if view {
			if ev.Seq > last {
				return nil
			}
			one = f.ApplyView
		}
		if err := one(ev); err != nil {
			return fmt.Errorf("event %d: %w", ev.Seq, err)
		}
	}
	return nil
}

// loadTurn reads a task and folds it in order to continue it: a large task without its
// artifacts, which a turn does not need, and with no more of the view than a turn may keep;
// and with the state of its context. For a caller, a large task is folded on a processor for
// long computations: that takes memory and time, and of many concurrent changes of one task,
// most would fold an old log.
func (e *Engine) loadTurn(ctx context.Context, s store.Scope, id store.TaskID) (*fold.Fold, error) {
	f, _, err := e.load(ctx, s, id, reading{most: maxTurnView, keep: maxTurnView})
	if err == nil && f == nil {
		f, err = e.loadLarge(ctx, s, id)
	}
	if err == nil {
		err = e.join(ctx, f.Header.Owner, f)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (e *Engine) loadLarge(ctx context.Context, s store.Scope, id store.TaskID) (*fold.Fold, error) {
	if s != store.System() { // which has no caller to wait for
		end, err := e.processor(ctx, s)
		if err != nil {
			return nil, err
		}
		defer end()
	}
	f, _, err := e.load(ctx, s, id, reading{noArtifacts: true, keep: maxTurnView})
	return f, err
}
