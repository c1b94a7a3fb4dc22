package storetest

import (
	"fmt"
	"testing"

	"a2a-server/store"
)

func pageSizeCases() []testCase {
	return []testCase{{"default and maximum", testPageSizes}, {"pages of the audit", testAuditPages}}
}

// Each list has 50 entries unless it is told otherwise, and 1,000 at most.
func testPageSizes(t *testing.T, f *fixture) {
	const n = 1120
	b := createIn(store.Parked, alice())
	commits := make([]*store.Commit, n)
	for i := range commits {
		b = with(b, put("kind", fmt.Sprintf("%04d", i), 0, "", indexed("index", "same")), dueAt(store.Millis(1+i), "key", ""), "entry")
		commits[i] = f.h[0].Append(t.Context(), create(alice()))
	}
	f.append(t, b)
	durable(t, commits...)
	for limit, want := range map[int]int{0: 50, -1: 50, 10: 10, 1000: 1000, 5000: 1000} {
		for _, h := range f.h {
			for _, s := range seers() {
				page, err := h.Tasks(t.Context(), s, store.Query{Limit: limit})
				total := int64(-1)
				if s.IsOwner() {
					total = n + 1
				}
				if err != nil || len(page.Tasks) != want || page.Next == "" || page.Total != total {
					t.Errorf("%+v: Tasks(%d) = %d tasks, next %q, total %d, %v, want %d, a cursor and %d", s, limit, len(page.Tasks), page.Next, page.Total, err, want, total)
				}
				for _, q := range []store.RowQuery{{Kind: "kind"}, {Kind: "kind", Task: b.Task}, {Kind: "kind", Index: "index"}} {
					q.Limit = limit
					if page, err := h.Rows(t.Context(), s, q); err != nil || len(page.Rows) != want || page.Next == "" {
						t.Errorf("%+v: Rows(%+v) = %d rows, next %q, %v, want %d and a cursor", s, q, len(page.Rows), page.Next, err, want)
					}
				}
			}
			if due, next, err := h.Due(t.Context(), endless, "", limit); err != nil || len(due) != want || next == 0 {
				t.Errorf("Due(%d) = %d rows, next %d, %v, want %d and a next time", limit, len(due), next, err, want)
			}
			if got, err := h.Audit(t.Context(), 5, limit); err != nil || len(got) != want || got[0].N != 6 {
				t.Errorf("Audit(5, %d) = %d entries, %v, want %d from 6 on", limit, len(got), err, want)
			}
		}
	}
	for _, c := range []struct{ limit, want int }{{0, 50}, {-1, 50}, {5000, 1000}, {5000, 20}, {5000, 0}} {
		if got, err := f.h[1].Claim(t.Context(), c.limit); err != nil || len(got) != c.want {
			t.Fatalf("Claim(%d) = %d headers, %v, want %d", c.limit, len(got), err, c.want)
		}
	}
}

func testAuditPages(t *testing.T, f *fixture) {
	var want []store.AuditEntry
	for i := range 60 {
		b := create(alice())
		for n := range i % 4 {
			text := fmt.Sprint(i, n)
			b = with(b, text)
			want = append(want, store.AuditEntry{N: uint64(len(want)) + 1, Task: b.Task, Data: []byte(text)})
		}
		f.append(t, b)
	}
	for _, h := range f.h {
		for _, limit := range []int{1, 2, 7, 90, 1000} {
			for after := range len(want) + 3 {
				from := min(after, len(want))
				same(t, want[from:min(from+limit, len(want))], mustAudit(t, h, uint64(after), limit), "Audit(%d, %d)", after, limit)
			}
		}
	}
}
