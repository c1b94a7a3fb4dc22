package env

import (
	"context"
	"fmt"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
)

// Limits of the grants that a draft reads.
const (
	maxGrants = 100 // with the same key: more are not looked at
	maxEnded  = 20  // that are removed when another is made
)

// Incarnation returns the incarnation of the store as grants have it.
func (e *Env) Incarnation() string { return fmt.Sprintf("%016x", e.Store.Incarnation()) }

// Grants returns the grants of an owner, for a single draft.
func (e *Env) Grants(ctx context.Context, owner store.Scope) *rules.Grants {
	read := func(q store.RowQuery) ([]store.Row, error) {
		q.Kind = task.RowGrant
		page, err := e.Store.Rows(ctx, owner, q)
		if err != nil {
			return nil, fmt.Errorf("read grants: %w", err)
		}
		return page.Rows, nil
	}
	return &rules.Grants{
		Owner: owner, Store: e.Incarnation(),
		With: func(key string) ([]store.Row, error) {
			return read(store.RowQuery{Index: task.IndexGrantKey, Prefix: []byte(key), Limit: maxGrants})
		},
		Ending: func() ([]store.Row, error) {
			return read(store.RowQuery{Index: task.IndexGrants, Prefix: task.PendingPrefix(owner.TenantName()), Limit: maxEnded})
		},
	}
}
