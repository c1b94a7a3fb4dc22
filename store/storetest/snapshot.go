package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"a2a-server/store"
)

func snapshotCases() []testCase {
	return []testCase{
		{"kept, late, and old", testSnapshot},
		{"with a change", testSnapshotWithChange},
		{"of another rev", testSnapshotOfAnotherRev},
		{"pipelined", testSnapshotPipelined},
		{"large", testSnapshotLarge},
	}
}

// checkSnapshot reads from the newest snapshot, in pages of every size.
func (f *fixture) checkSnapshot(t *testing.T, id store.TaskID, log *history, after uint64, snapshot string) {
	t.Helper()
	if got := f.header(t, id).Snapshot; got != after {
		t.Errorf("Header.Snapshot = %d, want %d", got, after)
	}
	for _, h := range f.h {
		for _, limit := range []store.Limit{{}, {Events: 1}, {Events: 3}} {
			view, err := readLog(t.Context(), h, alice(), id, store.AtSnapshot(), limit)
			if err != nil {
				t.Fatalf("Read(AtSnapshot) = %v, want nil", err)
			}
			if string(view.Snapshot) != snapshot {
				t.Errorf("Read(AtSnapshot).Snapshot = %.80q, want %.80q", view.Snapshot, snapshot)
			}
			checkEvents(t, "Read(AtSnapshot)", log.after(after), view.Events)
		}
		view, err := readLog(t.Context(), h, alice(), id, store.After(0), store.Limit{})
		if err != nil {
			t.Fatalf("Read() = %v, want nil", err)
		}
		checkEvents(t, "Read()", log.events, view.Events)
	}
}

func testSnapshot(t *testing.T, f *fixture) {
	for i := range f.h {
		w := func(b *store.Batch) {
			t.Helper()
			f.writer = i
			f.append(t, b)
		}
		b := create(alice(), mixed(5, "first")...)
		w(b)
		var log history
		log.add(b.Events...)
		f.checkSnapshot(t, b.Task, &log, 0, "")
		for _, step := range []struct {
			name   string
			after  uint64
			events int
			want   uint64
		}{
			{"at the last seq", 5, 3, 5},
			{"events came between", 5, 2, 5},
			{"ahead of the log", 11, 1, 5},
			{"again at the last seq", 11, 0, 11},
			{"none were since the last one", 11, 2, 11},
			{"far back", 1, 1, 11},
			{"nothing folded", 0, 0, 11},
			{"at the end", 14, 4, 14},
		} {
			c := chunks(b.Task, 1, mixed(step.events, step.name)...)
			c.Snapshot = &store.Snapshot{After: step.after, Rev: 1, Bytes: fmt.Append(nil, step.name)}
			w(c)
			log.add(c.Events...)
			want := map[uint64]string{5: "at the last seq", 11: "again at the last seq", 14: "at the end"}[step.want]
			f.checkSnapshot(t, b.Task, &log, step.want, want)
		}
		f.reopen(t)
		f.checkSnapshot(t, b.Task, &log, 14, "at the end")
	}
	// A new task has nothing to fold.
	b := create(alice())
	f.append(t, b)
	c := chunks(b.Task, 1)
	c.Snapshot = &store.Snapshot{Rev: 1, Bytes: []byte("empty")}
	f.append(t, c)
	f.checkSnapshot(t, b.Task, &history{}, 0, "")
}

func testSnapshotWithChange(t *testing.T, f *fixture) {
	b := create(alice(), mixed(5, "first")...)
	f.append(t, b)
	var log history
	log.add(b.Events...)
	park := change(b.Task, 1, mixed(2, "parked")...)
	park.Fence = new(uint64(1))
	park.Change = store.Change{Status: status(6, 1001), Phase: store.Parked}
	park.Snapshot = &store.Snapshot{After: 5, Rev: 1, Bytes: []byte("parked")}
	f.append(t, park)
	log.add(park.Events...)
	f.checkSnapshot(t, b.Task, &log, 5, "parked")
	// The batch with a snapshot that is too late is committed all the same.
	late := change(b.Task, 2, private("late"))
	late.Snapshot = &store.Snapshot{After: 6, Rev: 2, Bytes: []byte("late")}
	late.Rows = []store.RowChange{put("kind", "key", 0, "value")}
	if r := f.append(t, late); r.Rev != 3 {
		t.Errorf("Append() = %+v, want rev 3", r)
	}
	log.add(late.Events...)
	f.checkSnapshot(t, b.Task, &log, 5, "parked")
	f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Task: b.Task}, row(b.Task, "kind", "key", 1, "value"))
	// A refused batch leaves no snapshot behind.
	stale := change(b.Task, 1)
	stale.Snapshot = &store.Snapshot{After: 8, Rev: 1, Bytes: []byte("stale")}
	f.refuse(t, stale, store.ErrConflict)
	f.checkSnapshot(t, b.Task, &log, 5, "parked")
}

// Of two writers whose batches have as many events one is refused. A fold that
// holds what was refused has the task's last seq all the same, and is not kept.
func testSnapshotOfAnotherRev(t *testing.T, f *fixture) {
	for i, h := range f.h {
		b := create(alice(), mixed(3, "first")...)
		mustAppend(t, h, b)
		var log history
		log.add(b.Events...)
		snapshot := func(c *store.Batch, rev uint64, text string) *store.Batch {
			c.Snapshot = &store.Snapshot{After: uint64(len(log.events)), Rev: rev, Bytes: []byte(text)}
			return c
		}
		commit := func(c *store.Batch) store.Receipt {
			t.Helper()
			log.add(c.Events...)
			return mustAppend(t, h, c)
		}
		// Both are computed from rev 1.
		decision, step := change(b.Task, 1, mixed(4, "decided")...), change(b.Task, 1, mixed(4, "never")...)
		decision.Scope, step.Fence = alice(), new(uint64(1))
		mustAppend(t, f.h[1-i], decision)
		log.add(decision.Events...)
		if _, err := do(t.Context(), h, step); !errors.Is(err, store.ErrConflict) {
			t.Fatalf("Append() = %v, want %v", err, store.ErrConflict)
		}
		commit(snapshot(chunks(b.Task, 1, public("chunk")), 1, "holds what was refused"))
		f.checkSnapshot(t, b.Task, &log, 0, "")
		late := snapshot(change(b.Task, 2, public("change")), 1, "holds what was refused")
		late.Rows = []store.RowChange{put("kind", "key", 0, "value")}
		if r := commit(late); r.Rev != 3 {
			t.Errorf("Append() = %+v, want rev 3", r)
		}
		f.checkSnapshot(t, b.Task, &log, 0, "")
		f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Task: b.Task}, row(b.Task, "kind", "key", 1, "value"))
		for _, rev := range []uint64{0, 2, 4} {
			commit(snapshot(chunks(b.Task, 1, public("chunk")), rev, "of another rev"))
			f.checkSnapshot(t, b.Task, &log, 0, "")
		}
		// Chunks do not change the rev.
		commit(snapshot(chunks(b.Task, 1, public("chunk")), 3, "of this rev"))
		f.checkSnapshot(t, b.Task, &log, 12, "of this rev")
		// A change without events does.
		commit(change(b.Task, 3))
		commit(snapshot(chunks(b.Task, 1, public("chunk")), 3, "of the rev before"))
		f.checkSnapshot(t, b.Task, &log, 12, "of this rev")
		// The rev is the one before the batch, not the one that the batch gives.
		commit(snapshot(change(b.Task, 4), 5, "of the rev to come"))
		f.checkSnapshot(t, b.Task, &log, 12, "of this rev")
		commit(snapshot(change(b.Task, 5, public("change")), 5, "with the change"))
		f.checkSnapshot(t, b.Task, &log, 14, "with the change")
	}
}

// Batches that share a commit each bring a snapshot: some fit, some come late.
func testSnapshotPipelined(t *testing.T, f *fixture) {
	for _, h := range f.h {
		b := create(alice(), public("0"))
		var log history
		log.add(b.Events...)
		mustAppend(t, h, b)
		var commits []*store.Commit
		for n := uint64(1); n <= 30; n++ {
			c := chunks(b.Task, 1, public("%d", n))
			c.Snapshot = &store.Snapshot{After: n, Rev: 1, Bytes: fmt.Append(nil, "fold ", n)}
			if n%3 != 0 {
				c.Snapshot.After--
			}
			commits = append(commits, h.Append(t.Context(), c))
			log.add(c.Events...)
		}
		for _, c := range commits {
			if _, err := await(c); err != nil {
				t.Fatalf("Append() = %v, want nil", err)
			}
		}
		f.checkSnapshot(t, b.Task, &log, 30, "fold 30")
	}
}

func testSnapshotLarge(t *testing.T, f *fixture) {
	b := create(alice(), public("first"))
	f.append(t, b)
	var log history
	log.add(b.Events...)
	for i := range 3 {
		snapshot := bytes.Repeat([]byte{byte('a' + i)}, 5<<20)
		c := chunks(b.Task, 1, public("%d", i))
		c.Snapshot = &store.Snapshot{After: uint64(len(log.events)), Rev: 1, Bytes: snapshot}
		f.append(t, c)
		log.add(c.Events...)
		f.checkSnapshot(t, b.Task, &log, uint64(i)+1, string(snapshot))
	}
}
