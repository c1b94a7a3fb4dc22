package storetest

import (
	"context"
	"sync/atomic"

	"a2a-server/store"
)

// Counted is a store that counts its callers' requests. Of the server's own background work,
// it does not count due work.
type Counted struct {
	store.Handle
	Calls atomic.Int64
	Of    func(ctx context.Context) bool // selects counted calls by their context; nil: all

	// Values and Bytes count the values of rows that Rows has returned, of any context, and Keys the rows
	// without a value.
	Values, Bytes, Keys atomic.Int64
}

func (s *Counted) count(ctx context.Context) {
	if s.Of == nil || s.Of(ctx) {
		s.Calls.Add(1)
	}
}

// Read implements [store.Handle].
func (s *Counted) Read(ctx context.Context, in store.Scope, id store.TaskID, from store.From, l store.Limit) (store.LogPage, error) {
	s.count(ctx)
	return s.Handle.Read(ctx, in, id, from, l)
}

// Rows implements [store.Handle].
func (s *Counted) Rows(ctx context.Context, in store.Scope, q store.RowQuery) (store.RowPage, error) {
	s.count(ctx)
	page, err := s.Handle.Rows(ctx, in, q)
	for i := range page.Rows {
		if q.Keys {
			s.Keys.Add(1)
			continue
		}
		s.Values.Add(1)
		s.Bytes.Add(int64(len(page.Rows[i].Value)))
	}
	return page, err
}

// Tasks implements [store.Handle].
func (s *Counted) Tasks(ctx context.Context, in store.Scope, q store.Query) (store.TaskPage, error) {
	s.count(ctx)
	return s.Handle.Tasks(ctx, in, q)
}

// Append implements [store.Handle].
func (s *Counted) Append(ctx context.Context, b *store.Batch) *store.Commit {
	s.count(ctx)
	return s.Handle.Append(ctx, b)
}
