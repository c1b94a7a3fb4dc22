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

// rowPlaces are the places that a row of alice's may be in: a task, her scope, a context.
func (f *fixture) rowPlaces(t *testing.T) map[string]func(name string, want error, changes ...store.RowChange) (q store.RowQuery) {
	t.Helper()
	b := create(alice())
	f.append(t, b)
	write := func(name string, want error, batch *store.Batch) {
		t.Helper()
		if _, err := do(t.Context(), f.next(), batch); !errors.Is(err, want) {
			t.Fatalf("%s: Append() = %v, want %v", name, err, want)
		}
	}
	rev := func() uint64 { return f.header(t, b.Task).Rev }
	return map[string]func(string, error, ...store.RowChange) store.RowQuery{
		"task": func(name string, want error, changes ...store.RowChange) store.RowQuery {
			write(name, want, with(change(b.Task, rev()), changes))
			return store.RowQuery{Kind: "kind", Task: b.Task}
		},
		"aside": func(name string, want error, changes ...store.RowChange) store.RowQuery {
			write(name, want, with(aside(b.Task), changes))
			return store.RowQuery{Kind: "kind", Task: b.Task}
		},
		"scope": func(name string, want error, changes ...store.RowChange) store.RowQuery {
			write(name, want, scopeRows(alice(), changes...))
			return store.RowQuery{Kind: "kind"}
		},
		"context": func(name string, want error, changes ...store.RowChange) store.RowQuery {
			write(name, want, with(change(b.Task, rev()), ofContext(slices.Clone(changes)...)))
			return store.RowQuery{Kind: "kind", Context: "context"}
		},
	}
}

// checkRow compares a row that a place has at most, and its entries, as index=key.
func (f *fixture) checkRow(t *testing.T, name string, q store.RowQuery, rev uint64, value, entries string) {
	t.Helper()
	var want []store.Row
	if rev > 0 {
		want = append(want, store.Row{Kind: q.Kind, Task: q.Task, Owner: alice(), Context: q.Context, Key: []byte("key"), Rev: rev, Value: []byte(value)})
	}
	f.checkRows(t, alice(), q, want...)
	q.Key = []byte("key")
	f.checkRows(t, alice(), q, want...)
	q.Key = nil
	var got []string
	for _, q.Index = range []string{"a", "b", "c"} {
		for _, prefix := range []string{"1", "2", "3", "4"} {
			q.Prefix = []byte(prefix)
			for range mustRows(t, f.next(), alice(), q) {
				got = append(got, q.Index+"="+prefix)
			}
		}
	}
	if strings.Join(got, " ") != entries {
		t.Fatalf("%s: entries %q, want %q", name, got, entries)
	}
}

// Each step is a batch; its changes are all applied in order, or none is.
func testRowLife(t *testing.T, f *fixture) {
	set := func(ifRev uint64, value string, index ...store.IndexKey) store.RowChange {
		return put("kind", "key", ifRev, value, index...)
	}
	unset := func(ifRev uint64) store.RowChange { return remove("kind", "key", ifRev) }
	type changes = []store.RowChange
	for place, write := range f.rowPlaces(t) {
		for i, step := range []struct {
			changes changes
			err     error
			rev     uint64 // of the row; 0: it is not there
			value   string
			index   string // entries
		}{
			{changes{set(1, "never")}, store.ErrConflict, 0, "", ""},
			{changes{unset(1)}, store.ErrConflict, 0, "", ""},
			{changes{unset(store.Any)}, nil, 0, "", ""},
			{changes{set(0, "one", indexed("a", "1"), indexed("b", "1"))}, nil, 1, "one", "a=1 b=1"},
			{changes{set(0, "never")}, store.ErrConflict, 1, "one", "a=1 b=1"},
			{changes{set(2, "never")}, store.ErrConflict, 1, "one", "a=1 b=1"},
			{changes{set(1, "two", indexed("a", "2"), indexed("b", "1"))}, nil, 2, "two", "a=2 b=1"},
			{changes{set(store.Any, "", indexed("b", "3"), indexed("b", "4"), indexed("c", "1"))}, nil, 3, "", "b=3 b=4 c=1"},
			{changes{set(3, "")}, nil, 4, "", ""},
			{changes{unset(0)}, store.ErrConflict, 4, "", ""},
			{changes{set(4, "", indexed("a", "2"))}, nil, 5, "", "a=2"},
			{changes{unset(4)}, store.ErrConflict, 5, "", "a=2"},
			// More than once in a batch.
			{changes{set(5, "six", indexed("a", "3")), set(6, "seven", indexed("b", "4"))}, nil, 7, "seven", "b=4"},
			{changes{set(store.Any, "eight", indexed("a", "3")), set(store.Any, "nine", indexed("b", "3"))}, nil, 9, "nine", "b=3"},
			{changes{set(store.Any, "ten", indexed("a", "3")), set(10, "eleven", indexed("a", "3"))}, nil, 11, "eleven", "a=3"},
			{changes{set(11, "never"), set(11, "never")}, store.ErrConflict, 11, "eleven", "a=3"},
			{changes{set(store.Any, "never"), set(11, "never")}, store.ErrConflict, 11, "eleven", "a=3"},
			{changes{unset(11), unset(11)}, store.ErrConflict, 11, "eleven", "a=3"},
			{changes{unset(11), put("kind", "other", 0, "", indexed("a", "1")), put("kind", "last", 4, "")}, store.ErrConflict, 11, "eleven", "a=3"},
			{changes{unset(11), set(0, "new", indexed("a", "1"))}, nil, 1, "new", "a=1"},
			{changes{unset(store.Any), unset(store.Any), set(store.Any, "new", indexed("b", "2"))}, nil, 1, "new", "b=2"},
			{changes{set(store.Any, "two", indexed("a", "3")), unset(2)}, nil, 0, "", ""},
		} {
			name := fmt.Sprint(place, ", step ", i)
			f.checkRow(t, name, write(name, step.err, step.changes...), step.rev, step.value, step.index)
		}
	}
}

// awkwardKeys are in order, and chosen so that careless concatenation of keys breaks
// the order.
func awkwardKeys() []string {
	return []string{
		"", "\x00", "\x00\x00", "\x00\x00\x01", "\x00\x01", "\x00\xff", "\x01", "\x01\x00", "a", "a\x00", "a\x00\x00", "a\x00b", "a\x01",
		"aa", "ab", "b", "\xfe\xff", "\xff", "\xff\x00", "\xff\xff", "\xff\xff\xff",
	}
}

// Rows with awkward keys, and as awkward entries, are listed in order in pages of every size,
// by the key, and by the beginning of an entry; whatever else they could be mixed up with.
func testAwkwardKeys(t *testing.T, f *fixture) {
	keys := awkwardKeys()
	entryOf := func(key string) string { return keys[(slices.Index(keys, key)*5+3)%len(keys)] }
	inContext, ofTask := f.contextWriter(t, alice(), "context"), create(bob())
	batches := []*store.Batch{scopeRows(alice()), ofTask, inContext.batch()}
	wants := make([][]store.Row, len(batches))
	for place, b := range batches {
		for _, key := range slices.Backward(keys) {
			for _, c := range []store.RowChange{
				put("kind", key, 0, entryOf(key), indexed("index", "x"+entryOf(key)), indexed("inde", "x"+key)), put("kin", key, 0, "", indexed("index", "x")), put("kinds", key, 0, "", indexed("index", "x")),
			} {
				c.OfContext = place == 2
				b.Rows = append(b.Rows, c)
			}
		}
		for _, key := range keys {
			r := row(b.Task, "kind", key, 1, entryOf(key))
			if place == 2 {
				r.Task, r.Context = store.TaskID{}, "context"
			}
			wants[place] = append(wants[place], r)
		}
		f.append(t, b)
	}
	for place, q := range []store.RowQuery{{}, {Task: ofTask.Task}, {Context: "context"}} {
		s, want := batches[place].Scope, wants[place]
		if place == 2 {
			s = alice()
		}
		q.Kind = "kind"
		for i, key := range keys {
			q.Key = []byte(key)
			f.checkRows(t, s, q, want[i])
		}
		for _, key := range []string{"\x00\x02", "aaa", "A", "\xfe"} {
			q.Key = []byte(key)
			f.checkRows(t, s, q)
		}
		for q.Key = nil; place > 0 && q.Limit < 10; q.Limit += 3 {
			f.checkRows(t, s, q, want...)
		}
	}
	for _, s := range scopes() {
		for _, prefix := range append([]string{"nothing", "\x00\x02"}, keys...) {
			var want []store.Row
			for place, owner := range []store.Scope{alice(), bob(), alice()} {
				for _, r := range wants[place] {
					if s.Covers(owner) && strings.HasPrefix(string(r.Value), prefix) {
						want = append(want, r)
					}
				}
			}
			for i, size := range []int{1, 7, 1000} {
				got := mustRows(t, f.h[i%2], s, store.RowQuery{Kind: "kind", Index: "index", Prefix: []byte("x" + prefix), Limit: size})
				same(t, sortRows(want), sortRows(got), "%+v: Rows(prefix %q) in pages of %d", s, prefix, size)
				if !slices.IsSortedFunc(got, func(a, b store.Row) int { return bytes.Compare(a.Value, b.Value) }) {
					t.Fatalf("%+v: Rows(prefix %q) is not in the order of the index: %v", s, prefix, got)
				}
			}
		}
	}
}

// checkRows compares the rows of q as both handles read them, in order.
func (f *fixture) checkRows(t *testing.T, s store.Scope, q store.RowQuery, want ...store.Row) {
	t.Helper()
	for i := range want {
		if s.IsOwner() {
			want[i].Owner = s // else alice
		}
	}
	for _, h := range f.h {
		same(t, want, mustRows(t, h, s, q), "%+v: Rows(%+v)", s, q)
	}
}

// A page ends before the row with which its values would be too large, and has a row at least. Keys
// are listed as the rows are, and have the keys of the index.
func testSmallPages(t *testing.T, f *fixture) {
	b := create(alice())
	var keys []string
	for i, size := range []int{10, 20, 71, 100, 101, 1, 99, 1} {
		key := fmt.Sprint(i)
		keys = append(keys, key)
		b.Rows = append(b.Rows, put("kind", key, 0, strings.Repeat("x", size), indexed("index", "x"+key)))
	}
	f.append(t, b)
	f.append(t, scopeRows(bob(), put("kind", "own", 0, "x", indexed("index", "x"))))
	for _, q := range []store.RowQuery{{Kind: "kind"}, {Kind: "kind", Index: "index", Prefix: []byte("x")}, {Kind: "kind", Task: b.Task}} {
		q.Bytes = 100
		var sizes []int
		for more := true; more; more = q.Cursor != "" {
			page, err := f.next().Rows(t.Context(), alice(), q)
			if err != nil {
				t.Fatal(err)
			}
			q.Cursor = page.Next
			sizes = append(sizes, len(page.Rows))
		}
		same(t, []int{2, 1, 1, 1, 2, 1}, sizes, "rows of the pages of %+v", q)

		var got, want []store.Row
		for _, key := range keys {
			one := store.Row{Kind: "kind", Task: b.Task, Owner: alice(), Key: []byte(key)}
			if q.Index != "" {
				one.IndexKey = []byte("x" + key)
			}
			want = append(want, one)
		}
		q.Keys, q.Limit = true, 3
		for more := true; more; more = q.Cursor != "" {
			page, err := f.next().Rows(t.Context(), alice(), q)
			if err != nil {
				t.Fatal(err)
			}
			q.Cursor, got = page.Next, append(got, page.Rows...)
		}
		same(t, want, got, "rows of %+v", q)
	}
	page, err := f.next().Rows(t.Context(), store.System(), store.RowQuery{Kind: "kind", Index: "index", Keys: true})
	if err != nil || len(page.Rows) != len(keys)+1 || !page.Rows[0].Task.IsZero() || string(page.Rows[0].Key) != "own" || page.Rows[0].Rev != 0 || page.Rows[0].Value != nil {
		t.Errorf("Rows() of the keys of all owners = %+v, %v", page, err)
	}
}
