// Package tasklog reads the logs of tasks: the fold of a task for its turn, views of tasks for
// clients, approvals, and the state of a session. It writes nothing.
package tasklog

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"a2a-server/store"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/engine/internal/processors"
	"a2a-server/task/internal/fold"
)

// MaxTurnView is how many bytes of the View a turn keeps in memory. A turn does not need
// the View to continue: it is kept so that a snapshot, and the answer to a waiting
// client, cost nothing. If the View is larger, parts are dropped, artifacts first, and
// the log is read when a snapshot is due. Otherwise each of thousands of turns could hold
// 64 MiB.
const MaxTurnView = 256 << 10

// loadPage is how many bytes of events a read of a task asks for.
const loadPage = 4 << 20

// Reading says how much of a task to read and fold. The zero value means everything.
type Reading struct {
	View        bool   // only the part that a client sees, which is half the work
	NoArtifacts bool   // do not read artifacts
	NoHistory   bool   // do not keep the history either; only with NoArtifacts
	Most        uint64 // read only the header if the log has more bytes; 0: no limit
	Keep        int    // lighten the view if it has more bytes; 0: never
	Last        uint64 // fold a view up to this seq, unless a snapshot holds more; 0: to the end
	Exact       bool   // up to Last, whatever a snapshot holds
}

// Reader reads tasks and folds them. It is safe for concurrent use.
type Reader struct {
	Views ViewCache

	// Unsettled has the tasks that were open when the store was restored from a backup, and may not
	// be up to date yet: by id, the ids of the restorations, as []string. [Reader.LoadTurn] says in
	// the fold whether its log has them.
	Unsettled sync.Map

	env        *env.Env
	processors *processors.Processors
	sessions   sessions
}

// New returns a Reader. Call [Reader.Stop] once nothing reads any more.
func New(e *env.Env, p *processors.Processors) *Reader {
	r := &Reader{env: e, processors: p}
	r.sessions.init(e.Store)
	return r
}

// Stop ends the Reader's watch on the states of contexts.
func (r *Reader) Stop() { r.sessions.stop() }

// Load reads a task and folds it. The fold is nil if the log has more than how.Most bytes. If
// the header changes between two pages, the newest header is used; a view is that of the first
// page, so that it is not larger than expected. If a view ends before that, Seq and Pub of the
// header say where.
func (r *Reader) Load(ctx context.Context, s store.Scope, id store.TaskID, how Reading) (*fold.Fold, store.Header, error) {
	limit := store.Limit{Bytes: loadPage, NoBulk: how.NoArtifacts, Most: how.Most}
	p, err := r.env.Store.Read(ctx, s, id, store.AtSnapshot(), limit)
	if err != nil || limit.Refuses(&p.Header) {
		return nil, p.Header, err
	}
	limit.Most = 0
	f := fold.New(id, p.Header.Context)
	if p.Snapshot != nil {
		folded, err := fold.Decode(p.Snapshot, p.Bulk, how.View)
		if err != nil {
			r.env.Log.Warn().Err(err).Str("task_id", id.String()).Msg("snapshot cannot be read; the task is folded from its first event")
		}
		if err == nil && (!how.Exact || p.Header.Snapshot <= how.Last) {
			f = folded
		} else { // a snapshot is only a cache: the log has everything
			if p, err = r.env.Store.Read(ctx, s, id, store.After(0), limit); err != nil {
				return nil, store.Header{}, err
			}
		}
	}
	f.View.Omit(how.NoArtifacts, how.NoHistory)
	first, end := p.Header, p.Header.Seq
	if how.Exact || how.Last >= max(first.Snapshot, 1) {
		first.Seq = min(how.Last, end)
		first.Pub -= end - first.Seq // the private ones among these are added again below
	}
	for {
		if err := apply(f, p.Events, how.View, first.Seq); err != nil {
			return nil, store.Header{}, fmt.Errorf("%w: task %s, %w", store.ErrDataLoss, id, err)
		}
		first.Pub += private(p.Events, first.Seq, end)
		f.Header = p.Header
		if how.View {
			f.Header = first
		}
		if how.Keep > 0 {
			f.View.Lighten(how.Keep)
		}
		if next, _ := p.Next.Seq(); !p.More || how.View && next >= end {
			return f, f.Header, nil
		}
		if p, err = r.env.Store.Read(ctx, s, id, p.Next, limit); err != nil {
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

// LoadTurn reads a task and folds it in order to continue it: a large task without its
// artifacts, which a turn does not need, and with no more of the view than a turn may keep;
// and with the state of its context. For a caller, a large task is folded on a processor for
// long computations: that takes memory and time, and of many concurrent changes of one task,
// most would fold an old log.
func (r *Reader) LoadTurn(ctx context.Context, s store.Scope, id store.TaskID) (*fold.Fold, error) {
	f, _, err := r.Load(ctx, s, id, Reading{Most: MaxTurnView, Keep: MaxTurnView})
	if err == nil && f == nil {
		f, err = r.loadLarge(ctx, s, id)
	}
	if err == nil {
		err = r.Join(ctx, f.Header.Owner, f)
	}
	if err != nil {
		return nil, err
	}
	if needs, found := r.Unsettled.Load(id); found {
		ids, _ := needs.([]string)
		f.Unsettled = slices.ContainsFunc(ids, func(id string) bool { return !f.Restored.Has(id) })
	}
	return f, nil
}

func (r *Reader) loadLarge(ctx context.Context, s store.Scope, id store.TaskID) (*fold.Fold, error) {
	if s != store.System() { // which has no caller to wait for
		end, err := r.processors.Take(ctx, s)
		if err != nil {
			return nil, err
		}
		defer end()
	}
	f, _, err := r.Load(ctx, s, id, Reading{NoArtifacts: true, Keep: MaxTurnView})
	return f, err
}
