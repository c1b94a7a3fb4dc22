package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"a2a-server/store"
)

func pipelineCases() []testCase {
	return []testCase{
		{"a chain queued without waiting", testChain},
		{"all on top of a failed batch fail alike", testChainOnFailure},
		{"a chain that breaks in the middle", testChainBreaks},
		{"on top of what was answered long ago", testAfterAnswered},
		{"on top of chunks", testAfterChunks},
		{"batches of one task keep their order", testQueueOrder},
	}
}

const chainLength = 20

func testChain(t *testing.T, f *fixture) {
	for i, h := range f.h {
		b := create(alice(), public("0"))
		log := history{}
		log.add(b.Events...)
		commits := []*store.Commit{h.Append(t.Context(), b)}
		for n := 1; n < chainLength; n++ {
			next := onTop(commits[n-1], b.Task, public("%d", n), private("%d", n))
			switch n {
			case 1:
				// A 0 behind Rev is no create when After is set.
				next.Rev = new(uint64(0))
			case 5:
				next.Change.TakeFence = true
			case 9:
				next.Fence = new(uint64(2))
			}
			log.add(next.Events...)
			commits = append(commits, h.Append(t.Context(), next))
		}
		for n, c := range commits {
			r, err := await(c)
			if err != nil || r.Rev != uint64(n)+1 {
				t.Fatalf("writer %d: batch %d: Append() = %+v, %v, want rev %d", i, n, r, err, n+1)
			}
		}
		f.checkLog(t, b.Task, log.events)
		if got := f.header(t, b.Task); got.Rev != chainLength || got.Fence != 2 {
			t.Errorf("header = %+v, want rev %d, fence 2", got, chainLength)
		}
	}
}

func testChainOnFailure(t *testing.T, f *fixture) {
	first := create(alice())
	first.Dedup = newHash()
	f.append(t, first)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context //nolint:containedctx // the case under test
		head func(id store.TaskID) *store.Batch
		want error
	}{
		{"conflict", t.Context(), func(id store.TaskID) *store.Batch { return change(id, 8, public("never")) }, store.ErrConflict},
		{"row conflict", t.Context(), func(id store.TaskID) *store.Batch {
			b := change(id, 1, public("never"))
			b.Rows = []store.RowChange{put("kind", "good", 0, ""), put("kind", "bad", 3, "")}
			return b
		}, store.ErrConflict},
		{"fenced", t.Context(), func(id store.TaskID) *store.Batch {
			b := change(id, 1, public("never"))
			b.Fence = new(uint64(9))
			return b
		}, store.ErrFenced},
		{"foreign", t.Context(), func(id store.TaskID) *store.Batch {
			b := change(id, 1, public("never"))
			b.Scope = bob()
			return b
		}, store.ErrNotFound},
		{"too large", t.Context(), func(id store.TaskID) *store.Batch {
			b := change(id, 1, public("never"))
			b.Audit = [][]byte{make([]byte, store.MaxRow+1)}
			return b
		}, store.ErrTooLarge},
		{"invalid", t.Context(), func(id store.TaskID) *store.Batch {
			b := change(id, 1, public("never"))
			b.Dedup = newHash()
			return b
		}, store.ErrInvalid},
		{"fenced chunks", t.Context(), func(id store.TaskID) *store.Batch { return chunks(id, 9, public("never")) }, store.ErrFenced},
		{"ended context", ended, func(id store.TaskID) *store.Batch { return change(id, 1, public("never")) }, context.Canceled},
	} {
		for i, h := range f.h {
			base := create(alice(), public("first"))
			f.append(t, base)
			before := f.header(t, base.Task)
			commits := []*store.Commit{h.Append(c.ctx, c.head(base.Task))}
			for n := 1; n <= chainLength; n++ {
				var next *store.Batch
				if n%4 == 0 {
					next = chunks(base.Task, 1, public("never"))
					next.After = commits[n-1]
				} else {
					// The rev is the right one, so that only After refuses it.
					next = onTop(commits[n-1], base.Task, public("never"))
					next.Rev = new(uint64(1))
				}
				commits = append(commits, h.Append(t.Context(), next))
			}
			for n, commit := range commits {
				if _, err := await(commit); !errors.Is(err, c.want) {
					t.Errorf("%s: writer %d: batch %d: Append() = %v, want %v", c.name, i, n, err, c.want)
				}
			}
			if d := diff(before, f.header(t, base.Task)); d != "" {
				t.Errorf("%s: header after refused batches (-want +got)\n%s", c.name, d)
			}
			f.checkLog(t, base.Task, numbered(base.Events...))
			f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Task: base.Task})
		}
	}
	for _, h := range f.h {
		again := create(alice())
		again.Dedup = first.Dedup
		commit := h.Append(t.Context(), again)
		for range chainLength {
			commit = h.Append(t.Context(), onTop(commit, again.Task, public("never")))
		}
		_, err := await(commit)
		if dup, ok := errors.AsType[*store.DuplicateError](err); !ok || dup.Task != first.Task {
			t.Errorf("on top of a duplicate: Append() = %v, want the duplicate of %s", err, first.Task)
		}
		f.checkGone(t, again.Task)
	}
}

func testChainBreaks(t *testing.T, f *fixture) {
	for _, h := range f.h {
		b := create(alice(), public("0"))
		commits := []*store.Commit{h.Append(t.Context(), b)}
		log := history{}
		log.add(b.Events...)
		for n := 1; n < chainLength; n++ {
			next := onTop(commits[n-1], b.Task, public("%d", n))
			next.Rows = []store.RowChange{put("kind", fmt.Sprintf("%02d", n), 0, "")}
			if n == chainLength/2 {
				next.Rows = append(next.Rows, put("kind", "01", 0, "twice"))
			}
			if n < chainLength/2 {
				log.add(next.Events...)
			}
			commits = append(commits, h.Append(t.Context(), next))
		}
		// Nothing depends on the failed one here, so it goes on from before it.
		beside := chunks(b.Task, 1, public("beside"))
		log.add(beside.Events...)
		last := h.Append(t.Context(), beside)
		for n, c := range commits {
			want := error(nil)
			if n >= chainLength/2 {
				want = store.ErrConflict
			}
			if _, err := await(c); !errors.Is(err, want) {
				t.Errorf("batch %d: Append() = %v, want %v", n, err, want)
			}
		}
		if _, err := await(last); err != nil {
			t.Errorf("Append() = %v, want nil", err)
		}
		f.checkLog(t, b.Task, log.events)
		if got := mustRows(t, h, alice(), store.RowQuery{Kind: "kind", Task: b.Task}); len(got) != chainLength/2-1 {
			t.Errorf("%d rows, want %d", len(got), chainLength/2-1)
		}
	}
}

func testAfterAnswered(t *testing.T, f *fixture) {
	for _, h := range f.h {
		b := create(alice())
		created := h.Append(t.Context(), b)
		if _, err := await(created); err != nil {
			t.Fatalf("Append() = %v, want nil", err)
		}
		for range 50 {
			mustAppend(t, h, create(bob()))
			mustAppend(t, h, chunks(b.Task, 1, public("chunk")))
		}
		// Chunks give no rev, so the rev of the create still holds.
		if r, err := do(t.Context(), h, onTop(created, b.Task)); err != nil || r.Rev != 2 {
			t.Errorf("Append() = %+v, %v, want rev 2", r, err)
		}
		if _, err := do(t.Context(), h, onTop(created, b.Task)); !errors.Is(err, store.ErrConflict) {
			t.Errorf("on top of an overtaken batch: Append() = %v, want %v", err, store.ErrConflict)
		}
		failed := h.Append(t.Context(), change(b.Task, 7))
		if _, err := await(failed); !errors.Is(err, store.ErrConflict) {
			t.Fatalf("Append() = %v, want %v", err, store.ErrConflict)
		}
		for range 50 {
			mustAppend(t, h, create(bob()))
		}
		late := onTop(failed, b.Task, public("never"))
		late.Rev = new(uint64(2))
		if _, err := do(t.Context(), h, late); !errors.Is(err, store.ErrConflict) {
			t.Errorf("on top of a failed batch: Append() = %v, want %v", err, store.ErrConflict)
		}
		lateChunks := chunks(b.Task, 1, public("never"))
		lateChunks.After = failed
		if _, err := do(t.Context(), h, lateChunks); !errors.Is(err, store.ErrConflict) {
			t.Errorf("chunks on top of a failed batch: Append() = %v, want %v", err, store.ErrConflict)
		}
		if got := f.header(t, b.Task); got.Rev != 2 || got.Seq != 50 {
			t.Errorf("header = %+v, want rev 2, seq 50", got)
		}
	}
}

func testAfterChunks(t *testing.T, f *fixture) {
	for _, h := range f.h {
		b := create(alice())
		created := h.Append(t.Context(), b)
		one := chunks(b.Task, 1, public("one"))
		one.After = created
		first := h.Append(t.Context(), one)
		two := chunks(b.Task, 1, public("two"))
		two.After = first
		second := h.Append(t.Context(), two)
		bad := h.Append(t.Context(), onTop(second, b.Task, public("never")))
		for n, c := range []*store.Commit{created, first, second} {
			if _, err := await(c); err != nil {
				t.Errorf("batch %d: Append() = %v, want nil", n, err)
			}
		}
		if _, err := await(bad); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("a rev taken from chunks: Append() = %v, want %v", err, store.ErrInvalid)
		}
		if _, err := do(t.Context(), h, onTop(first, b.Task, public("never"))); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("a rev taken from answered chunks: Append() = %v, want %v", err, store.ErrInvalid)
		}
		f.checkLog(t, b.Task, numbered(public("one"), public("two")))
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
