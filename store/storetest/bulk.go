package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"a2a-server/store"
)

func bulkCases() []testCase {
	return []testCase{
		{"left out", testBulkLeftOut},
		{"snapshots with and without", testBulkSnapshots},
		{"in one commit", testBulkPipelined},
		{"long runs", testBulkRuns},
		{"at the tail", testBulkTail},
		{"most", testMost},
	}
}

// bulky returns n events, each bulk with the given probability.
func bulky(random *rand.Rand, n int, share float64, label string) []store.Event {
	events := mixed(n, label)
	for i := range events {
		events[i].Bulk = random.Float64() < share
	}
	return events
}

// folded is what snapshots hold of a log.
type folded struct {
	plain, bulk         uint64 // up to which seq
	snapshot, bulkBytes string // "": none
}

// checkBulk reads a log whole and without bulk, from its snapshot and from anywhere,
// in pages of every size, by both handles.
func (f *fixture) checkBulk(t *testing.T, id store.TaskID, log *history, want folded) {
	t.Helper()
	var bytes, bulk uint64
	for _, e := range log.events {
		bytes += uint64(len(e.Data))
		if e.Bulk {
			bulk += uint64(len(e.Data))
		}
	}
	h := f.header(t, id)
	if h.Bytes != bytes || h.Bulk != bulk || h.Size(false) != bytes || h.Size(true) != bytes-bulk {
		t.Errorf("header has %d bytes, %d of them bulk; want %d and %d", h.Bytes, h.Bulk, bytes, bulk)
	}
	if h.Snapshot != want.plain || h.BulkSnapshot != want.bulk {
		t.Errorf("snapshots are up to %d and %d, want %d and %d", h.Snapshot, h.BulkSnapshot, want.plain, want.bulk)
	}
	last := uint64(len(log.events))
	for _, noBulk := range []bool{false, true} {
		for _, from := range []store.From{store.AtSnapshot(), store.After(0), store.After(last / 2), store.After(last), store.After(last + 5)} {
			n, exact := from.Seq()
			var events []store.Event
			for _, e := range log.events {
				after := max(n, want.plain)
				switch {
				case exact:
					after = n
				case e.Bulk:
					after = want.bulk
				}
				if e.Seq > after && (!e.Bulk || !noBulk) {
					events = append(events, e)
				}
			}
			for _, limit := range []store.Limit{{}, {Events: 1}, {Events: 3}, {Bytes: 40}} {
				limit.NoBulk = noBulk
				what := fmt.Sprintf("Read(%+v, %+v)", from, limit)
				for _, h := range f.h {
					view, err := h.Read(t.Context(), alice(), id, from, limit)
					if err != nil {
						t.Fatalf("%s = %v, want nil", what, err)
					}
					snapshot, bulk := want.snapshot, want.bulkBytes
					if exact {
						snapshot = ""
					}
					if exact || noBulk {
						bulk = ""
					}
					if string(view.Snapshot) != snapshot || string(view.Bulk) != bulk || (view.Snapshot == nil) != (snapshot == "") || (view.Bulk == nil) != (bulk == "") {
						t.Fatalf("%s has snapshot %.40q with bulk %.40q, want %q and %q", what, view.Snapshot, view.Bulk, snapshot, bulk)
					}
					got := slices.Clone(view.Events)
					for pages := 0; view.More; pages++ {
						if pages > 10_000 {
							t.Fatalf("%s does not end", what)
						}
						if view, err = h.Read(t.Context(), alice(), id, view.Next, limit); err != nil {
							t.Fatalf("%s = %v, want nil", what, err)
						}
						got = append(got, view.Events...)
					}
					if next, ok := view.Next.Seq(); !ok || next != max(n, last) {
						t.Fatalf("%s ends at %d, want %d", what, next, max(n, last))
					}
					checkEvents(t, what, events, got)
				}
			}
		}
	}
}

func testBulkLeftOut(t *testing.T, f *fixture) {
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 1))
		b := create(alice(), bulky(random, 5, 0.5, "first")...)
		f.append(t, b)
		var log history
		log.add(b.Events...)
		for i := range 20 {
			share := []float64{0, 0.5, 1}[random.IntN(3)]
			c := chunks(b.Task, 1, bulky(random, random.IntN(5), share, fmt.Sprint(i))...)
			f.append(t, c)
			log.add(c.Events...)
		}
		f.checkBulk(t, b.Task, &log, folded{})
		if seed%4 == 0 {
			f.reopen(t)
			f.checkBulk(t, b.Task, &log, folded{})
		}
	}
}

func testBulkSnapshots(t *testing.T, f *fixture) {
	random := rand.New(rand.NewPCG(2, 2))
	b := create(alice(), bulky(random, 6, 0.5, "first")...)
	f.append(t, b)
	var log history
	log.add(b.Events...)
	want := folded{}
	for i, with := range []bool{false, true, false, false, true, true, false} {
		c := chunks(b.Task, 1, bulky(random, 4, []float64{0.5, 1}[i%2], fmt.Sprint(i))...)
		c.Snapshot = &store.Snapshot{After: uint64(len(log.events)), Rev: 1, Bytes: fmt.Append(nil, "plain ", i)}
		want.plain, want.snapshot = c.Snapshot.After, string(c.Snapshot.Bytes)
		if with {
			c.Snapshot.Bulk = fmt.Append(nil, "bulk ", i)
			want.bulk, want.bulkBytes = c.Snapshot.After, string(c.Snapshot.Bulk)
		}
		f.append(t, c)
		log.add(c.Events...)
		f.checkBulk(t, b.Task, &log, want)
	}
	f.reopen(t)
	f.checkBulk(t, b.Task, &log, want)
	// One that is late leaves no bulk either.
	c := chunks(b.Task, 1, public("late"))
	c.Snapshot = &store.Snapshot{After: 3, Rev: 1, Bytes: []byte("late"), Bulk: []byte("late")}
	f.append(t, c)
	log.add(c.Events...)
	f.checkBulk(t, b.Task, &log, want)
	// Beyond its limit.
	c = chunks(b.Task, 1)
	c.Snapshot = &store.Snapshot{After: uint64(len(log.events)), Rev: 1, Bytes: []byte("plain"), Bulk: make([]byte, store.MaxSnapshot+1)}
	f.refuse(t, c, store.ErrTooLarge)
}

// Of batches that share a commit one has a bulk and later ones none.
func testBulkPipelined(t *testing.T, f *fixture) {
	for _, h := range f.h {
		b := create(alice(), public("0"))
		mustAppend(t, h, b)
		var log history
		log.add(b.Events...)
		want := folded{}
		var commits []*store.Commit
		for n := uint64(1); n <= 31; n++ { // the last one is bulk
			e := public("%d", n)
			e.Bulk = n%3 > 0
			c := chunks(b.Task, 1, e)
			c.Snapshot = &store.Snapshot{After: n, Rev: 1, Bytes: fmt.Append(nil, "fold ", n)}
			want.plain, want.snapshot = n, string(c.Snapshot.Bytes)
			if n%7 == 0 {
				c.Snapshot.Bulk = fmt.Append(nil, "bulk ", n)
				want.bulk, want.bulkBytes = n, string(c.Snapshot.Bulk)
			}
			commits = append(commits, h.Append(t.Context(), c))
			log.add(e)
		}
		for _, c := range commits {
			if _, err := await(c); err != nil {
				t.Fatalf("Append() = %v, want nil", err)
			}
		}
		f.checkBulk(t, b.Task, &log, want)
	}
}

// Many commits that hold nothing but bulk, with little between them.
func testBulkRuns(t *testing.T, f *fixture) {
	b := create(alice(), public("first"))
	f.append(t, b)
	var log history
	log.add(b.Events...)
	for i := range 400 {
		e := public("%d", i)
		e.Bulk = i%150 != 100
		f.append(t, chunks(b.Task, 1, e))
		log.add(e)
	}
	f.checkBulk(t, b.Task, &log, folded{})
}

// Readers of a live task, which a store may serve from memory.
func testBulkTail(t *testing.T, f *fixture) {
	b := create(alice(), public("first"))
	f.append(t, b)
	var log history
	log.add(b.Events...)
	for _, h := range f.h {
		_, stop := h.Watch(alice(), b.Task)
		t.Cleanup(stop)
	}
	random := rand.New(rand.NewPCG(5, 5))
	for i := range 10 {
		c := chunks(b.Task, 1, bulky(random, 3, 0.6, fmt.Sprint(i))...)
		f.append(t, c)
		log.add(c.Events...)
	}
	f.checkBulk(t, b.Task, &log, folded{})
	for _, h := range f.h {
		view, err := h.Read(t.Context(), alice(), b.Task, store.After(20), store.Limit{Most: 5})
		if err != nil || !view.More || len(view.Events) > 0 {
			t.Errorf("Read(Most) = %d events, more %t, %v; want none, more, nil", len(view.Events), view.More, err)
		}
	}
}

// A log that is larger than a reader takes is not read.
func testMost(t *testing.T, f *fixture) {
	large := public("%s", strings.Repeat("x", 1000))
	large.Bulk = true
	b := create(alice(), large, public("%s", strings.Repeat("y", 100)))
	f.append(t, b)
	c := chunks(b.Task, 1, public("more"))
	c.Snapshot = &store.Snapshot{After: 2, Rev: 1, Bytes: []byte("plain"), Bulk: []byte("bulk")}
	f.append(t, c)
	header := f.header(t, b.Task)
	for _, tc := range []struct {
		limit  store.Limit
		events int // from the first on; -1: not read
	}{
		{store.Limit{Most: 1104}, 3},
		{store.Limit{Most: 1103}, -1},
		{store.Limit{Most: 104, NoBulk: true}, 2},
		{store.Limit{Most: 103, NoBulk: true}, -1},
		{store.Limit{}, 3},
	} {
		for _, h := range f.h {
			for _, from := range []store.From{store.After(0), store.AtSnapshot()} {
				view, err := h.Read(t.Context(), alice(), b.Task, from, tc.limit)
				if err != nil {
					t.Fatalf("Read(%+v) = %v, want nil", tc.limit, err)
				}
				if d := diff(header, view.Header); d != "" {
					t.Errorf("Read(%+v) has another header (-want +got)\n%s", tc.limit, d)
				}
				_, exact := from.Seq()
				switch {
				case tc.events < 0 && (len(view.Events) > 0 || view.Snapshot != nil || view.Bulk != nil || !view.More):
					t.Errorf("Read(%+v) = %d events, snapshot %q, more %t; want the header alone", tc.limit, len(view.Events), view.Snapshot, view.More)
				case tc.events >= 0 && exact && len(view.Events) != tc.events:
					t.Errorf("Read(%+v) = %d events, want %d", tc.limit, len(view.Events), tc.events)
				case tc.events >= 0 && !exact && (len(view.Events) != 1 || string(view.Snapshot) != "plain"):
					t.Errorf("Read(%+v) = %d events, snapshot %q; want 1, plain", tc.limit, len(view.Events), view.Snapshot)
				}
			}
			if _, err := h.Read(t.Context(), bob(), b.Task, store.AtSnapshot(), tc.limit); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("Read(%+v) by a stranger = %v, want %v", tc.limit, err, store.ErrNotFound)
			}
		}
	}
}
