package storetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"a2a-server/store"
)

func rowQueryCases() []testCase {
	return []testCase{
		{"by task", testRowsByTask},
		{"by key", testRowByKey},
		{"by index", testRowsByIndex},
		{"by kind", testRowsByKind},
		{"page size", testRowPageSize},
	}
}

// awkwardKeys are in order, and chosen so that careless concatenation of keys breaks
// the order.
func awkwardKeys() []string {
	return []string{
		"\x00", "\x00\x00", "\x00\x00\x01", "\x00\x01", "\x00\xff", "\x01", "\x01\x00", "a", "a\x00", "a\x00\x00", "a\x00b", "a\x01",
		"aa", "ab", "b", "\xfe\xff", "\xff", "\xff\x00", "\xff\xff", "\xff\xff\xff",
	}
}

func pageSizes() []int { return []int{1, 2, 7, 1000} }

func testRowsByTask(t *testing.T, f *fixture) {
	tasks := []*store.Batch{create(alice()), create(alice()), create(bob())}
	keys := append([]string{""}, awkwardKeys()...)
	for i, b := range tasks {
		for _, k := range rand.New(rand.NewPCG(uint64(i), 0)).Perm(len(keys)) {
			b.Rows = append(b.Rows, put("kind", keys[k], 0, fmt.Sprint(i, k)), put("kinds", keys[k], 0, "other kind"))
		}
		f.append(t, b)
	}
	f.append(t, scopeRows(alice(), put("kind", "a", 0, "of the scope")))
	for i, b := range tasks {
		var want []store.Row
		for k, key := range keys {
			want = append(want, row(b.Task, "kind", key, 1, fmt.Sprint(i, k)))
		}
		for _, size := range pageSizes() {
			for _, s := range []store.Scope{b.Scope, store.Tenant("acme"), store.System()} {
				f.checkRows(t, s, store.RowQuery{Kind: "kind", Task: b.Task, Limit: size}, want...)
			}
		}
	}
}

func testRowByKey(t *testing.T, f *fixture) {
	b := create(alice())
	scope := scopeRows(alice())
	for k, key := range awkwardKeys() {
		b.Rows = append(b.Rows, put("kind", key, 0, fmt.Sprint("task ", k)))
		scope.Rows = append(scope.Rows, put("kind", key, 0, fmt.Sprint("scope ", k)))
	}
	f.append(t, b)
	f.append(t, scope)
	for k, key := range awkwardKeys() {
		q := store.RowQuery{Kind: "kind", Task: b.Task, Key: []byte(key)}
		for _, s := range []store.Scope{alice(), store.Tenant("acme"), store.System()} {
			f.checkRows(t, s, q, row(b.Task, "kind", key, 1, fmt.Sprint("task ", k)))
		}
		q.Task = store.TaskID{}
		f.checkRows(t, alice(), q, row(store.TaskID{}, "kind", key, 1, fmt.Sprint("scope ", k)))
	}
	for _, key := range []string{"\x00\x02", "aaa", "A", "\xfe"} {
		f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Task: b.Task, Key: []byte(key)})
		f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Key: []byte(key)})
	}
}

// indexedRow is a row and its one entry in the index of the query.
type indexedRow struct {
	owner store.Scope
	entry string
	row   store.Row
}

func testRowsByIndex(t *testing.T, f *fixture) {
	random := rand.New(rand.NewPCG(1, 2))
	entries := append([]string{""}, awkwardKeys()...)
	var all []indexedRow
	for i := range 12 {
		owner := owners()[i%4]
		b := create(owner)
		if i >= 8 {
			b = scopeRows(owner)
		}
		for n := range 12 {
			key, entry := fmt.Sprint("key ", n), entries[random.IntN(len(entries))]
			b.Rows = append(b.Rows, put("kind", key, 0, entry, indexed("index", entry), indexed("inde", "x"+entry), indexed("x", entry)))
			all = append(all, indexedRow{owner, entry, row(b.Task, "kind", key, 1, entry)})
		}
		b.Rows = append(b.Rows, put("other", "key", 0, "", indexed("index", "a")), put("kind", "without", 0, "", indexed("x", "a")))
		f.append(t, b)
	}
	scopes := append(owners(), store.Tenant("acme"), store.Tenant("beta"), store.System())
	for _, s := range scopes {
		for _, prefix := range append([]string{"", "nothing", "\x00\x02"}, entries...) {
			var want []store.Row
			for _, r := range all {
				if s.Covers(r.owner) && bytes.HasPrefix([]byte(r.entry), []byte(prefix)) {
					want = append(want, r.row)
				}
			}
			for i, size := range pageSizes() {
				q := store.RowQuery{Kind: "kind", Index: "index", Prefix: []byte(prefix), Limit: size}
				got := mustRows(t, f.h[i%2], s, q)
				// The value of a row is its entry.
				if !slices.IsSortedFunc(got, func(a, b store.Row) int { return bytes.Compare(a.Value, b.Value) }) {
					t.Fatalf("%+v: Rows(%+v) is not in the order of the index: %v", s, q, got)
				}
				if d := diff(sortRows(want), sortRows(got)); d != "" {
					t.Fatalf("%+v: Rows(%+v) (-want +got)\n%s", s, q, d)
				}
			}
		}
	}
	// Entries that a row has besides lead to it, too.
	b := create(alice())
	b.Rows = []store.RowChange{put("double", "key", 0, "", indexed("index", "one"), indexed("index", "two"))}
	f.append(t, b)
	for _, prefix := range []string{"one", "two", "o", "t"} {
		f.checkRows(t, alice(), store.RowQuery{Kind: "double", Index: "index", Prefix: []byte(prefix)}, row(b.Task, "double", "key", 1, ""))
	}
}

func testRowsByKind(t *testing.T, f *fixture) {
	wants := map[store.Scope][]store.Row{}
	for i := range 16 {
		owner := owners()[i%4]
		b := create(owner)
		if i >= 12 {
			b = scopeRows(owner)
		}
		for n := range 1 + i {
			b.Rows = append(b.Rows, put("kind", fmt.Sprint(n), 0, fmt.Sprint(i)), put("other", fmt.Sprint(n), 0, ""))
			for _, s := range []store.Scope{owner, store.Tenant(owner.TenantName()), store.System()} {
				wants[s] = append(wants[s], row(b.Task, "kind", fmt.Sprint(n), 1, fmt.Sprint(i)))
			}
		}
		f.append(t, b)
	}
	for s, want := range wants {
		var order []store.Row
		for _, size := range pageSizes() {
			for _, h := range f.h {
				got := mustRows(t, h, s, store.RowQuery{Kind: "kind", Limit: size})
				if d := diff(sortRows(want), sortRows(got)); d != "" {
					t.Fatalf("%+v: Rows() in pages of %d (-want +got)\n%s", s, size, d)
				}
				if order == nil {
					order = got
				}
				if d := diff(order, got); d != "" {
					t.Fatalf("%+v: the order depends on the page size (-1 +%d)\n%s", s, size, d)
				}
			}
		}
	}
}

func testRowPageSize(t *testing.T, f *fixture) {
	b := create(alice())
	for i := range 1020 {
		b.Rows = append(b.Rows, put("kind", fmt.Sprintf("%04d", i), 0, "", indexed("index", "same")))
	}
	f.append(t, b)
	for limit, want := range map[int]int{0: 50, -1: 50, 10: 10, 1000: 1000, 5000: 1000} {
		for _, q := range []store.RowQuery{{Kind: "kind"}, {Kind: "kind", Task: b.Task}, {Kind: "kind", Index: "index"}} {
			for _, s := range []store.Scope{alice(), store.Tenant("acme"), store.System()} {
				q.Limit = limit
				page, err := f.next().Rows(t.Context(), s, q)
				if err != nil || len(page.Rows) != want || page.Next == "" {
					t.Errorf("%+v: Rows(%+v) = %d rows, next %q, %v, want %d and a cursor", s, q, len(page.Rows), page.Next, err, want)
				}
			}
		}
	}
}
