package engine

import (
	"context"
	"time"

	"a2a-server/store"
	"a2a-server/task/internal/record"
)

// Backlog is the work that waits in the store, of all owners.
type Backlog struct {
	Pending       int       // approvals
	Oldest        time.Time // when the oldest of them was requested; zero: none waits
	Webhooks      int       // that have notifications to send
	Notifications int       // about approvals, to be sent
}

// Backlog counts the work that waits, at most limit rows of an index. Every page is a transaction of its own,
// and has no values.
func (e *Engine) Backlog(ctx context.Context, limit int) (b Backlog, err error) {
	for _, count := range []struct {
		kind, index string
		row         func(*store.Row)
	}{
		{record.KindApproval, record.IndexPending, func(row *store.Row) {
			b.Pending++
			if asked, ok := record.IndexTime(row.IndexKey); ok && (b.Oldest.IsZero() || asked.Before(b.Oldest)) {
				b.Oldest = asked
			}
		}},
		{record.KindPushReady, record.IndexReady, func(*store.Row) { b.Webhooks++ }},
		{record.KindNotify, record.IndexNew, func(*store.Row) { b.Notifications++ }},
		{record.KindNotify, record.IndexRetry, func(*store.Row) { b.Notifications++ }},
	} {
		left := limit
		for row, err := range store.AllRows(ctx, e.env.Store, store.System(), store.RowQuery{Kind: count.kind, Index: count.index, Limit: 1000, Keys: true}) {
			if err != nil {
				return b, err
			}
			count.row(row)
			if left--; left == 0 {
				break
			}
		}
	}
	return b, nil
}
