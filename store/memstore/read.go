package memstore

import (
	"context"
	"slices"

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
	v.Next = from.Advance(after)
	if limit.Refuses(&t.header) {
		v.More = after < t.header.Seq
		return v, nil
	}
	if !exact {
		v.Snapshot = t.snapshot
		if !limit.NoBulk {
			v.Bulk = t.bulk
		}
	}
	wanted := t.events[min(after, t.header.Seq):]
	v.Next = from.Advance(max(after, t.header.Seq))
	if v.Events = selected(wanted, from, limit.NoBulk); len(v.Events) == 0 {
		return v, nil
	}
	if n := pageLen(v.Events, limit.WithDefaults()); n < len(v.Events) {
		v.Events, v.More = v.Events[:n], true
		v.Next = from.Advance(v.Events[n-1].Seq)
	}
	return v, nil
}

// selected returns a copy of the events that a reader from from gets: the log may
// grow in place.
func selected(events []store.Event, from store.From, noBulk bool) []store.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e store.Event) bool { return !from.Holds(&e, noBulk) })
}

// pageLen returns the number of events in a page: as many as limit allows, but at least one.
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
