package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"a2a-server/store"
)

func concurrencyCases() []testCase {
	return []testCase{
		{"many tasks", testManyTasks},
		{"one task", testOneTask},
		{"changes of one task", testConcurrentChanges},
		{"everything at once", testEverythingAtOnce},
	}
}

// Each goroutine has its own tasks, by both handles; commits are shared.
func testManyTasks(t *testing.T, f *fixture) {
	const writers, batches = 16, 40
	ids := make([]store.TaskID, writers)
	logs := make([]history, writers)
	parallel(t, writers, func(i int) error {
		b := create(owners()[i%4])
		ids[i] = b.Task
		rev := uint64(1)
		if _, err := do(t.Context(), f.h[i%2], b); err != nil {
			return err
		}
		for n := range batches {
			next := chunks(b.Task, 1, mixed(n%5, fmt.Sprint(i, " ", n))...)
			if n%4 == 3 {
				next = change(b.Task, rev, next.Events...)
				rev++
			}
			first := uint64(len(logs[i].events)) + 1
			logs[i].add(next.Events...)
			want := store.Receipt{Task: b.Task, First: first, Last: uint64(len(logs[i].events)), Pub: logs[i].pub, Fence: 1}
			if next.Rev != nil {
				want.Rev = rev
			}
			if r, err := do(t.Context(), f.h[(i+n)%2], next); err != nil || r != want {
				return fmt.Errorf("Append() = %+v, %s, want %+v", r, said(err), want)
			}
		}
		return nil
	})
	for i, id := range ids {
		f.checkLog(t, id, logs[i].events)
	}
}

// All goroutines append to the same task: receipts must be a partition of the
// log, and each batch in one piece.
func testOneTask(t *testing.T, f *fixture) {
	const writers, batches = 16, 40
	b := create(alice())
	f.append(t, b)
	receipts := make([][]store.Receipt, writers)
	parallel(t, writers, func(i int) error {
		commits := make([]*store.Commit, 0, batches)
		for n := range batches {
			commits = append(commits, f.h[i%2].Append(t.Context(), chunks(b.Task, 1, mixed(1+n%4, fmt.Sprint(i, " ", n))...)))
			if n%8 == 0 {
				if _, err := await(commits[n]); err != nil {
					return err
				}
			}
		}
		for _, c := range commits {
			r, err := await(c)
			if err != nil {
				return err
			}
			receipts[i] = append(receipts[i], r)
		}
		return nil
	})
	total := 0
	var want []store.Event
	for i, rs := range receipts {
		for n, r := range rs {
			if n > 0 && r.First <= rs[n-1].Last {
				t.Fatalf("writer %d: batch %d at %d, the one before it at %d", i, n, r.First, rs[n-1].First)
			}
			events := mixed(1+n%4, fmt.Sprint(i, " ", n))
			total += len(events)
			for k, e := range events {
				e.Seq = r.First + uint64(k)
				want = append(want, e)
			}
			if r.Last != r.First+uint64(len(events))-1 {
				t.Fatalf("Append() = %+v for %d events", r, len(events))
			}
		}
	}
	slices.SortFunc(want, func(a, b store.Event) int { return int(a.Seq) - int(b.Seq) })
	log := history{}
	log.add(want...)
	for i := range want {
		if want[i].Seq != uint64(i)+1 {
			t.Fatalf("receipts have seq %d where %d belongs", want[i].Seq, i+1)
		}
	}
	f.checkLog(t, b.Task, log.events)
	// The pub of each receipt is that of its last event, or of one before it.
	for _, r := range slices.Concat(receipts...) {
		last := r.Last
		for last > 0 && !log.events[last-1].Public {
			last--
		}
		if last > 0 && r.Pub != log.events[last-1].Pub {
			t.Fatalf("receipt %+v has pub %d, want %d", r, r.Pub, log.events[last-1].Pub)
		}
	}
	if got := f.header(t, b.Task); got.Seq != uint64(total) || got.Pub != log.pub || got.Rev != 1 {
		t.Errorf("header = %+v, want seq %d, pub %d, rev 1", got, total, log.pub)
	}
}

// Read, decide, retry by many: each change lands once and gives its own rev.
func testConcurrentChanges(t *testing.T, f *fixture) {
	const writers, changes = 8, 10
	b := create(alice())
	f.append(t, b)
	var mu sync.Mutex
	revs := map[uint64]bool{}
	parallel(t, writers, func(i int) error {
		h := f.h[i%2]
		for landed := 0; landed < changes; {
			header, err := readHeader(t.Context(), h, b.Task)
			if err != nil {
				return err
			}
			r, err := do(t.Context(), h, change(b.Task, header.Rev, public("%d %d", i, landed)))
			if errors.Is(err, store.ErrConflict) {
				continue
			}
			if err != nil || r.Rev != header.Rev+1 {
				return fmt.Errorf("Append() = %+v, %s, want rev %d", r, said(err), header.Rev+1)
			}
			landed++
			mu.Lock()
			if revs[r.Rev] {
				err = fmt.Errorf("rev %d was given twice", r.Rev)
			}
			revs[r.Rev] = true
			mu.Unlock()
			if err != nil {
				return err
			}
		}
		return nil
	})
	if got := f.header(t, b.Task); got.Rev != 1+writers*changes || got.Seq != writers*changes {
		t.Errorf("header = %+v, want rev %d, seq %d", got, 1+writers*changes, writers*changes)
	}
}

// Every method at once, for the race detector. What readers see must be
// consistent in itself.
func testEverythingAtOnce(t *testing.T, f *fixture) {
	const rounds = 30
	ids := make([]store.TaskID, 4)
	for i := range ids {
		b := create(alice(), public("first"))
		b.Rows = []store.RowChange{put("kind", "key", 0, "", indexed("index", fmt.Sprint(i)))}
		f.append(t, b)
		ids[i] = b.Task
	}
	parallel(t, 12, func(i int) error {
		ctx, h, id := t.Context(), f.h[i%2], ids[i%4]
		wake, stop := h.Watch(alice(), id)
		defer stop()
		for n := range rounds {
			header, err := readHeader(ctx, h, id)
			if err != nil {
				return err
			}
			b := change(id, header.Rev, mixed(3, "event")...)
			b.Rows = []store.RowChange{put("kind", "key", store.Any, fmt.Sprint(n), indexed("index", fmt.Sprint(i)))}
			b.Due = []store.DueChange{dueAt(store.Millis(n+1), "key", ""), dueGone(store.Millis(n), "key")}
			b.Audit = [][]byte{[]byte("entry")}
			b.Change.Status = status(2, store.Millis(2000+n))
			if _, err := do(ctx, h, b); err != nil && !errors.Is(err, store.ErrConflict) {
				return fmt.Errorf("Append() = %w, want nil or %w", err, store.ErrConflict)
			}
			if _, err := readLog(ctx, h, alice(), id, store.After(0), store.Limit{Events: 40}); err != nil {
				return err
			}
			if tasks, total, err := listAll(ctx, h, alice(), store.Query{Context: "context"}); err != nil || total != 4 || len(tasks) != 4 {
				return fmt.Errorf("Tasks() = %d tasks, total %d, %s, want 4", len(tasks), total, said(err))
			}
			if rows, err := rowsAll(ctx, h, alice(), store.RowQuery{Kind: "kind", Index: "index"}); err != nil || len(rows) != 4 {
				return fmt.Errorf("Rows() = %d rows, %s, want 4", len(rows), said(err))
			}
			if _, _, err := h.Due(ctx, endless, "", 100); err != nil {
				return err
			}
			entries, err := h.Audit(ctx, 0, 10_000)
			if err != nil {
				return err
			}
			for k, e := range entries {
				if e.N != uint64(k)+1 {
					return fmt.Errorf("audit entry %d has number %d", k, e.N)
				}
			}
			select {
			case <-wake:
			default:
			}
		}
		return nil
	})
}
