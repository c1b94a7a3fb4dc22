package storetest

import (
	"errors"
	"fmt"
	"testing"

	"a2a-server/store"
)

// createParked is a create that is bounded.
func createParked(limit uint32, contextID string) *store.Batch {
	b := createNamed(alice(), contextID)
	b.Parked = limit
	return b
}

// crowded returns a check for the error of a context with so many open tasks. It is safe in
// any goroutine.
func crowded(open int64, limit uint32) func(error) error {
	return func(err error) error {
		want := store.ParkedError{Open: open, Limit: limit}
		if full, ok := errors.AsType[*store.ParkedError](err); !ok || *full != want {
			return fmt.Errorf("Append() = %s, want %q", said(err), want.Error())
		}
		return nil
	}
}

// fullDisk checks for the error of a full disk. It is safe in any goroutine.
func fullDisk(err error) error {
	if _, ok := errors.AsType[*store.DiskError](err); !ok {
		return fmt.Errorf("Append() = %s, want a DiskError", said(err))
	}
	return nil
}

// Tasks count until they have ended, tasks of other contexts and owners do not count, and a
// create without the limit is not refused.
func testParked(t *testing.T, f *fixture) {
	const limit = 3
	refused := func(open int64) {
		t.Helper()
		for _, h := range f.h {
			b := createParked(limit, "crowded")
			_, err := do(t.Context(), h, b)
			if err := crowded(open, limit)(err); err != nil {
				t.Error(err)
			}
			f.checkGone(t, b.Task)
		}
	}
	var tasks []store.TaskID
	for range limit {
		b := createParked(limit, "crowded")
		f.append(t, b)
		tasks = append(tasks, b.Task)
	}
	f.append(t, createParked(limit, "other"))
	f.append(t, with(createParked(limit, "crowded"), bob()))
	for i, phase := range []store.Phase{store.Parked, store.Live, store.Parked} {
		refused(limit)
		f.append(t, moveTo(tasks[0], uint64(i)+1, phase))
	}
	f.append(t, createParked(0, "crowded"))
	for _, again := range []func(*testing.T){f.reopen, f.rebuild} {
		again(t)
		refused(limit + 1)
	}
	f.append(t, moveTo(tasks[0], 4, store.Final))
	refused(limit)
	f.append(t, moveTo(tasks[1], 1, store.Final))
	f.append(t, createParked(limit, "crowded"))
	refused(limit)
	f.delete(t, tasks[0])
	refused(limit)
}

func testBoundsAtOnce(t *testing.T, f *fixture) {
	const room, cost = 7, uint64(100 + store.TaskBytes)
	for round := range uint64(5) {
		contextID := fmt.Sprint("round ", round)
		f.checkRoom(t, 40, room, func(int) *store.Batch { return createParked(room, contextID) }, crowded(room, room))
		limit := store.RowBound{Bytes: 70}
		f.checkRoom(t, 30, room, func(i int) *store.Batch {
			w := f.contextWriter(t, alice(), contextID)
			w.bound = limit
			return w.batch(put("kind", fmt.Sprintf("%02d", i), 0, "12345678"))
		}, full(limit))
		if got := mustRows(t, f.next(), alice(), store.RowQuery{Kind: "kind", Context: contextID}); len(got) != room {
			t.Fatalf("Rows() = %d rows, want %d", len(got), room)
		}
		f.checkRoom(t, 40, room, func(int) *store.Batch {
			return with(createDisk(100, store.Disk{Owner: (round + 1) * room * cost}), bob())
		}, fullDisk)
	}
}

// Batches queued earlier count, in the same commit or not.
func testBoundsInOneQueue(t *testing.T, f *fixture) {
	h := f.h[0]
	queue := func(batches ...*store.Batch) (commits []*store.Commit) {
		for _, b := range batches {
			commits = append(commits, h.Append(t.Context(), b))
		}
		return commits
	}
	first := createParked(2, "queued")
	f.append(t, first)
	next := func() *store.Batch { return createParked(2, "queued") }
	checkCommits(t, queue(next(), next(), moveTo(first.Task, 1, store.Final), next(), next()), []bool{true, false, true, true, false}, crowded(2, 2))

	cost := uint64(100 + store.TaskBytes)
	bound := store.Disk{Owner: 3 * cost}
	second := with(createDisk(100, bound), bob())
	f.append(t, second)
	checkCommits(t, queue(with(createDisk(100, bound), bob()), chunks(second.Task, 1, public("a chunk")), with(createDisk(100, bound), bob()), with(createDisk(100, store.Disk{Owner: 4 * cost}), bob())),
		[]bool{true, true, false, true}, fullDisk)

	limit := store.RowBound{Bytes: 20}
	var rows []*store.Batch
	for _, c := range []store.RowChange{
		put("kind", "a", 0, "123456789"), put("kind", "b", 0, "123456789"), put("kind", "c", 0, "1"),
		remove("kind", "a", 1), put("kind", "c", 0, "123456789"), put("kind", "d", 0, ""),
	} {
		w := f.contextWriter(t, alice(), "context")
		w.bound = limit
		rows = append(rows, w.batch(c))
	}
	checkCommits(t, queue(rows...), []bool{true, true, false, true, true, false}, full(limit))
}
