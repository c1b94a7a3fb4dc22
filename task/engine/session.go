package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/fold"
)

// sessions notices that some task has changed the state of its context. Turns keep the state
// that they have read until then, so that a call costs no read of its own.
type sessions struct {
	wake <-chan struct{}
	stop func()

	mu      sync.Mutex // so that no reader sees the old number after another took the signal
	changes uint64
}

func (s *sessions) init(in store.Watcher) {
	s.wake, s.stop = in.WatchRows(store.System(), task.RowState)
	s.changes = 1 // unread state is older
}

// now returns a number that changes after each commit that changes the state of a context.
func (s *sessions) now() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if signaled(s.wake) {
		s.changes++
	}
	return s.changes
}

// session reads the state of a context. A new context, which has none, need not be read.
func (e *Engine) session(ctx context.Context, owner store.Scope, contextID string) (*fold.Session, error) {
	at := e.sessions.now() // before it is read
	q := store.RowQuery{Kind: task.RowState, Context: contextID, Limit: 1000}
	var rows []store.Row
	for {
		page, err := e.store.Rows(ctx, owner, q)
		if err != nil {
			return nil, fmt.Errorf("read the state of the context: %w", err)
		}
		if rows = append(rows, page.Rows...); page.Next == "" {
			return fold.NewSession(at, rows)
		}
		q.Cursor = page.Next
	}
}

// join gives a fold of owner's the state of its context.
func (e *Engine) join(ctx context.Context, owner store.Scope, f *fold.Fold) error {
	if f.Header.Context == "" {
		return nil
	}
	s, err := e.session(ctx, owner, f.Header.Context)
	if err == nil {
		f.Join(s)
	}
	return err
}

// joinAgain reads the state of the context again if some context has changed. Nothing of
// the turn may be in flight but chunks.
func (t *turn) joinAgain() error {
	if t.fold.Session().At == t.e.sessions.now() {
		return nil
	}
	err := t.e.join(t.e.ctx, t.owner, t.fold)
	for n := 1; errors.Is(err, store.ErrUnavailable) && t.e.pause(retryPause(n)); n++ {
		err = t.e.join(t.e.ctx, t.owner, t.fold)
	}
	return err
}

// contextFull reports whether the store has refused the state that calls have set in their
// context: together with the state set by other tasks since it was read, it is too much.
func contextFull(err error) bool {
	_, full := errors.AsType[*store.ContextRowsError](err)
	return full
}
