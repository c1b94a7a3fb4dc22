package storetest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"a2a-server/store"
)

// bruteForce is the expected list: a scan of all headers.
func bruteForce(all []store.Header, s store.Scope, q store.Query) (tasks []store.Header, total int64) {
	for _, h := range all {
		if s.Covers(h.Owner) && (q.Context == "" || q.Context == h.Context) && (q.State == 0 || q.State == h.State) && h.StatusTime >= q.Since {
			tasks = append(tasks, h)
		}
	}
	slices.SortFunc(tasks, func(a, b store.Header) int {
		byID := bytes.Compare(b.Task[:], a.Task[:])
		if !s.IsOwner() {
			return byID
		}
		return cmp.Or(cmp.Compare(b.StatusTime, a.StatusTime), byID)
	})
	if !s.IsOwner() {
		return tasks, -1
	}
	return tasks, int64(len(tasks))
}

// contexts has ids that only a hash or only a UUID tells apart.
func contexts() []string {
	uuid := "0190a3c4-7e1f-7abc-8def-0123456789ab"
	return []string{"a", "aa", uuid, strings.ToUpper(uuid), strings.Repeat("c", store.MaxContext)}
}

// A list with a time filter, which counts by itself, changes nothing about the totals of the
// lists without a filter.
func testTotalsAfterTimeFilter(t *testing.T, f *fixture) {
	list := func(q store.Query, want int64) {
		t.Helper()
		for _, h := range f.h {
			page, err := h.Tasks(t.Context(), alice(), q)
			if err != nil || page.Total != want {
				t.Errorf("Tasks(%+v) = total %d, %v, want %d", q, page.Total, err, want)
			}
		}
	}
	for _, context := range []string{"", "context"} {
		list(store.Query{Context: context, Since: 1}, 0)
	}
	const n = 5
	for range n {
		f.append(t, createIn(store.Parked, alice()))
	}
	for range 2 {
		for _, q := range []store.Query{{}, {Context: "context"}, {Since: 1}, {Context: "context", Since: 1}, {State: 2}} {
			list(q, n)
		}
	}
}

// Tasks that move may be missed; a task that stands still appears exactly once over the pages,
// and the total is exact at every moment.
func testListDuringChanges(t *testing.T, f *fixture) {
	const still, movers = 40, 10
	place := map[store.TaskID]int{}
	var moving []store.TaskID
	for i := range still + movers {
		b := createIn(store.Phase(1+i%2), alice())
		b.Change.Status = status(store.State(1+i%3), store.Millis(1000+i))
		if i%5 == 4 {
			moving = append(moving, b.Task)
		} else {
			place[b.Task] = len(place)
		}
		f.append(t, b)
	}
	moved := make(chan struct{})
	halt := background(t, func(stop <-chan struct{}) error {
		h := f.h[1]
		for n := 0; !stopped(stop); n++ {
			id := moving[n%movers]
			c := change(id, uint64(n/movers)+1)
			c.Change = store.Change{Status: status(store.State(1+n%3), store.Millis(5000+n)), Phase: store.Phase(1 + n/2%2)}
			if _, err := do(t.Context(), h, c); err != nil {
				return fmt.Errorf("Append() = %w, want nil", err)
			}
			if n == movers {
				close(moved)
			}
		}
		return nil
	})
	defer halt()
	receive(t, "changes", moved)
	for round := range 12 {
		for _, s := range seers() {
			for _, size := range []int{1, 3, 7} {
				h := f.h[round%2]
				list, total := mustList(t, h, s, store.Query{Context: "context", Limit: size})
				if want := map[bool]int64{true: still + movers, false: -1}[s.IsOwner()]; total != want {
					t.Fatalf("%+v: total = %d, want %d", s, total, want)
				}
				var seen []int
				for _, header := range list {
					if p, ok := place[header.Task]; ok {
						seen = append(seen, p)
					}
				}
				// Newest status and newest id are the same order here.
				want := make([]int, still)
				for i := range want {
					want[i] = still - 1 - i
				}
				same(t, want, seen, "%+v: tasks that stand still, in pages of %d", s, size)
			}
		}
	}
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
