package storetest

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"a2a-server/store"
)

func listCases() []testCase {
	return []testCase{
		{"every filter", testFilters},
		{"page size", testListPageSize},
		{"totals follow", testTotals},
		{"totals after a time filter", testTotalsAfterTimeFilter},
		{"during changes", testListDuringChanges},
	}
}

// bruteForce is what a list must be: a scan of all headers.
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

// mixedTasks creates tasks in all phases with few different times, so that there
// are ties, and then moves a half of them.
func mixedTasks(t *testing.T, f *fixture, n int, random *rand.Rand) []store.Header {
	t.Helper()
	var all []store.Header
	for i := range n {
		phase := store.Phase(1 + random.IntN(3))
		b := createIn(phase, owners()[random.IntN(3)], public("event"))
		b.Change.Context = contexts()[random.IntN(len(contexts()))]
		b.Change.Status = status(store.State(1+random.IntN(int(store.MaxState))), store.Millis(1000+random.IntN(8)))
		if i%5 == 0 {
			// An id that is not as new as it was made.
			b.Task[0] = byte(random.IntN(256))
		}
		f.append(t, b)
		for rev := uint64(1); phase != store.Final && random.IntN(2) == 0; rev++ {
			c := change(b.Task, rev)
			c.Change = store.Change{Status: status(store.State(1+random.IntN(int(store.MaxState))), store.Millis(1000+random.IntN(12)))}
			if random.IntN(2) == 0 {
				phase = store.Phase(1 + random.IntN(3))
				c.Change.Phase = phase
			}
			f.append(t, c)
		}
		all = append(all, f.header(t, b.Task))
	}
	return all
}

func testFilters(t *testing.T, f *fixture) {
	all := mixedTasks(t, f, 120, rand.New(rand.NewPCG(3, 4)))
	for round := range 2 {
		turn := round
		for _, s := range []store.Scope{alice(), bob(), otherAlice(), shifted(), store.Tenant("acme"), store.Tenant("beta"), store.System()} {
			for _, context := range append([]string{"", "absent"}, contexts()...) {
				for _, state := range []store.State{0, 1, 2, 9} {
					for _, since := range []store.Millis{0, 1, 1003, 1011, 5000} {
						for _, size := range pageSizes() {
							if size < 7 && (context == "aa" || state > 1) {
								continue
							}
							q := store.Query{Context: context, State: state, Since: since, Limit: size}
							want, wantTotal := bruteForce(all, s, q)
							turn++
							got, total := mustList(t, f.h[turn%2], s, q)
							if d := diff(want, got); d != "" || total != wantTotal {
								t.Fatalf("%+v: Tasks(%+v) total %d, want %d (-want +got)\n%s", s, q, total, wantTotal, d)
							}
						}
					}
				}
			}
		}
		f.reopen(t)
	}
}

func testListPageSize(t *testing.T, f *fixture) {
	const n = 1010
	commits := make([]*store.Commit, n)
	for i := range commits {
		commits[i] = f.next().Append(t.Context(), createIn(store.Phase(1+i%3), alice()))
	}
	for _, c := range commits {
		if _, err := await(c); err != nil {
			t.Fatalf("Append() = %v, want nil", err)
		}
	}
	for limit, want := range map[int]int{0: 50, -1: 50, 10: 10, 1000: 1000, 5000: 1000} {
		for _, s := range []store.Scope{alice(), store.Tenant("acme"), store.System()} {
			page, err := f.next().Tasks(t.Context(), s, store.Query{Limit: limit})
			if err != nil || len(page.Tasks) != want || page.Next == "" {
				t.Errorf("%+v: Tasks(limit %d) = %d tasks, next %q, %v, want %d and a cursor", s, limit, len(page.Tasks), page.Next, err, want)
			}
			if want := map[bool]int64{true: n, false: -1}[s.IsOwner()]; page.Total != want {
				t.Errorf("%+v: total = %d, want %d", s, page.Total, want)
			}
		}
	}
}

// Totals are asked for between the changes, so that a store that keeps counters
// has all of them to follow.
func testTotals(t *testing.T, f *fixture) {
	random := rand.New(rand.NewPCG(5, 6))
	var all []store.Header
	check := func() {
		t.Helper()
		for _, q := range []store.Query{{}, {State: 1}, {State: 2}, {Context: "a"}, {Context: "a", State: 1}, {Since: 1010}, {State: 2, Since: 1020}} {
			for _, h := range f.h {
				want, wantTotal := bruteForce(all, alice(), q)
				page, err := h.Tasks(t.Context(), alice(), q)
				if err != nil || page.Total != wantTotal || len(page.Tasks) != len(want) {
					t.Fatalf("Tasks(%+v) = %d tasks, total %d, %v, want %d", q, len(page.Tasks), page.Total, err, wantTotal)
				}
			}
		}
	}
	for n := range 40 {
		b := createIn(store.Phase(1+n%2), alice())
		b.Change.Context = contexts()[n%2]
		b.Change.Status = status(store.State(1+n%2), store.Millis(1000+n))
		f.append(t, b)
		all = append(all, f.header(t, b.Task))
		check()
		i := random.IntN(len(all))
		h := all[i]
		switch random.IntN(4) {
		case 0, 1:
			c := change(h.Task, h.Rev)
			if h.Phase != store.Final {
				c.Change = store.Change{Status: status(store.State(1+random.IntN(2)), h.StatusTime+1), Phase: store.Phase(random.IntN(4))}
			}
			f.append(t, c)
			all[i] = f.header(t, h.Task)
		case 2:
			f.refuse(t, change(h.Task, h.Rev+1), store.ErrConflict)
		case 3:
			if h.Phase != store.Final {
				continue
			}
			if err := f.next().Delete(t.Context(), alice(), h.Task, nil); err != nil {
				t.Fatalf("Delete() = %v, want nil", err)
			}
			all = slices.Delete(all, i, i+1)
		}
		check()
	}
}

// A list with a time filter, which counts by itself, changes nothing about the totals
// of the lists without one.
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

// Tasks that move may be missed; one that stands still appears exactly once over
// the pages, and the total is exact at every moment.
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
		for _, s := range []store.Scope{alice(), store.Tenant("acme"), store.System()} {
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
				if d := diff(want, seen); d != "" {
					t.Fatalf("%+v: tasks that stand still, in pages of %d (-want +got)\n%s", s, size, d)
				}
			}
		}
	}
}
