package memstore

import (
	"context"

	"a2a-server/store"
)

// Read returns a page of a task's log; see [store.Store].
func (h *handle) Read(ctx context.Context, s store.Scope, id store.TaskID, from store.From, limit store.Limit) (store.LogPage, error) {
	if err := h.lock(ctx); err != nil {
		return store.LogPage{}, err
	}
	defer h.db.mu.Unlock()
	t, err := h.db.find(s, id)
	if err != nil {
		return store.LogPage{}, err
	}
	v := store.LogPage{Header: t.header}
	_, exact := from.Seq()
	from = from.Start(&t.header, limit.NoBulk)
	after, _ := from.Seq()
	v.Fill(t.events[min(after, t.header.Seq):], from, limit.WithDefaults())
	if !exact && !limit.Refuses(&t.header) {
		v.Snapshot = t.snapshot
		if !limit.NoBulk {
			v.Bulk = t.bulk
		}
	}
	return v, nil
}
