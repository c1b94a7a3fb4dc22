package storetest

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"a2a-server/store"
)

func limitCases() []testCase {
	return []testCase{
		{"too large", testTooLarge},
		{"just as large as may be", testLargest},
	}
}

// tooLarge are batches that exceed one limit by one byte.
func tooLarge(base store.TaskID) map[string]*store.Batch {
	batches := map[string]*store.Batch{}
	add := func(name string, alter func(b *store.Batch)) {
		b := change(base, 1, public("never"))
		b.Rows = []store.RowChange{put("kind", "good", store.Any, "never")}
		alter(b)
		batches[name] = b
	}
	name, key, value := strings.Repeat("n", store.MaxKind+1), bytes.Repeat([]byte("k"), store.MaxKey+1), make([]byte, store.MaxRow+1)
	add("event kind", func(b *store.Batch) { b.Events = append(b.Events, store.Event{Kind: name}) })
	event := make([]byte, store.MaxEvent+1)
	add("event", func(b *store.Batch) { b.Events = append(b.Events, store.Event{Data: event}) })
	add("row kind", func(b *store.Batch) {
		b.Rows = append(b.Rows, store.RowChange{Kind: name, Key: []byte("key"), IfRev: store.Any})
	})
	add("row key", func(b *store.Batch) {
		b.Rows = append(b.Rows, store.RowChange{Kind: "kind", Key: key, IfRev: store.Any})
	})
	add("row", func(b *store.Batch) {
		b.Rows = append(b.Rows, store.RowChange{Kind: "kind", Key: []byte("key"), IfRev: store.Any, Value: value})
	})
	add("index name", func(b *store.Batch) { b.Rows[0].Index = []store.IndexKey{{Index: name}} })
	add("index key", func(b *store.Batch) { b.Rows[0].Index = []store.IndexKey{{Index: "index", Key: key}} })
	add("due kind", func(b *store.Batch) { b.Due = []store.DueChange{{Time: 1, Kind: name}} })
	add("due key", func(b *store.Batch) { b.Due = []store.DueChange{{Time: 1, Kind: "due", Key: key}} })
	add("due payload", func(b *store.Batch) { b.Due = []store.DueChange{{Time: 1, Kind: "due", Payload: value}} })
	add("audit entry", func(b *store.Batch) { b.Audit = [][]byte{[]byte("never"), value} })
	add("snapshot", func(b *store.Batch) {
		b.Snapshot = &store.Snapshot{After: 1, Rev: 1, Bytes: make([]byte, store.MaxSnapshot+1)}
	})
	// Each part is within its limit; the memory is shared.
	add("batch", func(b *store.Batch) {
		for range store.MaxBatch/store.MaxEvent + 1 {
			b.Events = append(b.Events, store.Event{Data: event[:store.MaxEvent]})
		}
	})
	context := create(alice(), public("never"))
	context.Change.Context = strings.Repeat("c", store.MaxContext+1)
	batches["context"] = context
	batches["owner"] = create(store.Owner("acme", strings.Repeat("o", store.MaxOwner-len("acme")+1)), public("never"))
	return batches
}

func testTooLarge(t *testing.T, f *fixture) {
	b := rich(alice(), store.Live)
	f.append(t, b)
	before := dump(t, f.h[0], []string{"kind"}, []string{"index"})
	batches := tooLarge(b.Task)
	for name, bad := range batches {
		for _, h := range f.h {
			if _, err := do(t.Context(), h, bad); !errors.Is(err, store.ErrTooLarge) {
				t.Errorf("%s: Append() = %v, want %v", name, err, store.ErrTooLarge)
			}
		}
	}
	if d := diff(before, dump(t, f.h[1], []string{"kind"}, []string{"index"})); d != "" {
		t.Fatalf("contents after batches that are too large (-want +got)\n%s", d)
	}
	// In one queue with good ones they fail alone.
	var log history
	log.add(b.Events...)
	good, bad := map[string]*store.Commit{}, map[string]*store.Commit{}
	for name, batch := range batches {
		e := public("beside %s", name)
		log.add(e)
		bad[name] = f.h[0].Append(t.Context(), batch)
		good[name] = f.h[0].Append(t.Context(), chunks(b.Task, 1, e))
	}
	for name := range batches {
		if _, err := await(bad[name]); !errors.Is(err, store.ErrTooLarge) {
			t.Errorf("%s: Append() = %v, want %v", name, err, store.ErrTooLarge)
		}
		if _, err := await(good[name]); err != nil {
			t.Errorf("beside %s: Append() = %v, want nil", name, err)
		}
	}
	f.checkLog(t, b.Task, log.events)
}

func testLargest(t *testing.T, f *fixture) {
	fill := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i * 7)
		}
		return b
	}
	name, key, value := strings.Repeat("n", store.MaxKind), fill(store.MaxKey), fill(store.MaxRow)
	owner := store.Owner(strings.Repeat("t", store.MaxOwner/2), strings.Repeat("o", store.MaxOwner/2))
	b := create(owner, store.Event{Kind: name, Public: true, Data: fill(store.MaxEvent)})
	b.Change.Context = strings.Repeat("c", store.MaxContext)
	b.Rows = []store.RowChange{{Kind: name, Key: key, Value: value, Index: []store.IndexKey{{Index: name, Key: key}}}}
	b.Due = []store.DueChange{{Time: 1, Kind: name, Key: key, Payload: value}}
	b.Audit = [][]byte{value}
	mustAppend(t, f.h[0], b)
	own := scopeRows(owner, b.Rows...)
	own.Due, own.Audit = b.Due, b.Audit
	mustAppend(t, f.h[1], own)
	for round := range 2 {
		h := f.h[round]
		view, err := h.Read(t.Context(), owner, b.Task, store.After(0), store.Limit{})
		if err != nil {
			t.Fatalf("Read() = %v, want nil", err)
		}
		checkEvents(t, "Read()", numbered(b.Events...), view.Events)
		if list, total := mustList(t, h, owner, store.Query{Context: b.Change.Context}); len(list) != 1 || total != 1 || list[0].Owner != owner || list[0].Context != b.Change.Context {
			t.Errorf("Tasks() = %v, total %d, want the task", list, total)
		}
		ofTask, ofScope := store.Row{Kind: name, Task: b.Task, Key: key, Rev: 1, Value: value}, store.Row{Kind: name, Key: key, Rev: 1, Value: value}
		for _, c := range []struct {
			query store.RowQuery
			want  []store.Row
		}{
			{store.RowQuery{Kind: name, Task: b.Task, Key: key}, []store.Row{ofTask}},
			{store.RowQuery{Kind: name, Key: key}, []store.Row{ofScope}},
			{store.RowQuery{Kind: name, Limit: 1}, []store.Row{ofScope, ofTask}},
			{store.RowQuery{Kind: name, Index: name, Prefix: key, Limit: 1}, []store.Row{ofScope, ofTask}},
		} {
			if diff(c.want, sortRows(mustRows(t, h, owner, c.query))) != "" {
				t.Errorf("Rows() of the largest rows by %d bytes of key, index %t: not what was put", len(c.query.Key), c.query.Index != "")
			}
		}
		for _, d := range allDue(t, h) {
			if d.Kind != name || !bytes.Equal(d.Key, key) || !bytes.Equal(d.Payload, value) {
				t.Error("Due() of the largest rows: not what was put")
			}
		}
		if entries := mustAudit(t, h, 0, 10); len(entries) != 2 || !bytes.Equal(entries[0].Data, value) || !bytes.Equal(entries[1].Data, value) {
			t.Error("Audit() of the largest entries: not what was put")
		}
		f.reopen(t)
	}
}
