package storetest

import (
	"context"
	"errors"
	"testing"

	"a2a-server/store"
)

func pipelineCases() []testCase {
	return []testCase{
		{"chunks, chunks, step", testChunksThenStep},
		{"chunks of a turn that is cut off", testChunksCutOff},
		{"chunks around a change that conflicts", testChunksAroundConflict},
		{"what refuses chunks", testChunksRefused},
		{"batches of one task keep their order", testQueueOrder},
	}
}

// A turn queues what it streams and then the step that ends it, and waits for the
// step alone.
func testChunksThenStep(t *testing.T, f *fixture) {
	for i, h := range f.h {
		b := create(alice(), public("first"))
		mustAppend(t, h, b)
		var log history
		log.add(b.Events...)
		rev := uint64(1)
		for _, n := range []int{2, 0, 1, 20} {
			var streamed []*store.Commit
			var want []store.Receipt
			for k := range n {
				c := chunks(b.Task, 1, mixed(1+k%3, "chunk")...)
				first := uint64(len(log.events)) + 1
				log.add(c.Events...)
				want = append(want, store.Receipt{Task: b.Task, First: first, Last: uint64(len(log.events)), Pub: log.pub, Fence: 1})
				streamed = append(streamed, h.Append(t.Context(), c))
			}
			step := change(b.Task, rev, private("step"), public("state"))
			step.Fence = new(uint64(1))
			step.Change.Status = status(3, store.Millis(1000+rev))
			step.Rows = []store.RowChange{put("kind", "key", rev-1, "value")}
			if n == 20 {
				step.Change.Phase = store.Parked
			}
			log.add(step.Events...)
			rev++
			r, err := do(t.Context(), h, step)
			wantStep := store.Receipt{Task: b.Task, First: uint64(len(log.events)) - 1, Last: uint64(len(log.events)), Pub: log.pub, Rev: rev, Fence: 1}
			if err != nil || r != wantStep {
				t.Fatalf("writer %d: step after %d chunks: Append() = %+v, %v, want %+v", i, n, r, err, wantStep)
			}
			for k, c := range streamed {
				if !c.Answered() {
					t.Fatalf("writer %d: the step is durable, and chunk %d of %d before it is not answered", i, k, n)
				}
				if r, err := c.Wait(); err != nil || r != want[k] {
					t.Fatalf("writer %d: chunk %d of %d: Append() = %+v, %v, want %+v", i, k, n, r, err, want[k])
				}
			}
			f.checkLog(t, b.Task, log.events)
			if got := f.header(t, b.Task); got.Rev != rev || got.Fence != 1 {
				t.Fatalf("writer %d: header = %+v, want rev %d, fence 1", i, got, rev)
			}
		}
	}
}

// What was queued before the fence was taken is committed, and nothing after it.
func testChunksCutOff(t *testing.T, f *fixture) {
	for i, h := range f.h {
		b := create(alice())
		mustAppend(t, h, b)
		var log history
		var before, after []*store.Commit
		stream := func(to []*store.Commit, fence uint64, text string) []*store.Commit {
			for n := range 10 {
				to = append(to, h.Append(t.Context(), chunks(b.Task, fence, public("%s %d", text, n))))
			}
			return to
		}
		before = stream(before, 1, "before")
		take := change(b.Task, 1, public("taken"))
		take.Change.TakeFence = true
		taken := f.h[1-i].Append(t.Context(), take)
		after = stream(after, 1, "never")
		// The turn learns that it was cut off, not that its rev is old.
		step := change(b.Task, 1, public("never"))
		step.Fence = new(uint64(1))
		after = append(after, h.Append(t.Context(), step))
		next := stream(nil, 2, "next")

		for n, c := range before {
			log.add(public("before %d", n))
			if _, err := await(c); err != nil {
				t.Errorf("writer %d: chunk %d before the fence was taken: Append() = %v, want nil", i, n, err)
			}
		}
		log.add(take.Events...)
		if r, err := await(taken); err != nil || r.Rev != 2 || r.Fence != 2 {
			t.Errorf("writer %d: Append() = %+v, %v, want rev 2, fence 2", i, r, err)
		}
		for n, c := range after {
			if _, err := await(c); !errors.Is(err, store.ErrFenced) {
				t.Errorf("writer %d: batch %d after the fence was taken: Append() = %v, want %v", i, n, err, store.ErrFenced)
			}
		}
		for n, c := range next {
			log.add(public("next %d", n))
			if _, err := await(c); err != nil {
				t.Errorf("writer %d: chunk %d of the next turn: Append() = %v, want nil", i, n, err)
			}
		}
		f.checkLog(t, b.Task, log.events)
	}
}

func testChunksAroundConflict(t *testing.T, f *fixture) {
	for i, h := range f.h {
		b := create(alice())
		b.Rows = []store.RowChange{put("kind", "row", 0, "value")}
		mustAppend(t, h, b)
		old, rows := change(b.Task, 2), change(b.Task, 1)
		rows.Rows = []store.RowChange{put("kind", "row", 2, "never")}
		// Queued one after the other: only the one that moves rev passes.
		moves := change(b.Task, 1, private("moves"))
		moves.Scope = alice()
		late := change(b.Task, 1)
		var log history
		var streamed []*store.Commit
		chunk := func() {
			e := public("chunk %d", len(streamed))
			log.add(e)
			streamed = append(streamed, h.Append(t.Context(), chunks(b.Task, 1, e)))
		}
		refused := map[string]*store.Commit{}
		for _, c := range []struct {
			name  string
			batch *store.Batch
		}{{"another rev", old}, {"another rev of a row", rows}, {"overtaken", late}} {
			bad := c.batch
			bad.Fence = new(uint64(1))
			bad.Events = mixed(3, "never")
			bad.Change = store.Change{Status: status(5, 2000), Phase: store.Final, Pending: new(uint32(9))}
			bad.Rows = append(bad.Rows, put("kind", "never", 0, "never", indexed("index", "never")))
			bad.Due = []store.DueChange{dueAt(5, "never", "never")}
			bad.Audit = [][]byte{[]byte("never")}
			rev := uint64(1)
			if bad == late {
				rev = 2
				chunk()
				log.add(moves.Events...)
				if r, err := do(t.Context(), f.h[1-i], moves); err != nil || r.Rev != 2 {
					t.Fatalf("writer %d: Append() = %+v, %v, want rev 2", i, r, err)
				}
			}
			chunk()
			chunk()
			bad.Snapshot = &store.Snapshot{After: uint64(len(log.events)), Rev: rev, Bytes: []byte("never")}
			refused[c.name] = h.Append(t.Context(), bad)
			chunk()
			chunk()
		}
		for name, c := range refused {
			if _, err := await(c); !errors.Is(err, store.ErrConflict) {
				t.Errorf("writer %d: %s: Append() = %v, want %v", i, name, err, store.ErrConflict)
			}
		}
		for n, c := range streamed {
			if _, err := await(c); err != nil {
				t.Errorf("writer %d: chunk %d: Append() = %v, want nil", i, n, err)
			}
		}
		f.checkSnapshot(t, b.Task, &log, 0, "")
		want := store.Header{
			Task: b.Task, Owner: alice(), Context: "context", State: 2, StatusTime: 1000, Phase: store.Live,
			Seq: uint64(len(log.events)), Pub: log.pub, Rev: 2, Fence: 1,
		}
		got := f.header(t, b.Task)
		got.Epoch, got.Bytes = 0, 0
		if d := diff(want, got); d != "" {
			t.Errorf("writer %d: header (-want +got)\n%s", i, d)
		}
		f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Task: b.Task}, row(b.Task, "kind", "row", 1, "value"))
		// Read again and made again, it passes.
		again := change(b.Task, 2, public("again"))
		again.Fence = new(uint64(1))
		mustAppend(t, h, again)
		log.add(again.Events...)
		f.checkLog(t, b.Task, log.events)
	}
	if got := allDue(t, f.h[0]); len(got) > 0 {
		t.Errorf("Due() = %v, want nothing", got)
	}
	if got := mustAudit(t, f.h[0], 0, 10); len(got) > 0 {
		t.Errorf("Audit() = %v, want nothing", got)
	}
}

// Every way in which chunks can be refused, and none of them touches the chunks
// before and after.
func testChunksRefused(t *testing.T, f *fixture) {
	b, parked, final, deleted := create(alice()), createIn(store.Parked, alice()), createIn(store.Final, alice()), createIn(store.Final, alice())
	for _, b := range []*store.Batch{b, parked, final, deleted} {
		f.append(t, b)
	}
	if err := f.h[0].Delete(t.Context(), alice(), deleted.Task, nil); err != nil {
		t.Fatalf("Delete() = %v, want nil", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	altered := func(alter func(b *store.Batch)) *store.Batch {
		c := chunks(b.Task, 1, public("never"))
		alter(c)
		return c
	}
	var log history
	for _, h := range f.h {
		chunk := func() *store.Commit {
			e := public("chunk %d", len(log.events))
			log.add(e)
			return h.Append(t.Context(), chunks(b.Task, 1, e))
		}
		for _, c := range []struct {
			name  string
			ctx   context.Context //nolint:containedctx // the case under test
			batch *store.Batch
			want  error
		}{
			{"an older fence", t.Context(), chunks(b.Task, 0, public("never")), store.ErrFenced},
			{"a fence to come", t.Context(), chunks(b.Task, 2, public("never")), store.ErrFenced},
			{"a parked task", t.Context(), chunks(parked.Task, 1, public("never")), store.ErrFenced},
			{"a final task", t.Context(), chunks(final.Task, 1, public("never")), store.ErrFenced},
			{"a deleted task", t.Context(), chunks(deleted.Task, 1, public("never")), store.ErrNotFound},
			{"no task", t.Context(), chunks(store.NewTaskID(), 1, public("never")), store.ErrNotFound},
			{"another owner", t.Context(), altered(func(b *store.Batch) { b.Scope = bob() }), store.ErrNotFound},
			{"the scope that sees nothing", t.Context(), altered(func(b *store.Batch) { b.Scope = store.Scope{} }), store.ErrNotFound},
			{"too large", t.Context(), altered(func(b *store.Batch) { b.Events[0].Data = make([]byte, store.MaxEvent+1) }), store.ErrTooLarge},
			{"of no shape", t.Context(), altered(func(b *store.Batch) { b.Audit = [][]byte{[]byte("never")} }), store.ErrInvalid},
			{"an ended context", ended, altered(func(*store.Batch) {}), context.Canceled},
		} {
			good := []*store.Commit{chunk(), chunk()}
			bad := h.Append(c.ctx, c.batch)
			good = append(good, chunk(), chunk())
			if _, err := await(bad); !errors.Is(err, c.want) {
				t.Errorf("%s: Append() = %v, want %v", c.name, err, c.want)
			}
			for n, c2 := range good {
				if _, err := await(c2); err != nil {
					t.Errorf("%s: chunk %d around it: Append() = %v, want nil", c.name, n, err)
				}
			}
		}
	}
	f.checkLog(t, b.Task, log.events)
	if got := f.header(t, b.Task).Rev; got != 1 {
		t.Errorf("Header.Rev = %d, want 1", got)
	}
}

// One goroutine queues by both handles in turn.
func testQueueOrder(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	var log history
	var commits []*store.Commit
	for n := range 500 {
		e := public("%d", n)
		log.add(e)
		commits = append(commits, f.h[n%2].Append(t.Context(), chunks(b.Task, 1, e)))
	}
	for n, c := range commits {
		r, err := await(c)
		if err != nil || r.First != uint64(n)+1 || r.Last != uint64(n)+1 || r.Pub != uint64(n)+1 {
			t.Fatalf("batch %d: Append() = %+v, %v, want seq and pub %d", n, r, err, n+1)
		}
	}
	f.checkLog(t, b.Task, log.events)
}
