package storetest

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"a2a-server/store"
)

func appendCases() []testCase {
	return []testCase{
		{"read back byte for byte", testReadBack},
		{"limits of a page", testPageLimits},
		{"an oversize event is still returned", testOversizeEvent},
		{"after the end", testReadAfterEnd},
		{"receipts and header", testReceipts},
		{"create", testCreate},
		{"create twice", testCreateTwice},
		{"rev conflict", testRevConflict},
		{"numbers in a batch are ignored", testNumbersIgnored},
		{"unknown task", testUnknownTask},
		{"one bad batch among many fails alone", testOneBadBatch},
		{"views are kept", testViewsAreKept},
	}
}

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
	for i, w := range f.h {
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
			for n := range len(log.events) + 1 {
				for _, r := range f.h {
					view, err := readLog(t.Context(), r, alice(), b.Task, store.After(uint64(n)), limit)
					if err != nil {
						t.Fatalf("writer %d: Read(After(%d), %+v) = %v, want nil", i, n, limit, err)
					}
					checkEvents(t, "Read()", log.after(uint64(n)), view.Events)
				}
			}
		}
	}
}

func testPageLimits(t *testing.T, f *fixture) {
	var log history
	b := create(alice())
	f.append(t, b)
	for range 13 {
		events := mixed(50, "event")
		f.append(t, chunks(b.Task, 1, events...))
		log.add(events...)
	}
	big := bytes.Repeat([]byte("x"), 1<<20)
	for range 6 {
		e := store.Event{Public: true, Kind: "wire", Data: big}
		f.append(t, chunks(b.Task, 1, e))
		log.add(e)
	}
	// readLog holds every page against the limit with its defaults and maxima.
	for _, limit := range []store.Limit{{}, {Events: 10_000}, {Events: -1, Bytes: -1}, {Bytes: 64 << 20}, {Events: 511, Bytes: 3 << 20}, {Bytes: 1<<20 - 1}, {Bytes: 2 << 20}} {
		for _, r := range f.h {
			view, err := readLog(t.Context(), r, alice(), b.Task, store.After(0), limit)
			if err != nil {
				t.Fatalf("Read(%+v) = %v, want nil", limit, err)
			}
			checkEvents(t, "Read()", log.events, view.Events)
		}
	}
}

func testOversizeEvent(t *testing.T, f *fixture) {
	big := store.Event{Public: true, Kind: "wire", Data: bytes.Repeat([]byte("x"), 5<<20)}
	b := create(alice(), public("small"), big, private("small"))
	f.append(t, b)
	want := numbered(b.Events...)
	for _, r := range f.h {
		for n, more := range []bool{true, true, false} {
			view, err := readPage(t.Context(), r, alice(), b.Task, store.After(uint64(n)), store.Limit{Bytes: 16})
			if err != nil {
				t.Fatalf("Read(After(%d)) = %v, want nil", n, err)
			}
			checkEvents(t, "Read()", want[n:n+1], view.Events)
			if view.More != more {
				t.Errorf("Read(After(%d)).More = %t, want %t", n, view.More, more)
			}
		}
	}
}

func testReadAfterEnd(t *testing.T, f *fixture) {
	b := create(alice(), mixed(3, "event")...)
	f.append(t, b)
	for _, r := range f.h {
		for _, n := range []uint64{3, 4, 1000, 1<<64 - 1} {
			view, err := r.Read(t.Context(), alice(), b.Task, store.After(n), store.Limit{})
			if err != nil || len(view.Events) > 0 || view.More || view.Header.Seq != 3 {
				t.Errorf("Read(After(%d)) = %+v, %v, want the header alone", n, view, err)
			}
		}
	}
}

func testReceipts(t *testing.T, f *fixture) {
	b := create(alice(), public("1"), private("22"))
	b.Dedup = newHash()
	id := b.Task
	first := mustAppend(t, f.h[0], b)
	header := f.header(t, id)
	want := store.Header{
		Task: id, Owner: alice(), Context: "context", Message: b.Dedup, State: 2, StatusTime: 1000, Phase: store.Live,
		Seq: 2, Pub: 1, Rev: 1, Fence: 1, Epoch: header.Epoch, Bytes: 3,
	}
	if d := diff(want, header); d != "" {
		t.Fatalf("header of a new task (-want +got)\n%s", d)
	}
	if d := diff(store.Receipt{Task: id, First: 1, Last: 2, Pub: 1, Rev: 1, Fence: 1}, first); d != "" {
		t.Fatalf("receipt of a create (-want +got)\n%s", d)
	}
	for _, step := range []struct {
		name   string
		batch  *store.Batch
		want   store.Receipt
		header func(h *store.Header)
	}{
		{"chunks", chunks(id, 1, public("a"), public("b"), private("c")),
			store.Receipt{First: 3, Last: 5, Pub: 3, Fence: 1},
			func(h *store.Header) { h.Seq, h.Pub, h.Bytes = 5, 3, 6 }},
		{"a change without events", change(id, 1),
			store.Receipt{First: 6, Last: 5, Pub: 3, Rev: 2, Fence: 1},
			func(h *store.Header) { h.Rev = 2 }},
		{"fence taken", &store.Batch{Scope: alice(), Task: id, Rev: new(uint64(2)), Change: store.Change{TakeFence: true}, Events: []store.Event{public("d")}},
			store.Receipt{First: 6, Last: 6, Pub: 4, Rev: 3, Fence: 2},
			func(h *store.Header) { h.Seq, h.Pub, h.Bytes, h.Rev, h.Fence = 6, 4, 7, 3, 2 }},
		{"chunks without events", chunks(id, 2),
			store.Receipt{First: 7, Last: 6, Pub: 4, Fence: 2},
			func(*store.Header) {}},
		{"parked by its turn", &store.Batch{Scope: store.System(), Task: id, Rev: new(uint64(3)), Fence: new(uint64(2)),
			Change: store.Change{Status: status(6, 1005), Phase: store.Parked, Pending: new(uint32(2))}, Events: []store.Event{private("e")}, Due: []store.DueChange{dueAt(5, "d", "")}},
			store.Receipt{First: 7, Last: 7, Pub: 4, Rev: 4, Fence: 2},
			func(h *store.Header) {
				h.Seq, h.Bytes, h.Rev, h.State, h.StatusTime, h.Phase, h.Pending, h.Due = 7, 8, 4, 6, 1005, store.Parked, 2, 1
			}},
		{"live again", &store.Batch{Scope: store.Tenant("acme"), Task: id, Rev: new(uint64(4)),
			Change: store.Change{Phase: store.Live, TakeFence: true, Pending: new(uint32(0))}, Due: []store.DueChange{dueGone(5, "d")}},
			store.Receipt{First: 8, Last: 7, Pub: 4, Rev: 5, Fence: 3},
			func(h *store.Header) { h.Rev, h.Fence, h.Phase, h.Pending, h.Due = 5, 3, store.Live, 0, 0 }},
		{"final", &store.Batch{Scope: store.System(), Task: id, Rev: new(uint64(5)), Fence: new(uint64(3)),
			Change: store.Change{Status: status(4, 1006), Phase: store.Final}, Events: []store.Event{public("f")}},
			store.Receipt{First: 8, Last: 8, Pub: 5, Rev: 6, Fence: 3},
			func(h *store.Header) {
				h.Seq, h.Pub, h.Bytes, h.Rev, h.State, h.StatusTime, h.Phase = 8, 5, 9, 6, 4, 1006, store.Final
			}},
		{"a late result", change(id, 6, private("g")),
			store.Receipt{First: 9, Last: 9, Pub: 5, Rev: 7, Fence: 3},
			func(h *store.Header) { h.Seq, h.Bytes, h.Rev = 9, 10, 7 }},
	} {
		step.want.Task = id
		step.header(&want)
		// One handle throughout: a step to Live would name the other's epoch.
		if d := diff(step.want, mustAppend(t, f.h[0], step.batch)); d != "" {
			t.Fatalf("%s: receipt (-want +got)\n%s", step.name, d)
		}
		if d := diff(want, f.header(t, id)); d != "" {
			t.Fatalf("%s: header (-want +got)\n%s", step.name, d)
		}
	}
	if d := diff(store.Receipt{}, f.append(t, scopeRows(alice(), put("kind", "key", 0, "value")))); d != "" {
		t.Errorf("receipt of a batch without a task (-want +got)\n%s", d)
	}
}

func testCreate(t *testing.T, f *fixture) {
	for _, phase := range []store.Phase{store.Live, store.Parked, store.Final} {
		for _, h := range f.h {
			b := createIn(phase, bob())
			r := mustAppend(t, h, b)
			if d := diff(store.Receipt{Task: b.Task, First: 1, Rev: 1, Fence: 1}, r); d != "" {
				t.Errorf("receipt of an empty create (-want +got)\n%s", d)
			}
			if got := f.header(t, b.Task); got.Phase != phase || got.Owner != bob() || got.Seq != 0 {
				t.Errorf("header = %+v, want phase %d of bob without events", got, phase)
			}
			f.checkLog(t, b.Task, nil)
		}
	}
	var epochs [2]uint64
	for i, h := range f.h {
		b := create(alice())
		mustAppend(t, h, b)
		epochs[i] = f.header(t, b.Task).Epoch
	}
	if epochs[0] == 0 || epochs[1] <= epochs[0] {
		t.Errorf("epochs of two handles = %v, want rising", epochs)
	}
}

func testCreateTwice(t *testing.T, f *fixture) {
	for i, h := range f.h {
		b := create(alice(), public("first"))
		mustAppend(t, h, b)
		before := f.header(t, b.Task)
		again := create(alice(), public("second"))
		again.Task = b.Task
		again.Rows = []store.RowChange{put("kind", "key", store.Any, "value")}
		again.Audit = [][]byte{[]byte("second")}
		if _, err := do(t.Context(), f.h[1-i], again); !errors.Is(err, store.ErrConflict) {
			t.Errorf("Append() = %v, want %v", err, store.ErrConflict)
		}
		if d := diff(before, f.header(t, b.Task)); d != "" {
			t.Errorf("header after a second create (-want +got)\n%s", d)
		}
		f.checkLog(t, b.Task, numbered(b.Events...))
		f.checkRows(t, alice(), store.RowQuery{Kind: "kind"})
	}
	if got := mustAudit(t, f.h[0], 0, 10); len(got) > 0 {
		t.Errorf("Audit() = %v, want nothing", got)
	}
}

func testRevConflict(t *testing.T, f *fixture) {
	b := create(alice(), public("first"))
	f.append(t, b)
	f.append(t, change(b.Task, 1, public("second")))
	before := f.header(t, b.Task)
	for _, rev := range []uint64{1, 3, 1<<64 - 1} {
		stale := change(b.Task, rev, public("never"))
		stale.Change.TakeFence = true
		stale.Rows = []store.RowChange{put("kind", "key", 0, "value")}
		stale.Due = []store.DueChange{dueAt(1, "key", "")}
		stale.Audit = [][]byte{[]byte("never")}
		f.refuse(t, stale, store.ErrConflict)
	}
	if d := diff(before, f.header(t, b.Task)); d != "" {
		t.Errorf("header after refused batches (-want +got)\n%s", d)
	}
	f.checkLog(t, b.Task, numbered(public("first"), public("second")))
	f.checkRows(t, alice(), store.RowQuery{Kind: "kind"})
	if got := allDue(t, f.h[0]); len(got) > 0 {
		t.Errorf("Due() = %v, want nothing", got)
	}
	if got := mustAudit(t, f.h[0], 0, 10); len(got) > 0 {
		t.Errorf("Audit() = %v, want nothing", got)
	}
}

func testNumbersIgnored(t *testing.T, f *fixture) {
	events := mixed(3, "event")
	for i := range events {
		events[i].Seq, events[i].Pub = 70+uint64(i), 90
	}
	b := create(alice(), slices.Clone(events)...)
	if r := f.append(t, b); r.First != 1 || r.Last != 3 || r.Pub != 2 {
		t.Errorf("Append() = %+v, want 1 to 3 and pub 2", r)
	}
	f.append(t, chunks(b.Task, 1, slices.Clone(events)...))
	f.checkLog(t, b.Task, numbered(slices.Concat(events, events)...))
}

func testUnknownTask(t *testing.T, f *fixture) {
	id := store.NewTaskID()
	f.refuse(t, change(id, 1, public("never")), store.ErrNotFound)
	f.refuse(t, chunks(id, 1, public("never")), store.ErrNotFound)
	f.checkGone(t, id)
	f.checkGone(t, store.TaskID{})
}

// Batches are queued without waiting, so that good and bad ones share a commit.
func testOneBadBatch(t *testing.T, f *fixture) {
	base := create(alice())
	f.append(t, base)
	type queued struct {
		commit *store.Commit
		batch  *store.Batch
		want   error
	}
	var all []queued
	add := func(i int, b *store.Batch, want error) {
		all = append(all, queued{f.h[i%2].Append(t.Context(), b), b, want})
	}
	var log history
	for i := range 100 {
		good := create(bob(), public("good %d", i))
		good.Rows = []store.RowChange{put("kind", "key", 0, "good")}
		add(i, good, nil)
		bad := create(bob(), public("bad %d", i))
		bad.Rows = []store.RowChange{put("kind", "a", 0, "bad"), put("kind", "b", 5, "bad")}
		add(i+1, bad, store.ErrConflict)
		chunk := chunks(base.Task, 1, public("chunk %d", i))
		log.add(chunk.Events...)
		add(i, chunk, nil)
		add(i+1, chunks(base.Task, 2, public("fenced")), store.ErrFenced)
		add(i, change(base.Task, 7, public("stale")), store.ErrConflict)
		add(i, change(store.NewTaskID(), 1, public("lost")), store.ErrNotFound)
		add(i, scopeRows(alice(), put("kind", "one", 0, "first")), map[bool]error{false: store.ErrConflict}[i == 0])
		add(i, &store.Batch{Scope: store.System(), Task: base.Task}, store.ErrInvalid)
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
	b := create(alice(), mixed(100, "kept")...)
	b.Rows = []store.RowChange{put("kind", "key", 0, "value")}
	b.Due = []store.DueChange{dueAt(1, "key", "payload")}
	b.Audit = [][]byte{[]byte("entry")}
	f.append(t, b)
	snap := chunks(b.Task, 1, public("after"))
	snap.Snapshot = &store.Snapshot{After: 100, Rev: 1, Bytes: []byte("snapshot")}
	f.append(t, snap)
	f.reopen(t)
	view, err := f.h[1].Read(t.Context(), alice(), b.Task, store.After(0), store.Limit{})
	if err != nil {
		t.Fatalf("Read() = %v, want nil", err)
	}
	head, err := f.h[1].Read(t.Context(), alice(), b.Task, store.AtSnapshot(), store.Limit{})
	if err != nil {
		t.Fatalf("Read() = %v, want nil", err)
	}
	rows := mustRows(t, f.h[1], alice(), store.RowQuery{Kind: "kind"})
	due, audit := allDue(t, f.h[1]), mustAudit(t, f.h[1], 0, 10)
	final := change(b.Task, 1)
	final.Change = store.Change{Status: status(4, 2000), Phase: store.Final}
	final.Rows = []store.RowChange{put("kind", "key", 1, "other")}
	final.Due = []store.DueChange{dueGone(1, "key")}
	f.append(t, final)
	if err := f.h[0].Delete(t.Context(), alice(), b.Task, nil); err != nil {
		t.Fatalf("Delete() = %v, want nil", err)
	}
	for i := range 20 {
		f.append(t, create(bob(), store.Event{Data: bytes.Repeat([]byte{byte(i)}, 100_000)}))
	}
	f.closed = true
	if err := f.backend.Close(); err != nil {
		t.Fatalf("Backend.Close() = %v, want nil", err)
	}
	checkEvents(t, "kept view", numbered(slices.Concat(b.Events, snap.Events)...), view.Events)
	if d := diff([]store.Row{row(b.Task, "kind", "key", 1, "value")}, rows); d != "" {
		t.Errorf("kept rows (-want +got)\n%s", d)
	}
	if string(due[0].Payload) != "payload" || string(audit[0].Data) != "entry" || string(head.Snapshot) != "snapshot" {
		t.Errorf("kept due %q, audit %q, snapshot %q, want payload, entry, snapshot", due[0].Payload, audit[0].Data, head.Snapshot)
	}
}
