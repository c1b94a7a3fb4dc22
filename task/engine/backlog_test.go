package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"a2a-server/store"
	"a2a-server/task/engine"
	"a2a-server/task/internal/record"
)

// backlogPages is a store with pending approvals, one for each page, and other rows that wait.
type backlogPages struct {
	store.Handle
	asked []time.Time
}

func (p *backlogPages) Rows(ctx context.Context, s store.Scope, q store.RowQuery) (store.RowPage, error) {
	others, counted := map[string]int{record.IndexReady: 2, record.IndexNew: 3, record.IndexRetry: 4}[q.Index]
	switch {
	case !counted && q.Index != record.IndexPending:
		return p.Handle.Rows(ctx, s, q)
	case s != store.System() || !q.Keys:
		return store.RowPage{}, errors.New("of another scope, or with values")
	case counted:
		return store.RowPage{Rows: make([]store.Row, others)}, nil
	}
	i := len(q.Cursor)
	page := store.RowPage{Rows: []store.Row{{IndexKey: fmt.Appendf(record.PendingPrefix("acme"), "%016x", store.MillisOf(p.asked[i]))}}}
	if i+1 < len(p.asked) {
		page.Next = q.Cursor + "."
	}
	return page, nil
}

// A backlog has every pending approval up to a limit, the oldest among them, and all that is to be sent. It reads
// no value.
func TestBacklog(t *testing.T) {
	t.Parallel()
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	w := newMemory(t)
	w.wrap = func(h store.Handle) store.Handle {
		return &backlogPages{Handle: h, asked: []time.Time{at(2), at(1), at(3)}}
	}
	w.prepare()
	t.Cleanup(func() { w.engine.Stop(0) })
	for limit, want := range map[int]engine.Backlog{
		100: {Pending: 3, Oldest: at(1), Webhooks: 2, Notifications: 7},
		1:   {Pending: 1, Oldest: at(2), Webhooks: 1, Notifications: 2},
	} {
		got, err := w.engine.Backlog(t.Context(), limit)
		if err != nil || !got.Oldest.Equal(want.Oldest) {
			t.Errorf("Backlog(%d) = %+v, %v, want %+v", limit, got, err, want)
		}
		if got.Oldest = want.Oldest; got != want {
			t.Errorf("Backlog(%d) = %+v, want %+v", limit, got, want)
		}
	}
}
