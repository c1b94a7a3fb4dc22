package memstore

import (
	"bytes"
	"context"
	"slices"

	"a2a-server/store"
)

// Lease returns whether an instance holds an epoch: the newest handle does; see [store.Leases].
func (h *handle) Lease(ctx context.Context, epoch uint64) (store.Lease, error) {
	if err := h.lock(ctx); err != nil {
		return store.Lease{}, err
	}
	defer h.db.mu.Unlock()
	return store.Lease{Held: epoch == h.db.epoch}, nil
}

// Claim takes over Live tasks of older epochs, in order of their ids; see
// [store.Store].
func (h *handle) Claim(ctx context.Context, limit int) ([]store.Header, error) {
	if err := h.lock(ctx); err != nil {
		return nil, err
	}
	defer h.db.mu.Unlock()
	var old []*task
	for _, t := range h.db.tasks {
		if t.header.Phase == store.Live && t.header.Epoch < h.epoch { // no instance holds it: h is later
			old = append(old, t)
		}
	}
	slices.SortFunc(old, func(a, b *task) int { return bytes.Compare(a.header.Task[:], b.header.Task[:]) })
	var claimed []store.Header
	for _, t := range old[:min(store.PageSize(limit), len(old))] {
		t.header.Fence++
		t.header.Rev++
		t.header.Epoch = h.epoch
		claimed = append(claimed, t.header)
		h.db.ofTasks.Wake(t.header.Task, t.header.Owner)
	}
	return claimed, nil
}
