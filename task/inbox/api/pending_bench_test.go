package api_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"testing"

	"a2a-server/internal/testserver"
	"a2a-server/store"
	"a2a-server/store/boltstore"
	"a2a-server/task/engine"
	"a2a-server/task/internal/record"
)

// pend writes n copies of the pending approval that is there, in tasks of 100.
func (w *world) pend(b *testing.B, h store.Handle, n int) {
	b.Helper()
	rows, err := h.Rows(b.Context(), store.System(), store.RowQuery{Kind: record.KindApproval, Index: record.IndexPending, Limit: 1})
	if err != nil || len(rows.Rows) != 1 {
		b.Fatalf("%v: %d pending approvals", err, len(rows.Rows))
	}
	like := rows.Rows[0]
	log, err := h.Read(b.Context(), store.System(), like.Task, store.From{}, store.Limit{})
	if err != nil {
		b.Fatal(err)
	}
	owner := log.Header.Owner
	key := func(index string, prefix []byte) store.IndexKey {
		return store.IndexKey{Index: index, Key: append(prefix, like.IndexKey[len(like.IndexKey)-16:]...)} // the time is that of the request
	}
	for n > 0 {
		id := store.NewTaskID()
		one := &store.Batch{
			Scope: log.Header.Owner, Task: id, Rev: new(uint64),
			Change: store.Change{Context: "pending", Status: &store.Status{State: log.Header.State, Time: log.Header.StatusTime}, Phase: store.Parked},
		}
		for range min(n, 100) {
			name := fmt.Appendf(nil, "%s.a%d", id, n)
			value := bytes.ReplaceAll(bytes.ReplaceAll(like.Value, like.Key, name), []byte(like.Task.String()), []byte(id.String()))
			one.Rows = append(one.Rows, store.RowChange{Kind: record.KindApproval, Key: name, Value: value, Index: []store.IndexKey{
				key(record.IndexPending, record.ScopePrefix(store.Tenant(owner.TenantName()))), key(record.IndexOwn, record.ScopePrefix(owner)),
				key(record.IndexDeadline, record.ScopePrefix(store.Tenant(owner.TenantName()))), key(record.IndexDeadline, record.ScopePrefix(owner)),
			}})
			n--
		}
		if _, err := h.Append(b.Context(), one).Wait(); err != nil {
			b.Fatal(err)
		}
	}
}

// The first pages of 20 and of 20,000 pending approvals, with small arguments and with 127 KiB of them,
// on the disk. x-at-20 is the processor time of a page at 20,000 relative to the page at 20.
func BenchmarkPending(b *testing.B) {
	for _, large := range []int{10, 127 << 10} {
		text := make([]byte, large)
		for i := range text {
			text[i] = "abcdefghijklmnop"[rand.IntN(16)] //nolint:gosec // nothing is secret
		}
		at20 := map[string]float64{}
		for _, n := range []int{20, 20_000} {
			db, err := boltstore.Options{}.Open(filepath.Join(b.TempDir(), "store.db"))
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = db.Close() })
			h, err := db.Handle()
			if err != nil {
				b.Fatal(err)
			}
			w := newWorld(b, func(c *testserver.Config) { c.Store = h })
			one := w.ask(alice, fmt.Sprintf(`/ship {"amount": 7, "iban": %q}`, text))[0]
			w.pend(b, h, n-1)
			for _, path := range []string{"/ui/", "/ui/?order=time", "/ui/?mine=1", "/ui/about", "/ui/approvals/" + one.ID, "/api/v1/approvals?limit=20", "/api/v1/approvals?limit=20&order=deadline"} {
				name := path
				if len(path) > 50 {
					name = "/ui/approvals/ID"
				}
				b.Run(fmt.Sprintf("%d/%d%s", large, n, name), func(b *testing.B) {
					r := w.request(olga, http.MethodGet, "", nil)
					if r.URL, err = r.URL.Parse(path); err != nil {
						b.Fatal(err)
					}
					before := cpu(b)
					for b.Loop() {
						w.raw(r)
					}
					ms := (cpu(b) - before).Seconds() * 1e3 / float64(b.N)
					b.ReportMetric(ms, "cpu-ms/op")
					if n == 20 {
						at20[name] = ms
					} else if at20[name] > 0 {
						b.ReportMetric(ms/at20[name], "x-at-20")
					}
				})
			}
			b.Run(fmt.Sprintf("%d/%d/count", large, n), func(b *testing.B) {
				list := w.Approvals()
				for b.Loop() {
					if _, _, err := list.Count(b.Context(), olga, 100); err != nil {
						b.Fatal(err)
					}
					if _, err := list.List(b.Context(), alice, engine.ApprovalQuery{ByDeadline: true, Limit: 1}); err != nil {
						b.Fatal(err)
					}
				}
			})
			transport.CloseIdleConnections()
		}
	}
}
