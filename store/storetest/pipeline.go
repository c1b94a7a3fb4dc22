package storetest

import (
	"context"
	"errors"
	"testing"

	"a2a-server/store"
)

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
			step := with(change(b.Task, rev, private("step"), public("state")), fence(1), status(3, store.Millis(1000+rev)), put("kind", "key", rev-1, "value"))
			if n == 20 {
				step.Change.Phase = store.Parked
			}
			log.add(step.Events...)
			rev++
			last := uint64(len(log.events))
			same(t, store.Receipt{Task: b.Task, First: last - 1, Last: last, Pub: log.pub, Rev: rev, Fence: 1}, mustAppend(t, h, step), "step after %d chunks", n)
			for k, c := range streamed {
				if !c.Answered() {
					t.Fatalf("writer %d: the step is durable, and chunk %d of %d before it is not answered", i, k, n)
				}
				if r, err := c.Wait(); err != nil || r != want[k] {
					t.Fatalf("writer %d: chunk %d of %d: Append() = %+v, %v, want %+v", i, k, n, r, err, want[k])
				}
			}
			f.checkLog(t, b.Task, log.events)
		}
	}
}

// Batches queued before the fence was taken are committed, and nothing after it.
func testChunksCutOff(t *testing.T, f *fixture) {
	for i, h := range f.h {
		b := create(alice())
		mustAppend(t, h, b)
		var log history
		queue := func(fence uint64, text string) (commits []*store.Commit) {
			for n := range 10 {
				e := public("%s %d", text, n)
				if commits = append(commits, h.Append(t.Context(), chunks(b.Task, fence, e))); text != "never" {
					log.add(e)
				}
			}
			return commits
		}
		good := queue(1, "before")
		take := with(change(b.Task, 1, public("taken")), store.Change{TakeFence: true})
		log.add(take.Events...)
		good = append(good, f.h[1-i].Append(t.Context(), take))
		bad := append(queue(1, "never"), h.Append(t.Context(), with(change(b.Task, 1, public("never")), fence(1))))
		durable(t, append(good, queue(2, "next")...)...)
		for n, c := range bad {
			if _, err := await(c); !errors.Is(err, store.ErrFenced) {
				t.Errorf("writer %d: batch %d after the fence was taken: Append() = %v, want %v", i, n, err, store.ErrFenced)
			}
		}
		f.checkLog(t, b.Task, log.events)
	}
}

// Every way in which chunks can be refused, and changes that conflict; none of them
// touches the chunks before and after.
func testChunksRefused(t *testing.T, f *fixture) {
	b, parked, final, deleted := with(create(alice()), put("kind", "row", 0, "value")), createIn(store.Parked, alice()), createIn(store.Final, alice()), createIn(store.Final, alice())
	for _, b := range []*store.Batch{b, parked, final, deleted} {
		f.append(t, b)
	}
	f.delete(t, deleted.Task)
	f.append(t, change(b.Task, 1))
	before := f.header(t, b.Task)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	never := func(id store.TaskID, n uint64) *store.Batch { return chunks(id, n, public("never")) }
	step := func(rev uint64, rows ...store.RowChange) *store.Batch {
		return with(change(b.Task, rev, mixed(3, "never")...), fence(1), store.Change{Status: status(5, 2000), Phase: store.Final, Pending: new(uint32(9))},
			put("kind", "never", 0, "never", indexed("index", "never")), rows, dueAt(5, "never", "never"), "never",
			&store.Snapshot{After: 2, Rev: rev, Bytes: []byte("never")})
	}
	var log history
	for _, h := range f.h {
		var good []*store.Commit
		twoChunks := func() {
			for range 2 {
				e := public("chunk %d", len(log.events))
				log.add(e)
				good = append(good, h.Append(t.Context(), chunks(b.Task, 1, e)))
			}
		}
		for _, c := range []struct {
			name  string
			ctx   context.Context //nolint:containedctx // the case under test
			batch *store.Batch
			want  error
		}{
			{"an older fence", t.Context(), never(b.Task, 0), store.ErrFenced},
			{"a fence to come", t.Context(), never(b.Task, 2), store.ErrFenced},
			{"a parked task", t.Context(), never(parked.Task, 1), store.ErrFenced},
			{"a final task", t.Context(), never(final.Task, 1), store.ErrFenced},
			{"a deleted task", t.Context(), never(deleted.Task, 1), store.ErrNotFound},
			{"no task", t.Context(), never(store.NewTaskID(), 1), store.ErrNotFound},
			{"another owner", t.Context(), with(never(b.Task, 1), bob()), store.ErrNotFound},
			{"the scope that sees nothing", t.Context(), with(never(b.Task, 1), store.Scope{}), store.ErrNotFound},
			{"too large", t.Context(), chunks(b.Task, 1, store.Event{Data: make([]byte, store.MaxEvent+1)}), store.ErrTooLarge},
			{"of no shape", t.Context(), with(never(b.Task, 1), "never"), store.ErrInvalid},
			{"an ended context", ended, never(b.Task, 1), context.Canceled},
			{"a step of an older rev", t.Context(), step(1), store.ErrConflict},
			{"a step of a rev to come", t.Context(), step(3), store.ErrConflict},
			{"a step with another rev of a row", t.Context(), step(2, put("kind", "row", 2, "never")), store.ErrConflict},
		} {
			twoChunks()
			bad := h.Append(c.ctx, c.batch)
			twoChunks()
			if _, err := await(bad); !errors.Is(err, c.want) {
				t.Errorf("%s: Append() = %v, want %v", c.name, err, c.want)
			}
			durable(t, good...)
		}
	}
	before.Seq, before.Pub = uint64(len(log.events)), log.pub
	for _, e := range log.events {
		before.Bytes += uint64(len(e.Data))
	}
	same(t, before, f.header(t, b.Task), "header")
	f.checkLog(t, b.Task, log.events)
	f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Task: b.Task}, row(b.Task, "kind", "row", 1, "value"))
	f.checkNothing(t)
	f.append(t, with(change(b.Task, 2, public("again")), fence(1))) // read again and made again, it passes
}
