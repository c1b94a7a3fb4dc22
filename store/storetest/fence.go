package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"a2a-server/store"
)

func fenceCases() []testCase {
	return []testCase{
		{"an old or future fence is refused", testOldFence},
		{"a task at rest is fenced", testRestIsFenced},
		{"a final task", testFinal},
		{"chunks never conflict", testChunksNeverConflict},
		{"cancel wins against a stream", testCancelWins},
		{"decide wins against a stream", testDecideWins},
	}
}

func testOldFence(t *testing.T, f *fixture) {
	b := create(alice(), public("first"))
	f.append(t, b)
	take := change(b.Task, 1, public("taken"))
	take.Change.TakeFence = true
	if r := f.append(t, take); r.Fence != 2 || r.Rev != 2 {
		t.Fatalf("Append() = %+v, want fence 2, rev 2", r)
	}
	for _, fence := range []uint64{0, 1, 3} {
		f.refuse(t, chunks(b.Task, fence, public("never")), store.ErrFenced)
		turn := change(b.Task, 2, public("never"))
		turn.Fence = new(fence)
		f.refuse(t, turn, store.ErrFenced)
	}
	// A turn that was cut off learns that, not that its rev is old: a conflict
	// would make it retry.
	turn := change(b.Task, 1, public("never"))
	turn.Fence = new(uint64(1))
	f.refuse(t, turn, store.ErrFenced)
	f.append(t, chunks(b.Task, 2, public("second")))
	good := change(b.Task, 2, public("third"))
	good.Fence = new(uint64(2))
	f.append(t, good)
	f.checkLog(t, b.Task, numbered(public("first"), public("taken"), public("second"), public("third")))
}

func testRestIsFenced(t *testing.T, f *fixture) {
	for _, phase := range []store.Phase{store.Parked, store.Final} {
		b := create(alice())
		f.append(t, b)
		rest := change(b.Task, 1)
		rest.Fence = new(uint64(1))
		rest.Change = store.Change{Status: status(6, 1001), Phase: phase}
		f.append(t, rest)
		f.refuse(t, chunks(b.Task, 1, public("never")), store.ErrFenced)
		turn := change(b.Task, 2, public("never"))
		turn.Fence = new(uint64(1))
		f.refuse(t, turn, store.ErrFenced)
		f.checkLog(t, b.Task, nil)
		if phase == store.Final {
			continue
		}
		// A task that was parked and runs again with the same fence is not what a
		// turn of now looks like; the next one has taken the fence.
		wake := change(b.Task, 2)
		wake.Change = store.Change{Phase: store.Live, TakeFence: true}
		f.append(t, wake)
		f.refuse(t, chunks(b.Task, 1, public("never")), store.ErrFenced)
		f.append(t, chunks(b.Task, 2, public("turn")))
		f.checkLog(t, b.Task, numbered(public("turn")))
	}
}

func testFinal(t *testing.T, f *fixture) {
	b := createIn(store.Final, alice(), public("end"))
	f.append(t, b)
	before := f.header(t, b.Task)
	for name, c := range map[string]store.Change{
		"status": {Status: status(3, 2000)},
		"live":   {Phase: store.Live},
		"parked": {Phase: store.Parked},
		"final":  {Phase: store.Final},
		"fence":  {TakeFence: true},
	} {
		bad := change(b.Task, 1, private("never"))
		bad.Change = c
		for _, h := range f.h {
			if _, err := do(t.Context(), h, bad); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%s: Append() = %v, want %v", name, err, store.ErrInvalid)
			}
		}
	}
	if d := diff(before, f.header(t, b.Task)); d != "" {
		t.Errorf("header of a final task (-want +got)\n%s", d)
	}
	late := change(b.Task, 1, private("late"))
	late.Rows = []store.RowChange{put("kind", "key", 0, "value")}
	late.Audit = [][]byte{[]byte("late")}
	f.append(t, late)
	f.checkLog(t, b.Task, numbered(public("end"), private("late")))
}

// Changes from one handle move rev under the chunks of the other.
func testChunksNeverConflict(t *testing.T, f *fixture) {
	for i, h := range f.h {
		b := create(alice())
		mustAppend(t, h, b)
		other := f.h[1-i]
		halt := background(t, func(stop <-chan struct{}) error {
			for rev := uint64(1); !stopped(stop); rev++ {
				if _, err := do(t.Context(), other, change(b.Task, rev)); err != nil {
					return fmt.Errorf("Append(change) = %w, want nil", err)
				}
			}
			return nil
		})
		var log history
		for n := range 200 {
			e := public("chunk %d", n)
			mustAppend(t, h, chunks(b.Task, 1, e))
			log.add(e)
		}
		halt()
		f.checkLog(t, b.Task, log.events)
	}
}

// stream appends chunks without end, up to 32 of them unanswered, until it is
// stopped or refused. It closes running when some are on disk, and returns how
// many were acknowledged.
func stream(ctx context.Context, h store.Handle, id store.TaskID, running chan<- struct{}, stop <-chan struct{}) (acked int, err error) {
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
			close(running)
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

// withinThree runs decide, which reads and appends, until it lands; the store
// owes that within three tries.
func withinThree(t *testing.T, what string, decide func() error) {
	t.Helper()
	var err error
	for range 3 {
		if err = decide(); err == nil {
			return
		}
		if !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	t.Fatalf("%s: Append() = %v, want nil within three tries", what, err)
}

func testCancelWins(t *testing.T, f *fixture) {
	for i, h := range f.h {
		other := f.h[1-i]
		b := create(alice())
		mustAppend(t, h, b)
		running, ended := make(chan struct{}), make(chan struct{})
		acked := 0
		halt := background(t, func(stop <-chan struct{}) error {
			defer close(ended)
			n, err := stream(t.Context(), h, b.Task, running, stop)
			if acked = n; !errors.Is(err, store.ErrFenced) {
				return fmt.Errorf("stream ended with %s, want %w", said(err), store.ErrFenced)
			}
			return nil
		})
		receive(t, "stream", running)
		withinThree(t, "cancel", func() error {
			header, err := readHeader(t.Context(), other, b.Task)
			if err != nil {
				return err
			}
			cancel := change(b.Task, header.Rev, public("canceled"))
			cancel.Change = store.Change{Status: status(5, 3000), Phase: store.Final, TakeFence: true}
			_, err = do(t.Context(), other, cancel)
			return err
		})
		receive(t, "end of the stream", ended)
		halt()
		var log history
		for n := range acked {
			log.add(public("chunk %d", n))
		}
		log.add(public("canceled"))
		f.checkLog(t, b.Task, log.events)
	}
}

func testDecideWins(t *testing.T, f *fixture) {
	const decisions = 10
	for i, h := range f.h {
		other := f.h[1-i]
		b := create(alice())
		for n := range decisions {
			key := fmt.Sprint("call ", n)
			b.Rows = append(b.Rows, put("approval", key, 0, "pending"))
			b.Due = append(b.Due, dueAt(50, key, "deadline"))
		}
		mustAppend(t, h, b)
		running := make(chan struct{})
		halt := background(t, func(stop <-chan struct{}) error {
			_, err := stream(t.Context(), h, b.Task, running, stop)
			return err
		})
		receive(t, "stream", running)
		for n := range decisions {
			key := fmt.Sprint("call ", n)
			withinThree(t, "decide", func() error {
				header, err := readHeader(t.Context(), other, b.Task)
				if err != nil {
					return err
				}
				decide := change(b.Task, header.Rev, private("decided %d", n))
				decide.Scope = alice()
				decide.Rows = []store.RowChange{put("approval", key, 1, "approved")}
				decide.Due = []store.DueChange{dueGone(50, key)}
				_, err = do(t.Context(), other, decide)
				return err
			})
		}
		halt()
		header := f.header(t, b.Task)
		if header.Due != 0 || header.Rev != 1+decisions || header.Fence != 1 {
			t.Errorf("header = %+v, want no due rows, rev %d, fence 1", header, 1+decisions)
		}
		for _, r := range mustRows(t, h, alice(), store.RowQuery{Kind: "approval", Task: b.Task}) {
			if r.Rev != 2 || string(r.Value) != "approved" {
				t.Errorf("row = %+v, want rev 2, approved", r)
			}
		}
		view, err := readLog(t.Context(), other, alice(), b.Task, store.After(0), store.Limit{})
		if err != nil {
			t.Fatalf("Read() = %v, want nil", err)
		}
		decided := 0
		for _, e := range view.Events {
			if !e.Public {
				if want := fmt.Sprint("decided ", decided); string(e.Data) != want {
					t.Errorf("event = %q, want %q", e.Data, want)
				}
				decided++
			}
		}
		if decided != decisions {
			t.Errorf("log has %d decisions, want %d", decided, decisions)
		}
	}
}
