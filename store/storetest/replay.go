package storetest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"a2a-server/store"
)

func replayCases() []testCase {
	return []testCase{
		{"many commits", testReplayLong},
		{"a reader that stops between pages", testStoppedReader},
	}
}

// The store keeps a commit as a single value of the log, so only commits that were waited for
// in sequence make a log of many values.
func testReplayLong(t *testing.T, f *fixture) {
	const commits = 1500
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
			for n := range uint64(20) {
				from = append(from, n, last-n)
			}
			for n := uint64(64); n < last; n *= 2 {
				from = append(from, n-1, n, n+1)
			}
			for range 50 {
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
				view := mustLog(t, h, alice(), b.Task, store.After(n), limit)
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
	tasks := []*store.Batch{create(alice(), mixed(100, "before")...), create(bob())}
	logs := make([]history, len(tasks))
	for i, b := range tasks {
		f.append(t, b)
		logs[i].add(b.Events...)
	}
	pages := make([]store.LogPage, len(f.h))
	for i, h := range f.h {
		var err error
		if pages[i], err = readPage(t.Context(), h, alice(), tasks[0].Task, store.After(0), store.Limit{Events: 10}); err != nil {
			t.Fatalf("Read() = %v, want nil", err)
		}
	}
	for n := range count {
		for i, b := range tasks {
			// Different bytes each time, without a MiB of memory for each.
			e := store.Event{Public: true, Kind: "wire", Data: noise[2*n+i : 2*n+i+size]}
			logs[i].add(e)
			f.append(t, chunks(b.Task, 1, e))
		}
	}
	for i, h := range f.h {
		checkEvents(t, "the first page", logs[0].events[:10], pages[i].Events)
		rest := mustLog(t, h, alice(), tasks[0].Task, pages[i].Next, store.Limit{Bytes: 4 << 20})
		checkEvents(t, "Read()", logs[0].after(10), rest.Events)
		checkEvents(t, "Read()", logs[1].events, mustLog(t, h, bob(), tasks[1].Task, store.After(0), store.Limit{}).Events)
	}
}
