package env

import (
	"context"
	"fmt"
	"iter"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
)

// Limits of the grants that a draft reads.
const (
	maxGrants  = 1000 // in force, with the same scope and key: only if their makers may not decide a call are more needed
	grantsRead = 50   // at a time
	maxEnded   = 20   // that are removed when another is made
)

// Incarnation returns the incarnation of the store as grants have it.
func (e *Env) Incarnation() string { return fmt.Sprintf("%016x", e.Store.Incarnation()) }

// Grants returns the grants of an owner, for a single draft.
func (e *Env) Grants(ctx context.Context, owner store.Scope) *rules.Grants {
	read := func(q store.RowQuery) (store.RowPage, error) {
		q.Kind = task.RowGrant
		page, err := e.Store.Rows(ctx, owner, q)
		if err != nil {
			return page, fmt.Errorf("read grants: %w", err)
		}
		return page, nil
	}
	each := func(q store.RowQuery) iter.Seq2[store.Row, error] {
		return func(yield func(store.Row, error) bool) {
			q := q
			for n := 0; n < maxGrants; n += grantsRead {
				page, err := read(q)
				if err != nil {
					yield(store.Row{}, err)
					return
				}
				for i := range page.Rows {
					if !yield(page.Rows[i], nil) {
						return
					}
				}
				if q.Cursor = page.Next; q.Cursor == "" {
					return
				}
			}
		}
	}
	return &rules.Grants{
		Owner: owner, Store: e.Incarnation(),
		With: func(prefix []byte) iter.Seq2[store.Row, error] {
			return each(store.RowQuery{Index: task.IndexGrantKey, Prefix: prefix, Limit: grantsRead})
		},
		Get: func(id string) iter.Seq2[store.Row, error] { return each(store.RowQuery{Key: []byte(id)}) },
		Ending: func() ([]store.Row, error) {
			page, err := read(store.RowQuery{Index: task.IndexGrants, Prefix: task.PendingPrefix(owner.TenantName()), Limit: maxEnded})
			return page.Rows, err
		},
	}
}
