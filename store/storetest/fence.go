package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"a2a-server/store"
)

func testOldFence(t *testing.T, f *fixture) {
	b := create(alice(), public("first"))
	f.append(t, b)
	refused := func(rev uint64, fences ...fence) {
		t.Helper()
		for _, n := range fences {
			f.refuse(t, chunks(b.Task, uint64(n), public("never")), store.ErrFenced)
			// The turn learns that it was cut off, not that its rev is old: a conflict would
			// make it retry.
			for rev := range rev {
				f.refuse(t, with(change(b.Task, rev+1, public("never")), n), store.ErrFenced)
			}
		}
	}
	f.append(t, with(change(b.Task, 1, public("taken")), store.Change{TakeFence: true}))
	refused(2, 0, 1, 3)
	f.append(t, chunks(b.Task, 2, public("second")))
	f.append(t, with(change(b.Task, 2, public("third")), fence(2)))
	f.append(t, with(change(b.Task, 3), fence(2), store.Change{Phase: store.Parked}))
	refused(4, 1, 2)
	f.append(t, with(change(b.Task, 4), store.Change{Phase: store.Live, TakeFence: true}))
	refused(5, 2)
	f.append(t, with(change(b.Task, 5), fence(3), store.Change{Phase: store.Final}))
	refused(6, 2, 3)
	f.checkLog(t, b.Task, numbered(public("first"), public("taken"), public("second"), public("third")))
}

// stream appends chunks without end, up to 32 of them unanswered, until it is
// stopped or refused. It calls running when some are on disk, and returns how
// many were acknowledged.
func stream(ctx context.Context, h store.Handle, id store.TaskID, running func(), stop <-chan struct{}) (acked int, err error) {
	var window []*store.Commit
	for n := 0; !stopped(stop) && err == nil; n++ {
		window = append(window, h.Append(ctx, chunks(id, 1, public("chunk %d", n))))
		if len(window) <= 32 {
			continue
		}
		if _, err = await(window[0]); err == nil {
			acked++
		}
		if window = window[1:]; acked == 64 && err == nil {
			running()
		}
	}
	for _, c := range window {
		_, e := await(c)
		switch {
		case e != nil:
			err = e
		case err != nil:
			return acked, fmt.Errorf("a chunk was committed after one that got %w", err)
		default:
			acked++
		}
	}
	return acked, err
}

// cutOff runs by next to a stream by h, which by must cut off. It returns the acknowledged
// events of the stream.
func (f *fixture) cutOff(t *testing.T, h store.Handle, id store.TaskID, by func()) (acked history) {
	t.Helper()
	running, ended := make(chan struct{}), make(chan struct{})
	halt := background(t, func(stop <-chan struct{}) error {
		defer close(ended)
		n, err := stream(t.Context(), h, id, func() { close(running) }, stop)
		for i := range n {
			acked.add(public("chunk %d", i))
		}
		if !errors.Is(err, store.ErrFenced) {
			return fmt.Errorf("stream ended with %s, want %w", said(err), store.ErrFenced)
		}
		return nil
	})
	receive(t, "stream", running)
	by()
	receive(t, "end of the stream", ended)
	halt()
	return acked
}

// withinThree reads the header and appends the batch that decide makes of it, until it lands;
// the store owes that within three tries.
func withinThree(t *testing.T, h store.Handle, id store.TaskID, decide func(rev uint64) *store.Batch) {
	t.Helper()
	var err error
	for range 3 {
		if _, err = do(t.Context(), h, decide(mustHeader(t, h, id).Rev)); !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	if err != nil {
		t.Fatalf("Append() = %v, want nil within three tries", err)
	}
}

func testCancelWins(t *testing.T, f *fixture) {
	for i, h := range f.h {
		b := create(alice())
		mustAppend(t, h, b)
		log := f.cutOff(t, h, b.Task, func() {
			withinThree(t, f.h[1-i], b.Task, func(rev uint64) *store.Batch {
				return with(change(b.Task, rev, public("canceled")), store.Change{Status: status(5, 3000), Phase: store.Final, TakeFence: true})
			})
		})
		log.add(public("canceled"))
		f.checkLog(t, b.Task, log.events)
	}
}

func testDecideWins(t *testing.T, f *fixture) {
	const decisions = 10
	for i, h := range f.h {
		b := create(alice())
		for n := range decisions {
			key := fmt.Sprint("call ", n)
			b = with(b, put("kind", key, 0, "pending"), dueAt(50, key, "deadline"))
		}
		mustAppend(t, h, b)
		running := make(chan struct{})
		halt := background(t, func(stop <-chan struct{}) error {
			_, err := stream(t.Context(), h, b.Task, func() { close(running) }, stop)
			return err
		})
		receive(t, "stream", running)
		var decided []string
		for n := range decisions {
			key := fmt.Sprint("call ", n)
			decided = append(decided, key)
			withinThree(t, f.h[1-i], b.Task, func(rev uint64) *store.Batch {
				return with(change(b.Task, rev, private("%s", key)), alice(), put("kind", key, 1, "approved"), dueGone(50, key))
			})
		}
		halt()
		if h := f.header(t, b.Task); h.Due != 0 || h.Rev != 1+decisions || h.Fence != 1 {
			t.Errorf("header = %+v, want no due rows, rev %d, fence 1", h, 1+decisions)
		}
		for _, r := range mustRows(t, h, alice(), store.RowQuery{Kind: "kind", Task: b.Task}) {
			if r.Rev != 2 || string(r.Value) != "approved" {
				t.Errorf("row = %+v, want rev 2, approved", r)
			}
		}
		same(t, decided, privateTexts(mustLog(t, h, alice(), b.Task, store.After(0), store.Limit{}).Events), "decisions in the log")
	}
}

// privateTexts is the text of the private events of a log.
func privateTexts(events []store.Event) (texts []string) {
	for _, e := range events {
		if !e.Public {
			texts = append(texts, string(e.Data))
		}
	}
	return texts
}
