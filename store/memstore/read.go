package memstore

import (
	"context"
	"slices"

	"a2a-server/store"
)

// Read returns a page of a task's log; see [store.Store].
func (h *handle) Read(ctx context.Context, s store.Scope, id store.TaskID, from store.From, limit store.Limit) (store.View, error) {
	if err := h.lock(ctx); err != nil {
		return store.View{}, err
	}
	defer h.db.mu.Unlock()
	t, err := h.db.find(s, id)
	if err != nil {
		return store.View{}, err
	}
	v := store.View{Header: t.header}
	after, ok := from.Seq()
	if !ok {
		after, v.Snapshot = t.header.Snapshot, t.snapshot
	}
	behind := t.events[min(after, t.header.Seq):]
	n := pageLen(behind, limit.WithDefaults())
	// Cloned, because the log grows in place behind what it shares.
	v.Events = slices.Clone(behind[:n])
	v.More = n < len(behind)
	return v, nil
}

// pageLen returns how many of events make a page: as many as limit allows, but
// one at least.
func pageLen(events []store.Event, limit store.Limit) int {
	size := 0
	for i := range events {
		size += len(events[i].Data)
		if i == limit.Events || i > 0 && size > limit.Bytes {
			return i
		}
	}
	return len(events)
}
