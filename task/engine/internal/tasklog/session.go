package tasklog

import (
	"context"
	"fmt"
	"sync"

	"a2a-server/store"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/record"
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
	s.wake, s.stop = in.WatchRows(store.System(), record.KindState)
	s.changes = 1 // unread state is older
}

// now returns a number that changes after each commit that changes the state of a context.
func (s *sessions) now() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if env.Signaled(s.wake) {
		s.changes++
	}
	return s.changes
}

// SessionAt returns a number that changes after each commit that changes the state of a
// context: see [fold.Session].
func (r *Reader) SessionAt() uint64 { return r.sessions.now() }

// Session reads the state of a context. A new context, which has none, need not be read.
func (r *Reader) Session(ctx context.Context, owner store.Scope, contextID string) (*fold.Session, error) {
	at := r.sessions.now() // before it is read
	q := store.RowQuery{Kind: record.KindState, Context: contextID, Limit: 1000}
	var rows []store.Row
	for {
		page, err := r.env.Store.Rows(ctx, owner, q)
		if err != nil {
			return nil, fmt.Errorf("read the state of the context: %w", err)
		}
		if rows = append(rows, page.Rows...); page.Next == "" {
			return fold.NewSession(at, rows)
		}
		q.Cursor = page.Next
	}
}

// Join gives a fold of owner's the state of its context.
func (r *Reader) Join(ctx context.Context, owner store.Scope, f *fold.Fold) error {
	if f.Header.Context == "" {
		return nil
	}
	s, err := r.Session(ctx, owner, f.Header.Context)
	if err == nil {
		f.Join(s)
	}
	return err
}
