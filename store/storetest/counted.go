package storetest

import (
	"context"
	"sync/atomic"

	"a2a-server/store"
)

// Counted is a store that counts what is asked of it for callers. What a server does of its
// own accord, such as due work, is not counted.
type Counted struct {
	store.Handle
	Calls atomic.Int64
}

// Read implements [store.Handle].
func (s *Counted) Read(ctx context.Context, in store.Scope, id store.TaskID, from store.From, l store.Limit) (store.LogPage, error) {
	s.Calls.Add(1)
	return s.Handle.Read(ctx, in, id, from, l)
}

// Rows implements [store.Handle].
func (s *Counted) Rows(ctx context.Context, in store.Scope, q store.RowQuery) (store.RowPage, error) {
	s.Calls.Add(1)
	return s.Handle.Rows(ctx, in, q)
}

// Tasks implements [store.Handle].
func (s *Counted) Tasks(ctx context.Context, in store.Scope, q store.Query) (store.TaskPage, error) {
	s.Calls.Add(1)
	return s.Handle.Tasks(ctx, in, q)
}

// Append implements [store.Handle].
func (s *Counted) Append(ctx context.Context, b *store.Batch) *store.Commit {
	s.Calls.Add(1)
	return s.Handle.Append(ctx, b)
}
