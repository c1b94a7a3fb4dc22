package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"a2a-server/store"
)

// sample has events of every form.
func sample() []store.Event {
	binary := make([]byte, 256)
	for i := range binary {
		binary[i] = byte(i)
	}
	return []store.Event{
		{Public: true, Kind: "wire", Time: 1_700_000_000_123, Data: []byte(`{"task":{}}`)},
		{Kind: "message.received.v1", Time: 1_700_000_000_124, Data: []byte("ü\x00\xff")},
		{Public: true, Kind: "", Time: 0, Data: nil},
		{Kind: strings.Repeat("k", store.MaxKind), Time: 1 << 47, Data: binary},
		{Kind: "empty", Time: 1, Data: []byte{}},
		{Public: true, Kind: "wire", Time: 1, Data: bytes.Repeat([]byte("page"), 1500)},
	}
}

func testReadBack(t *testing.T, f *fixture) {
	for _, w := range f.h {
		var log history
		b := create(alice(), sample()[:2]...)
		mustAppend(t, w, b)
		log.add(b.Events...)
		// Batches of one to seven events, so that pages begin and end inside of them.
		for n := range 8 {
			events := slices.Concat(sample(), sample())[n/2 : n/2+n]
			mustAppend(t, w, chunks(b.Task, 1, events...))
			log.add(events...)
		}
		for _, limit := range []store.Limit{{}, {Events: 1}, {Events: 2}, {Events: 7}, {Bytes: 1}, {Bytes: 300}, {Events: 3, Bytes: 6100}} {
			for n := range uint64(len(log.events)) + 1 {
				checkEvents(t, "Read()", log.after(n), mustLog(t, f.next(), alice(), b.Task, store.After(n), limit).Events)
			}
		}
		for _, n := range []uint64{0, 1, 1000, 1<<64 - 1 - uint64(len(log.events))} {
			view, err := f.next().Read(t.Context(), alice(), b.Task, store.After(uint64(len(log.events))+n), store.Limit{})
			if err != nil || len(view.Events) > 0 || view.More || view.Header.Seq != uint64(len(log.events)) {
				t.Errorf("Read() %d after the end = %+v, %v, want the header alone", n, view, err)
			}
		}
	}
}

// readPage compares each page with the limit, its defaults and its maxima.
func testPageLimits(t *testing.T, f *fixture) {
	var log history
	b := create(alice())
	f.append(t, b)
	add := func(events ...store.Event) {
		f.append(t, chunks(b.Task, 1, events...))
		log.add(events...)
	}
	for range 13 {
		add(mixed(50, "event")...)
	}
	big := bytes.Repeat([]byte("x"), 5<<20)
	for range 5 {
		add(store.Event{Public: true, Kind: "wire", Data: big[:1<<20]})
	}
	add(public("small"), store.Event{Public: true, Kind: "wire", Data: big}, private("small")) // larger than any page
	for _, limit := range []store.Limit{{}, {Events: 10_000}, {Events: -1, Bytes: -1}, {Bytes: 64 << 20}, {Events: 511, Bytes: 3 << 20}, {Bytes: 1<<20 - 1}, {Bytes: 16}} {
		for _, h := range f.h {
			checkEvents(t, "Read()", log.events, mustLog(t, h, alice(), b.Task, store.After(0), limit).Events)
		}
	}
}

// Batches are queued without waiting, so that valid and invalid batches share a commit.
func testOneBadBatch(t *testing.T, f *fixture) {
	base := create(alice())
	f.append(t, base)
	type queued struct {
		commit *store.Commit
		batch  *store.Batch
		want   error
	}
	var all []queued
	var log history
	for i := range 100 {
		chunk := chunks(base.Task, 1, public("chunk %d", i))
		log.add(chunk.Events...)
		one := queued{batch: scopeRows(alice(), put("kind", "one", 0, "first"))}
		if i > 0 {
			one.want = store.ErrConflict
		}
		for k, q := range []queued{
			{batch: with(create(bob(), public("good %d", i)), put("kind", "key", 0, "good"))},
			{batch: with(create(bob(), public("bad %d", i)), put("kind", "a", 0, "bad"), put("kind", "b", 5, "bad")), want: store.ErrConflict},
			{batch: chunk},
			{batch: chunks(base.Task, 2, public("fenced")), want: store.ErrFenced},
			{batch: change(base.Task, 7, public("stale")), want: store.ErrConflict},
			{batch: change(store.NewTaskID(), 1, public("lost")), want: store.ErrNotFound},
			one,
			{batch: &store.Batch{Scope: store.System(), Task: base.Task}, want: store.ErrInvalid},
		} {
			q.commit = f.h[(i+k)%2].Append(t.Context(), q.batch)
			all = append(all, q)
		}
	}
	for i, q := range all {
		if _, err := await(q.commit); !errors.Is(err, q.want) {
			t.Fatalf("batch %d: Append() = %v, want %v", i, err, q.want)
		}
		switch {
		case !q.batch.Creates():
		case q.want == nil:
			f.checkLog(t, q.batch.Task, numbered(q.batch.Events...))
			f.checkRows(t, bob(), store.RowQuery{Kind: "kind", Task: q.batch.Task}, row(q.batch.Task, "kind", "key", 1, "good"))
		default:
			f.checkGone(t, q.batch.Task)
		}
	}
	f.checkLog(t, base.Task, log.events)
}

// Bytes of a view may be kept: also when the backend has moved on, was opened
// again, or is closed.
func testViewsAreKept(t *testing.T, f *fixture) {
	b := with(create(alice(), mixed(100, "kept")...), put("kind", "key", 0, "value"), dueAt(1, "key", "payload"), "entry")
	f.append(t, b)
	snap := with(chunks(b.Task, 1, public("after")), &store.Snapshot{After: 100, Rev: 1, Bytes: []byte("snapshot")})
	f.append(t, snap)
	f.reopen(t)
	h := f.h[1]
	view, head := mustLog(t, h, alice(), b.Task, store.After(0), store.Limit{}), mustLog(t, h, alice(), b.Task, store.AtSnapshot(), store.Limit{})
	rows, due, audit := mustRows(t, h, alice(), store.RowQuery{Kind: "kind"}), allDue(t, h), mustAudit(t, h, 0, 10)
	f.append(t, with(moveTo(b.Task, 1, store.Final), put("kind", "key", 1, "other"), dueGone(1, "key")))
	f.delete(t, b.Task)
	for i := range 20 {
		f.append(t, create(bob(), store.Event{Data: bytes.Repeat([]byte{byte(i)}, 100_000)}))
	}
	f.close(t)
	checkEvents(t, "kept view", numbered(slices.Concat(b.Events, snap.Events)...), view.Events)
	same(t, []store.Row{row(b.Task, "kind", "key", 1, "value")}, rows, "kept rows")
	if string(due[0].Payload) != "payload" || string(audit[0].Data) != "entry" || string(head.Snapshot) != "snapshot" {
		t.Errorf("kept due %q, audit %q, snapshot %q, want payload, entry, snapshot", due[0].Payload, audit[0].Data, head.Snapshot)
	}
}

func testContextEnded(t *testing.T, f *fixture) {
	b := rich(alice(), store.Live)
	f.append(t, b)
	before := dump(t, f.h[0])
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancelLate := context.WithTimeout(t.Context(), 0)
	defer cancelLate()
	for _, h := range f.h {
		for _, batch := range []*store.Batch{with(change(b.Task, 1, public("never")), put("kind", "key", store.Any, "never")), chunks(b.Task, 1, public("never")), create(alice()), scopeRows(alice(), put("kind", "key", 0, ""))} {
			if _, err := do(ended, h, batch); !errors.Is(err, context.Canceled) {
				t.Errorf("Append() = %v, want %v", err, context.Canceled)
			}
			if _, err := do(late, h, batch); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Append() = %v, want %v", err, context.DeadlineExceeded)
			}
		}
	}
	same(t, before, dump(t, f.h[1]), "contents after batches of an ended context")
}

// Either outcome is legal while the batch is under way, but the disk must have the same.
func testContextEndsLater(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	const writers, batches = 8, 60
	outcomes := make([][batches]bool, writers)
	parallel(t, writers, func(i int) error {
		for n := range batches {
			ctx, cancel := context.WithCancel(t.Context())
			c := f.h[i%2].Append(ctx, chunks(b.Task, 1, public("%d %d", i, n)))
			if n%3 == 0 {
				<-c.Done()
			}
			cancel()
			_, err := await(c)
			if err != nil && (n%3 == 0 || !errors.Is(err, context.Canceled)) {
				return fmt.Errorf("Append() = %w, want nil or %w", err, context.Canceled)
			}
			outcomes[i][n] = err == nil
		}
		return nil
	})
	want, got := map[string]bool{}, map[string]bool{}
	for i := range outcomes {
		for n, ok := range outcomes[i] {
			if ok {
				want[fmt.Sprintf("%d %d", i, n)] = true
			}
		}
	}
	f.reopen(t)
	for _, e := range mustLog(t, f.h[0], alice(), b.Task, store.After(0), store.Limit{}).Events {
		if got[string(e.Data)] {
			t.Errorf("event %q is there twice", e.Data)
		}
		got[string(e.Data)] = true
	}
	same(t, want, got, "acknowledged events")
}
