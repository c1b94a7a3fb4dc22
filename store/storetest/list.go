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

func listCases() []testCase {
	return []testCase{
		{"totals after a time filter", testTotalsAfterTimeFilter},
		{"during changes", testListDuringChanges},
	}
}

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
