package storetest

import (
	"errors"
	"testing"

	"a2a-server/store"
)

func testForeign(t *testing.T, f *fixture) {
	live, final := rich(alice(), store.Live), rich(alice(), store.Final)
	final.Due = nil
	f.append(t, live)
	f.append(t, final)
	f.append(t, scopeRows(alice(), put("kind", "own", 0, "value", indexed("index", "entry"))))
	missing := store.NewTaskID()
	before := dump(t, f.h[0])
	for _, s := range append(strangers(), store.Tenant("acm"), store.Owner("", ""), store.Owner("acme", "alice\x00")) {
		for i, h := range f.h {
			for _, b := range []*store.Batch{live, final} {
				if _, err := h.Read(t.Context(), s, b.Task, store.AtSnapshot(), store.Limit{}); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("%+v: Read() = %v, want %v", s, err, store.ErrNotFound)
				}
				for _, bad := range []*store.Batch{
					with(change(b.Task, 1, public("foreign")), store.Change{Pending: new(uint32(9))}, put("kind", "key", store.Any, "foreign"), remove("kind", "key", store.Any), dueGone(50, "key"), dueAt(51, "key", ""), "foreign"),
					change(b.Task, 9),
					chunks(b.Task, 1, public("foreign")),
					aside(b.Task, put("kind", "key", store.Any, "foreign")),
					with(change(b.Task, 1), ofContext(put("kind", "key", store.Any, "foreign"))),
				} {
					refuse(t, h, with(bad, s), store.ErrNotFound)
				}
				refuseDelete(t, h, s, b.Task, store.ErrNotFound)
				for _, q := range []store.RowQuery{{Kind: "kind", Task: b.Task}, {Kind: "kind", Task: b.Task, Key: []byte("key")}, {Kind: "kind", Task: missing}} {
					same(t, []store.Row{}, mustRows(t, h, s, q), "%+v: Rows(%+v)", s, q)
				}
			}
			if s.IsOwner() {
				refuse(t, h, with(create(s, public("stolen")), live.Task), store.ErrConflict)
			}
			if s.IsZero() {
				refuse(t, h, rich(s, store.Live), store.ErrNotFound)
				refuse(t, h, with(scopeRows(s, put("kind", "key", store.Any, "value")), dueAt(1, "key", ""), "entry"), store.ErrNotFound)
			}
			queries := []store.RowQuery{{Kind: "kind"}, {Kind: "kind", Index: "index"}, {Kind: "kind", Index: "index", Prefix: []byte("entry")}}
			if s.IsOwner() || s.IsZero() {
				queries = append(queries, store.RowQuery{Kind: "kind", Key: []byte("own")}, store.RowQuery{Kind: "kind", Context: "context"})
			}
			for _, q := range queries {
				same(t, []store.Row{}, mustRows(t, h, s, q), "%+v: Rows(%+v)", s, q)
			}
			for _, q := range []store.Query{{}, {Context: "context"}, {State: 2}, {Since: 1}} {
				if got, total := mustList(t, h, s, q); len(got) > 0 || total > 0 {
					t.Errorf("%+v: Tasks(%+v) = %v, total %d, want nothing", s, q, got, total)
				}
			}
			same(t, before, dump(t, f.h[1-i]), "%+v: contents after foreign writes", s)
		}
	}
}
