package storetest

import (
	"bytes"
	"strings"
	"testing"

	"a2a-server/store"
)

func testInvalid(t *testing.T, f *fixture) {
	base, without := rich(alice(), store.Live), with(createNamed(alice(), ""))
	f.append(t, without)
	bad := map[string]*store.Batch{}
	row, never := put("kind", "never", store.Any, ""), mixed(1, "never")
	// Each is wrong in one way only.
	shapes := map[string]func() *store.Batch{
		"rows":   func() *store.Batch { return scopeRows(alice(), row) },
		"chunks": func() *store.Batch { return chunks(base.Task, 1, never...) },
		"aside":  func() *store.Batch { return aside(base.Task, row) },
		"create": func() *store.Batch { return rich(alice(), store.Live) },
		"change": func() *store.Batch { return change(base.Task, 1, never...) },
	}
	for _, c := range []struct {
		shapes string
		name   string
		alter  func(b *store.Batch)
	}{
		{"rows", "with rev", func(b *store.Batch) { b.Rev = new(uint64(1)) }},
		{"rows", "with rev 0", func(b *store.Batch) { b.Rev = new(uint64(0)) }},
		{"rows create", "with fence", func(b *store.Batch) { b.Fence = new(uint64(1)) }},
		{"rows aside", "with events", func(b *store.Batch) { b.Events = never }},
		{"rows aside create", "with a snapshot", func(b *store.Batch) { b.Snapshot = &store.Snapshot{} }},
		{"rows chunks aside change", "with a bound of parked tasks", func(b *store.Batch) { b.Parked = 1 }},
		{"rows chunks aside change", "with a bound of an owner's disk", func(b *store.Batch) { b.Disk.Owner = 1 }},
		{"rows chunks aside change", "with a bound of the disk", func(b *store.Batch) { b.Disk.All = 1 }},
		{"rows chunks aside create change", "with a bound of rows of the context", func(b *store.Batch) { b.ContextRows.Bytes = 1 }},
		{"rows chunks aside create", "with rows of the context", func(b *store.Batch) { b.Rows = ofContext(row) }},
		{"aside", "with a row of the owner", func(b *store.Batch) { b.Rows = []store.RowChange{ofOwner(row)} }},
		{"rows", "with a row of an owner", func(b *store.Batch) { b.Rows = []store.RowChange{ofOwner(row)} }},
		{"rows aside", "that needs a row", func(b *store.Batch) { b.Needs = []store.RowRef{need("never", 0)} }},
		{"chunks", "that needs a row", func(b *store.Batch) { b.Needs = []store.RowRef{need("never", 0)} }},
		{"rows chunks aside", "that depends on something else", func(b *store.Batch) { b.Holds = func() bool { return true } }},
		{"create change", "with a row of another owner", func(b *store.Batch) { b.Rows = []store.RowChange{row}; b.Rows[0].Of = bob() }},
		{"create change", "with a row of the tenant", func(b *store.Batch) { b.Rows = []store.RowChange{row}; b.Rows[0].Of = store.Tenant("acme") }},
		{"change", "with a row of an owner and of a context", func(b *store.Batch) { b.Rows = ofContext(ofOwner(row)) }},
		{"create change", "that needs a row of another owner", func(b *store.Batch) { b.Needs = []store.RowRef{{Of: bob(), Kind: "kind", Key: []byte("never")}} }},
		{"change", "that needs a row of nobody", func(b *store.Batch) { b.Needs = []store.RowRef{{Kind: "kind", Key: []byte("never")}} }},
		{"rows create", "of a tenant", func(b *store.Batch) { b.Scope = store.Tenant("acme") }},
		{"rows create", "of the system", func(b *store.Batch) { b.Scope = store.System() }},
		{"rows chunks aside change", "with context", func(b *store.Batch) { b.Change.Context = "context" }},
		{"rows chunks aside", "with status", func(b *store.Batch) { b.Change.Status = status(2, 2000) }},
		{"rows chunks aside", "with phase", func(b *store.Batch) { b.Change.Phase = store.Live }},
		{"rows chunks aside create", "that takes the fence", func(b *store.Batch) { b.Change.TakeFence = true }},
		{"rows chunks aside", "with pending", func(b *store.Batch) { b.Change.Pending = new(uint32(0)) }},
		{"chunks", "without fence", func(b *store.Batch) { b.Fence = nil }},
		{"chunks", "with rows", func(b *store.Batch) { b.Rows = []store.RowChange{row} }},
		{"chunks", "with due rows", func(b *store.Batch) { b.Due = []store.DueChange{dueAt(1, "never", "")} }},
		{"chunks", "with audit", func(b *store.Batch) { b.Audit = [][]byte{[]byte("never")} }},
		{"aside", "with nothing", func(b *store.Batch) { b.Rows = nil }},
		{"create", "without status", func(b *store.Batch) { b.Change.Status = nil }},
		{"create", "without phase", func(b *store.Batch) { b.Change.Phase = 0 }},
		{"create", "with a bound of parked tasks and no context", func(b *store.Batch) { b.Parked, b.Change.Context = 1, "" }},
		{"create change", "with state 0", func(b *store.Batch) { b.Change.Status = status(0, 1) }},
		{"create change", "with a state after the last", func(b *store.Batch) { b.Change.Status = status(store.MaxState+1, 1) }},
		{"create change", "with a phase after the last", func(b *store.Batch) { b.Change.Phase = store.Final + 1 }},
		{"change", "with rows of no context", func(b *store.Batch) { b.Task, b.Rows = without.Task, ofContext(row) }},
		{"rows aside create change", "with a due row at no time", func(b *store.Batch) { b.Due = []store.DueChange{dueAt(1, "never", ""), dueAt(0, "never", "")} }},
		{"rows aside create change", "with a due row before all time", func(b *store.Batch) { b.Due = []store.DueChange{dueAt(-1, "never", "")} }},
	} {
		for _, shape := range strings.Fields(c.shapes) {
			b := shapes[shape]()
			c.alter(b)
			bad[shape+" "+c.name] = b
		}
	}
	f.checkRefused(t, base, store.ErrInvalid, bad)
}

// Batches exceed a limit by one byte.
func testTooLarge(t *testing.T, f *fixture) {
	base := rich(alice(), store.Live)
	name, key, value, event := strings.Repeat("n", store.MaxKind+1), strings.Repeat("k", store.MaxKey+1), make([]byte, store.MaxRow+1), make([]byte, store.MaxEvent+1)
	bad := map[string]*store.Batch{
		"context": create(alice(), public("never")),
		"owner":   create(store.Owner("acme", strings.Repeat("o", store.MaxOwner-len("acme")+1)), public("never")),
		"event":   change(base.Task, 1, store.Event{Data: event}), "event kind": change(base.Task, 1, store.Event{Kind: name}),
		"batch": change(base.Task, 1),
	}
	bad["context"].Change.Context = strings.Repeat("c", store.MaxContext+1)
	for range store.MaxBatch/store.MaxEvent + 1 { // each event is within its limit; the memory is shared
		bad["batch"].Events = append(bad["batch"].Events, store.Event{Data: event[:store.MaxEvent]})
	}
	for what, part := range map[string]any{
		"row kind":               put(name, "key", store.Any, ""),
		"row key":                put("kind", key, store.Any, ""),
		"row":                    put("kind", "key", store.Any, string(value)),
		"row of a context":       ofContext(put("kind", "key", store.Any, string(value))),
		"index name":             put("kind", "key", store.Any, "", indexed(name, "")),
		"index key":              put("kind", "key", store.Any, "", indexed("index", key)),
		"due kind":               store.DueChange{Time: 1, Kind: name},
		"due key":                dueAt(1, key, ""),
		"due payload":            dueAt(1, "key", string(value)),
		"audit entry":            string(value),
		"snapshot":               &store.Snapshot{After: 1, Rev: 1, Bytes: make([]byte, store.MaxSnapshot+1)},
		"the bulk of a snapshot": &store.Snapshot{After: 1, Rev: 1, Bulk: make([]byte, store.MaxSnapshot+1)},
	} {
		bad[what] = with(change(base.Task, 1, public("never")), put("kind", "good", store.Any, "never"), "never", part)
	}
	f.checkRefused(t, base, store.ErrTooLarge, bad)
}

func testLargest(t *testing.T, f *fixture) {
	fill := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i * 7)
		}
		return string(b)
	}
	name, key, value := strings.Repeat("n", store.MaxKind), fill(store.MaxKey), fill(store.MaxRow)
	owner := store.Owner(strings.Repeat("t", store.MaxOwner/2), strings.Repeat("o", store.MaxOwner/2))
	parts := []any{put(name, key, 0, value, indexed(name, key)), store.DueChange{Time: 1, Kind: name, Key: []byte(key), Payload: []byte(value)}, value}
	b := with(create(owner, store.Event{Kind: name, Public: true, Data: []byte(fill(store.MaxEvent))}), parts...)
	b.Change.Context = strings.Repeat("c", store.MaxContext)
	mustAppend(t, f.h[0], b)
	mustAppend(t, f.h[1], with(scopeRows(owner), parts...))
	ofTask, ofScope := row(b.Task, name, key, 1, value), row(store.TaskID{}, name, key, 1, value)
	ofTask.Owner, ofScope.Owner = owner, owner
	for round := range 2 {
		h := f.h[round]
		checkEvents(t, "Read()", numbered(b.Events...), mustLog(t, h, owner, b.Task, store.After(0), store.Limit{}).Events)
		if list, total := mustList(t, h, owner, store.Query{Context: b.Change.Context}); len(list) != 1 || total != 1 || list[0].Owner != owner || list[0].Context != b.Change.Context {
			t.Errorf("Tasks() = %v, total %d, want the task", list, total)
		}
		for _, c := range []struct {
			query store.RowQuery
			want  []store.Row
		}{
			{store.RowQuery{Task: b.Task, Key: []byte(key)}, []store.Row{ofTask}},
			{store.RowQuery{Key: []byte(key)}, []store.Row{ofScope}},
			{store.RowQuery{Limit: 1}, []store.Row{ofScope, ofTask}},
			{store.RowQuery{Index: name, Prefix: []byte(key), Limit: 1}, []store.Row{ofScope, ofTask}},
		} {
			c.query.Kind = name
			if diff(c.want, sortRows(mustRows(t, h, owner, c.query))) != "" {
				t.Errorf("Rows() of the largest rows by %d bytes of key, index %t: not what was put", len(c.query.Key), c.query.Index != "")
			}
		}
		for _, d := range allDue(t, h) {
			if d.Kind != name || string(d.Key) != key || string(d.Payload) != value {
				t.Error("Due() of the largest rows: not what was put")
			}
		}
		if entries := mustAudit(t, h, 0, 10); len(entries) != 2 || string(entries[0].Data) != value || !bytes.Equal(entries[1].Data, entries[0].Data) {
			t.Error("Audit() of the largest entries: not what was put")
		}
		f.reopen(t)
	}
}
