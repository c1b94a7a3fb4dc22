package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"a2a-server/store"
)

// newFold returns the fold of an empty log.
func newFold(id store.TaskID, contextID string) *fold {
	return &fold{header: store.Header{Task: id, Context: contextID}, view: newView(id.String(), contextID)}
}

// load reads a task and folds it whole.
func (e *Engine) load(ctx context.Context, s store.Scope, id store.TaskID) (*fold, error) {
	return e.loadKeeping(ctx, s, id, math.MaxInt, false /* viewOnly */)
}

// loadView reads a task and folds what a client sees of it: what only the engine
// has to know is passed over, which is half of the work.
func (e *Engine) loadView(ctx context.Context, s store.Scope, id store.TaskID) (*View, store.Header, error) {
	f, err := e.loadKeeping(ctx, s, id, math.MaxInt, true /* viewOnly */)
	if err != nil {
		return nil, store.Header{}, err
	}
	return f.view, f.header, nil
}

// loadTurn reads a task and folds it, to go on with it: of a large one the view is
// light.
func (e *Engine) loadTurn(ctx context.Context, s store.Scope, id store.TaskID) (*fold, error) {
	return e.loadKeeping(ctx, s, id, maxTurnView, false /* viewOnly */)
}

// loadKeeping reads a task and folds it; a view of more than limit bytes is let go
// on the way. A header that changes between two pages is taken as the newest page
// has it.
func (e *Engine) loadKeeping(ctx context.Context, s store.Scope, id store.TaskID, limit int, viewOnly bool) (*fold, error) {
	v, err := e.store.Read(ctx, s, id, store.AtSnapshot(), store.Limit{Bytes: 4 << 20})
	if err != nil {
		return nil, err
	}
	f := newFold(id, v.Header.Context)
	if v.Snapshot != nil {
		folded, err := decodeSnapshot(v.Snapshot, viewOnly)
		if err == nil {
			f = folded
			f.snapshotSize = len(v.Snapshot)
		} else { // it is a cache: the log has it all
			e.log.Warn().Err(err).Str("task_id", id.String()).Msg("snapshot cannot be read; the task is folded from its first event")
			if v, err = e.store.Read(ctx, s, id, store.After(0), store.Limit{Bytes: 4 << 20}); err != nil {
				return nil, err
			}
		}
	}
	for {
		for i := range v.Events {
			apply := f.apply
			if viewOnly {
				apply = f.applyView
			}
			if err := apply(&v.Events[i]); err != nil {
				return nil, fmt.Errorf("task %s, event %d: %w", id, v.Events[i].Seq, err)
			}
			f.tail += len(v.Events[i].Data)
		}
		f.header = v.Header
		f.view.lighten(limit)
		if !v.More {
			return f, nil
		}
		n := v.Events[len(v.Events)-1].Seq
		if v, err = e.store.Read(ctx, s, id, store.After(n), store.Limit{Bytes: 4 << 20}); err != nil {
			return nil, err
		}
	}
}

const snapshotVersion = 1

// minSnapshot is the least that must have come since the last snapshot.
const minSnapshot = 16 << 10

// wantsSnapshot reports whether more has come since the last snapshot than that
// one has, so that snapshots never outweigh events.
func (f *fold) wantsSnapshot() bool { return f.tail >= max(minSnapshot, f.snapshotSize) }

// encode returns the fold as a snapshot: a version, the private part as JSON, the
// view.
func (f *fold) encode() ([]byte, error) {
	if f.view.light {
		return nil, errors.New("encode snapshot: the view was let go")
	}
	private, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode snapshot: %w", err)
	}
	b := make([]byte, 0, len(private)+f.view.Size()+64)
	b = append(b, snapshotVersion)
	b = fmt.Appendf(b, "%010d", len(private))
	b = append(b, private...)
	return f.view.appendBinary(b), nil
}

// decodeSnapshot reads what encode wrote; with viewOnly only the view.
func decodeSnapshot(b []byte, viewOnly bool) (*fold, error) {
	if len(b) < 11 || b[0] != snapshotVersion {
		return nil, fmt.Errorf("snapshot is of another version than %d", snapshotVersion)
	}
	var n int
	if _, err := fmt.Sscanf(string(b[1:11]), "%010d", &n); err != nil || n < 0 || n > len(b)-11 {
		return nil, errors.New("snapshot is cut")
	}
	f := &fold{}
	if !viewOnly {
		if err := json.Unmarshal(b[11:11+n], f); err != nil {
			return nil, fmt.Errorf("decode snapshot: %w", err)
		}
	}
	view, rest, err := decodeView(b[11+n:])
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes stand behind its end", len(rest))
	}
	if err != nil {
		return nil, fmt.Errorf("decode snapshot: %w", err)
	}
	f.view = view
	return f, nil
}
