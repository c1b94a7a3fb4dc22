package engine

import (
	"context"
	"fmt"
	"math"

	"a2a-server/store"
	"a2a-server/task"
)

// loadPage is how many bytes of events one read of a task asks for.
const loadPage = 4 << 20

// load reads a task and folds it whole.
func (e *Engine) load(ctx context.Context, s store.Scope, id store.TaskID) (*task.Fold, error) {
	return e.loadKeeping(ctx, s, id, math.MaxInt, false /* viewOnly */)
}

// loadView reads a task and folds what a client sees of it: what only the engine
// has to know is passed over, which is half of the work.
func (e *Engine) loadView(ctx context.Context, s store.Scope, id store.TaskID) (*task.View, store.Header, error) {
	f, err := e.loadKeeping(ctx, s, id, math.MaxInt, true /* viewOnly */)
	if err != nil {
		return nil, store.Header{}, err
	}
	return f.View, f.Header, nil
}

// loadTurn reads a task and folds it, to go on with it: of a large one the view is
// light.
func (e *Engine) loadTurn(ctx context.Context, s store.Scope, id store.TaskID) (*task.Fold, error) {
	return e.loadKeeping(ctx, s, id, maxTurnView, false /* viewOnly */)
}

// loadKeeping reads a task and folds it; a view of more than limit bytes is let go
// on the way. A header that changes between two pages is taken as the newest page
// has it.
func (e *Engine) loadKeeping(ctx context.Context, s store.Scope, id store.TaskID, limit int, viewOnly bool) (*task.Fold, error) {
	p, err := e.store.Read(ctx, s, id, store.AtSnapshot(), store.Limit{Bytes: loadPage})
	if err != nil {
		return nil, err
	}
	f := task.NewFold(id, p.Header.Context)
	if p.Snapshot != nil {
		folded, err := task.DecodeFold(p.Snapshot, viewOnly)
		if err == nil {
			f = folded
		} else { // it is a cache: the log has it all
			e.log.Warn().Err(err).Str("task_id", id.String()).Msg("snapshot cannot be read; the task is folded from its first event")
			if p, err = e.store.Read(ctx, s, id, store.After(0), store.Limit{Bytes: loadPage}); err != nil {
				return nil, err
			}
		}
	}
	apply := f.Apply
	if viewOnly {
		apply = f.ApplyView
	}
	for {
		for i := range p.Events {
			if err := apply(&p.Events[i]); err != nil {
				return nil, fmt.Errorf("task %s, event %d: %w", id, p.Events[i].Seq, err)
			}
		}
		f.Header = p.Header
		f.Lighten(limit)
		if !p.More {
			return f, nil
		}
		n := p.Events[len(p.Events)-1].Seq
		if p, err = e.store.Read(ctx, s, id, store.After(n), store.Limit{Bytes: loadPage}); err != nil {
			return nil, err
		}
	}
}
