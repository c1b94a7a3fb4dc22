package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"a2a-server/store"
)

// bulky returns n events, each bulk with the given probability.
func bulky(random *rand.Rand, n int, share float64, label string) []store.Event {
	events := mixed(n, label)
	for i := range events {
		events[i].Bulk = random.Float64() < share
	}
	return events
}

// fold is the content of a log's snapshots.
type fold struct {
	plain, bulk         uint64 // up to which seq
	snapshot, bulkBytes string // "": none
}

// kept notes a snapshot that the store keeps.
func (w *fold) kept(s *store.Snapshot) {
	w.plain, w.snapshot = s.After, string(s.Bytes)
	if s.Bulk != nil {
		w.bulk, w.bulkBytes = s.After, string(s.Bulk)
	}
}

// checkRead reads a log page by page, compares it, and returns the header of the first page.
func checkRead(t *testing.T, h store.Handle, s store.Scope, id store.TaskID, from store.From, limit store.Limit, log *history, want fold) store.Header {
	t.Helper()
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
		if e.Seq > after && (!e.Bulk || !limit.NoBulk) {
			events = append(events, e)
		}
	}
	what := fmt.Sprintf("Read(%+v, %+v)", from, limit)
	first, err := readPage(t.Context(), h, s, id, from, limit)
	if err != nil {
		t.Fatalf("%s = %v, want nil", what, err)
	}
	snapshot, bulk := want.snapshot, want.bulkBytes
	if exact {
		snapshot = ""
	}
	if exact || limit.NoBulk {
		bulk = ""
	}
	if string(first.Snapshot) != snapshot || string(first.Bulk) != bulk || (first.Snapshot == nil) != (snapshot == "") || (first.Bulk == nil) != (bulk == "") {
		t.Fatalf("%s has snapshot %.40q with bulk %.40q, want %.40q and %.40q", what, first.Snapshot, first.Bulk, snapshot, bulk)
	}
	var got []store.Event
	page := first
	for pages := 0; ; pages++ {
		if got = append(got, page.Events...); !page.More {
			break
		}
		if page, err = readPage(t.Context(), h, s, id, page.Next, limit); err != nil || pages > 10_000 {
			t.Fatalf("%s = %v after %d pages, want nil", what, err, pages)
		}
	}
	last := uint64(len(log.events))
	if next, ok := page.Next.Seq(); !ok || next != max(n, last) {
		t.Fatalf("%s ends at %d, want %d", what, next, max(n, last))
	}
	checkEvents(t, what, events, got)
	return first.Header
}

// checkFold reads a log whole and without bulk, from its snapshot and from anywhere,
// in pages of every size, by both handles.
func (f *fixture) checkFold(t *testing.T, id store.TaskID, log *history, want fold) {
	t.Helper()
	var size, bulk uint64
	for _, e := range log.events {
		size += uint64(len(e.Data))
		if e.Bulk {
			bulk += uint64(len(e.Data))
		}
	}
	h := f.header(t, id)
	if h.Bytes != size || h.Bulk != bulk || h.Size(false) != size || h.Size(true) != size-bulk || h.Snapshot != want.plain || h.BulkSnapshot != want.bulk {
		t.Errorf("header = %+v; want %d bytes, %d of them bulk, and snapshots up to %d and %d", h, size, bulk, want.plain, want.bulk)
	}
	last := uint64(len(log.events))
	for _, from := range []store.From{store.AtSnapshot(), store.After(0), store.After(last / 2), store.After(last), store.After(last + 5)} {
		for _, limit := range []store.Limit{{}, {Events: 1}, {Events: 3}, {Bytes: 40}} {
			for _, limit.NoBulk = range []bool{false, true} {
				for _, r := range f.h {
					checkRead(t, r, alice(), id, from, limit, log, want)
				}
			}
		}
	}
}

func testFold(t *testing.T, f *fixture) {
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 1))
		b := create(alice(), bulky(random, 6, 0.5, "first")...)
		f.append(t, b)
		var log history
		log.add(b.Events...)
		want := fold{}
		for i := range 20 {
			c := chunks(b.Task, 1, bulky(random, random.IntN(5), []float64{0, 0.5, 1}[i%3], fmt.Sprint(i))...)
			if random.IntN(2) == 0 && want.plain < uint64(len(log.events)) {
				c.Snapshot = &store.Snapshot{After: uint64(len(log.events)), Rev: 1, Bytes: fmt.Append(nil, "plain ", i)}
				if random.IntN(2) == 0 {
					c.Snapshot.Bulk = fmt.Append(nil, "bulk ", i)
				}
				want.kept(c.Snapshot)
			}
			f.append(t, c)
			log.add(c.Events...)
		}
		f.checkFold(t, b.Task, &log, want)
		if seed == 0 {
			f.reopen(t)
			f.checkFold(t, b.Task, &log, want)
		}
	}
}

// Batches that share a commit each bring a snapshot: some fit, some come late, some have bulk.
func testFoldPipelined(t *testing.T, f *fixture) {
	for _, h := range f.h {
		b := create(alice(), public("0"))
		mustAppend(t, h, b)
		var log history
		log.add(b.Events...)
		want := fold{}
		var commits []*store.Commit
		for n := uint64(1); n <= 31; n++ { // the last is bulk
			c := chunks(b.Task, 1, public("%d", n))
			c.Events[0].Bulk = n%3 > 0
			c.Snapshot = &store.Snapshot{After: n, Rev: 1, Bytes: fmt.Append(nil, "fold ", n)}
			if n%7 == 0 {
				c.Snapshot.Bulk = fmt.Append(nil, "bulk ", n)
			}
			if n%4 == 0 {
				c.Snapshot.After--
			} else {
				want.kept(c.Snapshot)
			}
			commits = append(commits, h.Append(t.Context(), c))
			log.add(c.Events...)
		}
		durable(t, commits...)
		f.checkFold(t, b.Task, &log, want)
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
	f.checkFold(t, b.Task, &log, fold{})
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
	f.checkFold(t, b.Task, &log, fold{})
	for _, h := range f.h {
		view, err := h.Read(t.Context(), alice(), b.Task, store.After(20), store.Limit{Most: 5})
		if err != nil || !view.More || len(view.Events) > 0 {
			t.Errorf("Read(Most) = %d events, more %t, %v; want none, more, nil", len(view.Events), view.More, err)
		}
		for _, s := range strangers() {
			if _, err := h.Read(t.Context(), s, b.Task, store.After(20), store.Limit{}); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%+v: Read() = %v, want %v", s, err, store.ErrNotFound)
			}
		}
	}
}

func testFoldLarge(t *testing.T, f *fixture) {
	b := create(alice(), public("first"))
	f.append(t, b)
	for i := range uint64(3) {
		snapshot := bytes.Repeat([]byte{byte('a' + i)}, 5<<20)
		f.append(t, with(chunks(b.Task, 1, public("%d", i)), &store.Snapshot{After: i + 1, Rev: 1, Bytes: snapshot}))
		for _, h := range f.h {
			if view := mustLog(t, h, alice(), b.Task, store.AtSnapshot(), store.Limit{}); !bytes.Equal(view.Snapshot, snapshot) || len(view.Events) != 1 {
				t.Errorf("Read(AtSnapshot) = %d bytes and %d events, want %d and 1", len(view.Snapshot), len(view.Events), len(snapshot))
			}
		}
	}
}

// A log that is larger than a reader takes is not read.
func testMost(t *testing.T, f *fixture) {
	large := public("%s", strings.Repeat("x", 1000))
	large.Bulk = true
	b := create(alice(), large, public("%s", strings.Repeat("y", 100)))
	f.append(t, b)
	f.append(t, with(chunks(b.Task, 1, public("more")), &store.Snapshot{After: 2, Rev: 1, Bytes: []byte("plain"), Bulk: []byte("bulk")}))
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
				same(t, header, view.Header, "header of Read(%+v)", tc.limit)
				events, snapshot := tc.events, ""
				if _, exact := from.Seq(); !exact && events > 0 {
					events, snapshot = 1, "plain"
				}
				if len(view.Events) != max(events, 0) || string(view.Snapshot) != snapshot || view.More != (events < 0) || events < 0 && view.Bulk != nil {
					t.Errorf("Read(%+v) = %d events, snapshot %q, more %t; want %d, %q", tc.limit, len(view.Events), view.Snapshot, view.More, events, snapshot)
				}
			}
			if _, err := h.Read(t.Context(), bob(), b.Task, store.AtSnapshot(), tc.limit); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("Read(%+v) by a stranger = %v, want %v", tc.limit, err, store.ErrNotFound)
			}
		}
	}
}
