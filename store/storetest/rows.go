package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"a2a-server/store"
)

func rowCases() []testCase {
	return []testCase{
		{"life of a row", testRowLife},
		{"life of a row without a task", testScopeRowLife},
		{"index entries follow the row", testIndexFollows},
		{"whatever the rev", testRowsAnyRev},
		{"one row more than once in a batch", testRowTwice},
		{"all changes or none", testRowsAllOrNone},
		{"tasks and kinds do not meet", testRowsApart},
		{"with every batch that may carry them", testRowsWithBatches},
	}
}

func testRowLife(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	rev := uint64(1)
	testLife(t, f, b.Task, func(c store.RowChange) *store.Batch {
		w := change(b.Task, rev)
		w.Rows = []store.RowChange{c}
		return w
	}, func() { rev++ })
}

func testScopeRowLife(t *testing.T, f *fixture) {
	testLife(t, f, store.TaskID{}, func(c store.RowChange) *store.Batch { return scopeRows(alice(), c) }, func() {})
}

func testLife(t *testing.T, f *fixture, id store.TaskID, batch func(c store.RowChange) *store.Batch, committed func()) {
	t.Helper()
	for i, step := range []struct {
		change store.RowChange
		ok     bool
		want   []store.Row
	}{
		{put("kind", "key", 1, "never"), false, nil},
		{remove("kind", "key", 1), false, nil},
		{remove("kind", "key", store.Any), true, nil},
		{put("kind", "key", 0, "one"), true, []store.Row{row(id, "kind", "key", 1, "one")}},
		{put("kind", "key", 0, "never"), false, []store.Row{row(id, "kind", "key", 1, "one")}},
		{put("kind", "key", 2, "never"), false, []store.Row{row(id, "kind", "key", 1, "one")}},
		{put("kind", "key", 1, "two"), true, []store.Row{row(id, "kind", "key", 2, "two")}},
		{put("kind", "key", 1, "never"), false, []store.Row{row(id, "kind", "key", 2, "two")}},
		{put("kind", "key", store.Any, ""), true, []store.Row{row(id, "kind", "key", 3, "")}},
		{remove("kind", "key", 0), false, []store.Row{row(id, "kind", "key", 3, "")}},
		{remove("kind", "key", 2), false, []store.Row{row(id, "kind", "key", 3, "")}},
		{remove("kind", "key", 3), true, nil},
		{put("kind", "key", 3, "never"), false, nil},
		{put("kind", "key", store.Any, "again"), true, []store.Row{row(id, "kind", "key", 1, "again")}},
		{remove("kind", "key", store.Any), true, nil},
		{put("kind", "key", 0, "third"), true, []store.Row{row(id, "kind", "key", 1, "third")}},
	} {
		_, err := do(t.Context(), f.next(), batch(step.change))
		if want := map[bool]error{false: store.ErrConflict}[step.ok]; !errors.Is(err, want) {
			t.Fatalf("step %d: Append() = %v, want %v", i, err, want)
		}
		if step.ok {
			committed()
		}
		f.checkRows(t, alice(), store.RowQuery{Kind: "kind"}, step.want...)
		f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Task: id, Key: []byte("key")}, step.want...)
	}
}

func testIndexFollows(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	for i, step := range []struct {
		change store.RowChange
		want   string // index=key of all entries
	}{
		{put("kind", "key", 0, "", indexed("a", "1"), indexed("b", "1")), "a=1 b=1"},
		{put("kind", "key", 1, "", indexed("a", "2"), indexed("b", "1")), "a=2 b=1"},
		{put("kind", "key", 2, "", indexed("b", "3"), indexed("b", "4"), indexed("c", "")), "b=3 b=4 c="},
		{put("kind", "key", 3, "same value, no entries"), ""},
		{put("kind", "key", 4, "", indexed("a", "2")), "a=2"},
		{remove("kind", "key", 5), ""},
		{put("kind", "key", 0, "", indexed("a", "5")), "a=5"},
	} {
		// The same for a row of the task and one of the scope.
		change := change(b.Task, uint64(i)+1)
		change.Rows = []store.RowChange{step.change}
		f.append(t, change)
		f.append(t, scopeRows(alice(), step.change))
		for _, id := range []store.TaskID{b.Task, {}} {
			f.checkEntries(t, fmt.Sprint("step ", i), id, "key", step.want)
		}
	}
}

// checkEntries compares index=key of all entries of a row of alice's, of a task or
// of her own. Keys have one byte, or in index c none.
func (f *fixture) checkEntries(t *testing.T, step string, id store.TaskID, key, want string) {
	t.Helper()
	for _, h := range f.h {
		var got []string
		add := func(entry string, q store.RowQuery) {
			for _, r := range mustRows(t, h, alice(), q) {
				if r.Task == id && string(r.Key) == key {
					got = append(got, entry)
				}
			}
		}
		for _, index := range []string{"a", "b", "c", "d"} {
			for _, entry := range []string{"1", "2", "3", "4", "5"} {
				add(index+"="+entry, store.RowQuery{Kind: "kind", Index: index, Prefix: []byte(entry)})
			}
		}
		add("c=", store.RowQuery{Kind: "kind", Index: "c"})
		if got := strings.Join(got, " "); got != want {
			t.Fatalf("%s: entries of row %q: %q, want %q", step, key, got, want)
		}
	}
}

// A row that something else guards is changed whatever its rev, and if the batch is
// refused, the row stays unchanged.
func testRowsAnyRev(t *testing.T, f *fixture) {
	b := create(alice())
	neighbours := []store.RowChange{put("kind", "ke", store.Any, "before", indexed("a", "1")), put("kind", "keys", 0, "after", indexed("a", "1"))}
	b.Rows = neighbours
	f.append(t, b)
	f.append(t, scopeRows(alice(), neighbours...))
	rev := uint64(1)
	for i, step := range []struct {
		change  store.RowChange
		rev     uint64 // of the row; 0: it is not there
		entries string
	}{
		{remove("kind", "key", store.Any), 0, ""},
		{put("kind", "key", store.Any, "one", indexed("a", "1"), indexed("b", "1")), 1, "a=1 b=1"},
		{put("kind", "key", store.Any, "two", indexed("a", "2"), indexed("d", "3")), 2, "a=2 d=3"},
		{put("kind", "key", store.Any, "two", indexed("a", "2"), indexed("d", "3")), 3, "a=2 d=3"},
		{put("kind", "key", store.Any, "three"), 4, ""},
		{put("kind", "key", store.Any, "", indexed("a", "1"), indexed("a", "4")), 5, "a=1 a=4"},
		{remove("kind", "key", store.Any), 0, ""},
		{remove("kind", "key", store.Any), 0, ""},
		{put("kind", "key", store.Any, "again", indexed("b", "5")), 1, "b=5"},
	} {
		name := fmt.Sprint("step ", i)
		before := dump(t, f.h[0], []string{"kind"}, []string{"a", "b", "d"})
		// The task's rev guards its rows.
		for _, stale := range []uint64{rev + 1, rev + 5} {
			w := change(b.Task, stale)
			w.Rows = []store.RowChange{step.change}
			f.refuse(t, w, store.ErrConflict)
		}
		// In a batch with a change that conflicts it is not made either.
		bad := put("kind", "ke", 7, "never")
		w := change(b.Task, rev)
		w.Rows = []store.RowChange{step.change, bad}
		f.refuse(t, w, store.ErrConflict)
		f.refuse(t, scopeRows(alice(), step.change, bad), store.ErrConflict)
		if d := diff(before, dump(t, f.h[1], []string{"kind"}, []string{"a", "b", "d"})); d != "" {
			t.Fatalf("%s: contents after refused batches (-want +got)\n%s", name, d)
		}

		w.Rows = []store.RowChange{step.change}
		f.append(t, w)
		rev++
		f.append(t, scopeRows(alice(), step.change))
		for _, id := range []store.TaskID{b.Task, {}} {
			var want []store.Row
			if step.rev > 0 {
				want = append(want, row(id, "kind", "key", step.rev, string(step.change.Value)))
			}
			f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Task: id, Key: []byte("key")}, want...)
			f.checkEntries(t, name, id, "key", step.entries)
			for _, n := range neighbours {
				f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Task: id, Key: n.Key}, row(id, "kind", string(n.Key), 1, string(n.Value)))
				f.checkEntries(t, name, id, string(n.Key), "a=1")
			}
		}
	}
	before := dump(t, f.h[0], []string{"kind"}, []string{"a", "b", "d"})
	f.rebuild(t)
	f.reopen(t)
	if d := diff(before, dump(t, f.h[1], []string{"kind"}, []string{"a", "b", "d"})); d != "" {
		t.Errorf("contents after Rebuild() and a reopen (-want +got)\n%s", d)
	}
}

func testRowTwice(t *testing.T, f *fixture) {
	for _, c := range []struct {
		name    string
		changes []store.RowChange // of a row that has rev 2
		err     error
		rev     uint64
		value   string
		entries string
	}{
		{"put and put", []store.RowChange{put("kind", "key", 2, "three", indexed("a", "3")), put("kind", "key", 3, "four", indexed("b", "4"))}, nil, 4, "four", "b=4"},
		{"put and put, whatever the rev", []store.RowChange{put("kind", "key", store.Any, "three", indexed("a", "3")), put("kind", "key", store.Any, "four", indexed("b", "4"))}, nil, 4, "four", "b=4"},
		{"put whatever the rev, and put", []store.RowChange{put("kind", "key", store.Any, "three", indexed("a", "3")), put("kind", "key", 3, "four", indexed("a", "3"))}, nil, 4, "four", "a=3"},
		{"remove and put", []store.RowChange{remove("kind", "key", 2), put("kind", "key", 0, "new", indexed("a", "1"))}, nil, 1, "new", "a=1"},
		{"put and remove", []store.RowChange{put("kind", "key", store.Any, "three", indexed("a", "3")), remove("kind", "key", 3)}, nil, 0, "", ""},
		{"remove, remove and put", []store.RowChange{remove("kind", "key", store.Any), remove("kind", "key", store.Any), put("kind", "key", store.Any, "new", indexed("b", "2"))}, nil, 1, "new", "b=2"},
		{"both from the rev before", []store.RowChange{put("kind", "key", 2, "three"), put("kind", "key", 2, "four")}, store.ErrConflict, 2, "two", "a=2"},
		{"from the rev before, after whatever the rev", []store.RowChange{put("kind", "key", store.Any, "three"), put("kind", "key", 2, "four")}, store.ErrConflict, 2, "two", "a=2"},
		{"remove and remove", []store.RowChange{remove("kind", "key", 2), remove("kind", "key", 2)}, store.ErrConflict, 2, "two", "a=2"},
	} {
		b := create(alice())
		f.append(t, b)
		own := scopeRows(alice())
		for n, value := range []string{"one", "two"} {
			w := change(b.Task, uint64(n)+1)
			w.Rows = []store.RowChange{put("kind", "key", store.Any, value, indexed("a", fmt.Sprint(n+1)))}
			f.append(t, w)
			own.Rows = w.Rows
			f.append(t, own)
		}
		w := change(b.Task, 3)
		w.Rows, own.Rows = c.changes, c.changes
		for _, batch := range []*store.Batch{w, own} {
			if _, err := do(t.Context(), f.next(), batch); !errors.Is(err, c.err) {
				t.Errorf("%s: Append() = %v, want %v", c.name, err, c.err)
			}
		}
		for _, id := range []store.TaskID{b.Task, {}} {
			var want []store.Row
			if c.rev > 0 {
				want = append(want, row(id, "kind", "key", c.rev, c.value))
			}
			f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Task: id, Key: []byte("key")}, want...)
			f.checkEntries(t, c.name, id, "key", c.entries)
		}
		f.append(t, scopeRows(alice(), remove("kind", "key", store.Any)))
	}
}

func testRowsAllOrNone(t *testing.T, f *fixture) {
	b := create(alice())
	b.Rows = []store.RowChange{put("kind", "stays", 0, "value", indexed("index", "stays")), put("kind", "goes", 0, "value")}
	f.append(t, b)
	f.append(t, scopeRows(alice(), b.Rows...))
	before := dump(t, f.h[0], []string{"kind"}, []string{"index"})
	good := []store.RowChange{
		put("kind", "new", 0, "never", indexed("index", "new")),
		put("kind", "stays", 1, "never", indexed("index", "moved")),
		remove("kind", "goes", 1),
	}
	for _, bad := range []store.RowChange{put("kind", "other", 4, ""), put("kind", "last", 1, ""), remove("kind", "last", 2)} {
		for at := range len(good) + 1 {
			rows := slices.Insert(slices.Clone(good), at, bad)
			w := change(b.Task, 1, public("never"))
			w.Rows = rows
			w.Due = []store.DueChange{dueAt(5, "never", "")}
			w.Audit = [][]byte{[]byte("never")}
			f.refuse(t, w, store.ErrConflict)
			s := scopeRows(alice(), rows...)
			s.Due, s.Audit = w.Due, w.Audit
			f.refuse(t, s, store.ErrConflict)
		}
	}
	if d := diff(before, dump(t, f.h[1], []string{"kind"}, []string{"index"})); d != "" {
		t.Fatalf("contents after refused batches (-want +got)\n%s", d)
	}
	w := change(b.Task, 1)
	w.Rows = good
	f.append(t, w)
	f.append(t, scopeRows(alice(), good...))
	for _, h := range f.h {
		for _, index := range []string{"", "index"} {
			if got := mustRows(t, h, alice(), store.RowQuery{Kind: "kind", Index: index}); len(got) != 4 {
				t.Errorf("index %q: %d rows, want 4", index, len(got))
			}
		}
	}
}

func testRowsApart(t *testing.T, f *fixture) {
	var ids []store.TaskID
	for i := range 4 {
		b := create(owners()[i%2])
		ids = append(ids, b.Task)
		for _, kind := range []string{"kind", "kin", "kindkey", "k"} {
			b.Rows = append(b.Rows, put(kind, "key", 0, fmt.Sprint(kind, i)), put(kind, "", 0, kind), put(kind, "dkey", 0, kind))
		}
		f.append(t, b)
	}
	w := change(ids[0], 1)
	w.Rows = []store.RowChange{put("kind", "key", 1, "changed"), remove("kin", "key", 1)}
	f.append(t, w)
	for i, id := range ids {
		for _, kind := range []string{"kind", "kin", "kindkey", "k"} {
			want := []store.Row{row(id, kind, "", 1, kind), row(id, kind, "dkey", 1, kind)}
			switch {
			case i == 0 && kind == "kin":
			case i == 0 && kind == "kind":
				want = append(want, row(id, kind, "key", 2, "changed"))
			default:
				want = append(want, row(id, kind, "key", 1, fmt.Sprint(kind, i)))
			}
			f.checkRows(t, owners()[i%2], store.RowQuery{Kind: kind, Task: id}, want...)
		}
		f.checkRows(t, store.System(), store.RowQuery{Kind: "kindk", Task: id})
	}
}

func testRowsWithBatches(t *testing.T, f *fixture) {
	b := create(alice())
	b.Rows = []store.RowChange{put("kind", "created", 0, "")}
	f.append(t, b)
	turn := change(b.Task, 1)
	turn.Fence = new(uint64(1))
	turn.Rows = []store.RowChange{put("kind", "turn", 0, "")}
	f.append(t, turn)
	end := change(b.Task, 2)
	end.Change = store.Change{Status: status(4, 2000), Phase: store.Final}
	end.Rows = []store.RowChange{put("kind", "end", 0, "")}
	f.append(t, end)
	late := change(b.Task, 3)
	late.Rows = []store.RowChange{put("kind", "late", 0, ""), remove("kind", "turn", 1)}
	f.append(t, late)
	f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Task: b.Task},
		row(b.Task, "kind", "created", 1, ""), row(b.Task, "kind", "end", 1, ""), row(b.Task, "kind", "late", 1, ""))
	// A thousand rows of 2 KiB in one batch, put and removed.
	many := change(b.Task, 4)
	value := string(bytes.Repeat([]byte("v"), 2048))
	for i := range 1000 {
		many.Rows = append(many.Rows, put("many", fmt.Sprintf("%04d", i), 0, value, indexed("index", fmt.Sprint(i%7))))
	}
	f.append(t, many)
	for _, h := range f.h {
		for _, q := range []store.RowQuery{{Kind: "many", Task: b.Task}, {Kind: "many", Index: "index", Limit: 1000}} {
			if got := mustRows(t, h, alice(), q); len(got) != 1000 {
				t.Errorf("%d rows, want 1000", len(got))
			}
		}
	}
	gone := change(b.Task, 5)
	for _, c := range many.Rows {
		gone.Rows = append(gone.Rows, store.RowChange{Kind: c.Kind, Key: c.Key, IfRev: 1, Delete: true})
	}
	f.append(t, gone)
	f.checkRows(t, alice(), store.RowQuery{Kind: "many"})
	f.checkRows(t, alice(), store.RowQuery{Kind: "many", Index: "index"})
}
