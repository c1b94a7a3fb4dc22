package memstore

import (
	"bytes"
	"context"
	"slices"

	"a2a-server/store"
)

// Tasks lists headers; see [store.Query].
func (h *handle) Tasks(ctx context.Context, s store.Scope, q store.Query) (store.TaskPage, error) {
	if err := h.lock(ctx); err != nil {
		return store.TaskPage{}, err
	}
	defer h.db.mu.Unlock()
	cursor, err := q.DecodeCursor(s)
	if err != nil {
		return store.TaskPage{}, err
	}
	if cursor != nil {
		if _, _, err := store.ParseTaskPosition(cursor); err != nil {
			return store.TaskPage{}, err
		}
	}

	var found []store.Header
	for _, t := range h.db.tasks {
		if hd := t.header; s.Covers(hd.Owner) && q.Matches(&hd) {
			found = append(found, hd)
		}
	}
	slices.SortFunc(found, func(a, b store.Header) int {
		return bytes.Compare(taskPosition(s, &b), taskPosition(s, &a)) // newest first
	})
	page := store.TaskPage{Total: int64(len(found))}
	if !s.IsOwner() && !s.IsZero() {
		page.Total = -1
	}
	if cursor != nil {
		found = slices.DeleteFunc(found, func(hd store.Header) bool {
			return bytes.Compare(taskPosition(s, &hd), cursor) >= 0
		})
	}
	page.Tasks = found
	if n := store.PageSize(q.Limit); len(found) > n {
		page.Tasks = found[:n]
		page.Next = q.EncodeCursor(s, taskPosition(s, &found[n-1]))
	}
	return page, nil
}

// States implements [store.Counter].
func (h *handle) States(ctx context.Context) (n store.States, err error) {
	if err := h.lock(ctx); err != nil {
		return n, err
	}
	defer h.db.mu.Unlock()
	for _, t := range h.db.tasks {
		n[t.header.State]++
	}
	return n, nil
}

// taskPosition returns a task's position in a list of s. Only an Owner's list is in
// order of time.
func taskPosition(s store.Scope, h *store.Header) []byte {
	if s.IsOwner() {
		return store.TaskPosition(h.StatusTime, h.Task)
	}
	return store.TaskPosition(0, h.Task)
}
