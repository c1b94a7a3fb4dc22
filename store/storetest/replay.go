package storetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"a2a-server/store"
)

func replayCases() []testCase {
	return []testCase{
		{"ten thousand commits", testReplayLong},
		{"a reader that stops between pages", testStoppedReader},
	}
}

// What the store keeps of a commit is one value of the log, so only commits that
// were waited for one by one make a log of many.
func testReplayLong(t *testing.T, f *fixture) {
	commits := 10_000
	if testing.Short() {
		commits = 1000
	}
	b := create(alice())
	f.append(t, b)
	var log history
	for i := range commits {
		events := mixed(1+i%17/16, fmt.Sprint("value ", i))
		f.append(t, chunks(b.Task, 1, events...))
		log.add(events...)
	}
	last := uint64(len(log.events))
	random := rand.New(rand.NewPCG(9, 10))
	for range 2 {
		for i, h := range f.h {
			var from []uint64
			for n := range uint64(70) {
				from = append(from, n, last-n)
			}
			for n := uint64(64); n < last; n *= 2 {
				from = append(from, n-1, n, n+1)
			}
			for range 200 {
				from = append(from, random.Uint64N(last+1))
			}
			for k, n := range from {
				limit := store.Limit{Events: []int{1, 5, 64, 512}[(k+i)%4]}
				view, err := readPage(t.Context(), h, alice(), b.Task, store.After(n), limit)
				if err != nil {
					t.Fatalf("Read(After(%d)) = %v, want nil", n, err)
				}
				tail := log.after(n)
				checkEvents(t, fmt.Sprintf("Read(After(%d))", n), tail[:min(len(view.Events), len(tail))], view.Events)
			}
			for _, limit := range []store.Limit{{}, {Events: 100}, {Bytes: 999}} {
				n := random.Uint64N(last / 2)
				view, err := readLog(t.Context(), h, alice(), b.Task, store.After(n), limit)
				if err != nil {
					t.Fatalf("Read(After(%d)) = %v, want nil", n, err)
				}
				checkEvents(t, fmt.Sprintf("Read(After(%d))", n), log.after(n), view.Events)
			}
		}
		f.reopen(t)
	}
}

// A reader holds nothing of the store between two pages: every append returns
// while it stands still, and its first page stays what it was.
func testStoppedReader(t *testing.T, f *fixture) {
	const size, count = 1 << 20, 32
	random := rand.NewChaCha8([32]byte{11})
	noise := make([]byte, size+2*count)
	_, _ = random.Read(noise)
	same, other := create(alice(), mixed(100, "before")...), create(bob())
	f.append(t, same)
	f.append(t, other)
	var sameLog, otherLog history
	sameLog.add(same.Events...)
	page := make([]store.LogPage, len(f.h))
	for i, h := range f.h {
		var err error
		if page[i], err = readPage(t.Context(), h, alice(), same.Task, store.After(0), store.Limit{Events: 10}); err != nil {
			t.Fatalf("Read() = %v, want nil", err)
		}
	}
	for n := range count {
		// Different bytes each time, without a MiB of memory for each.
		e := store.Event{Public: true, Kind: "wire", Data: noise[2*n : 2*n+size]}
		sameLog.add(e)
		f.append(t, chunks(same.Task, 1, e))
		e.Data = noise[2*n+1 : 2*n+1+size]
		otherLog.add(e)
		f.append(t, chunks(other.Task, 1, e))
	}
	for i, h := range f.h {
		checkEvents(t, "the first page", sameLog.events[:len(page[i].Events)], page[i].Events)
		if !page[i].More {
			t.Error("the first page has no More")
		}
		seq := page[i].Events[len(page[i].Events)-1].Seq
		view, err := readLog(t.Context(), h, alice(), same.Task, store.After(seq), store.Limit{Bytes: 4 << 20})
		if err != nil {
			t.Fatalf("Read() = %v, want nil", err)
		}
		checkEvents(t, "Read()", sameLog.after(seq), view.Events)
	}
	view, err := readLog(t.Context(), f.h[0], bob(), other.Task, store.After(0), store.Limit{})
	if err != nil {
		t.Fatalf("Read() = %v, want nil", err)
	}
	checkEvents(t, "Read()", otherLog.events, view.Events)
	if bytes.Equal(sameLog.events[100].Data, otherLog.events[0].Data) {
		t.Error("both tasks got the same bytes, so that the case shows nothing")
	}
}
