package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"a2a-server/store"
)

func contextRowCases() []testCase {
	return []testCase{
		{"life of a row of a context", testContextRowLife},
		{"of all tasks of the context", testContextRowShared},
		{"contexts and owners do not meet", testContextRowsApart},
		{"who may write", testContextRowsForeign},
		{"not of every batch", testContextRowsInvalid},
		{"queries", testContextRowQueries},
		{"keys and pages", testContextRowKeys},
		{"a bound", testContextRowBound},
		{"a bound of the number", testContextRowNumber},
		{"a bound, at once", testContextRowBoundAtOnce},
		{"a bound, in one queue", testContextRowBoundInOneQueue},
		{"deleted with the last task", testContextRowsDeleted},
		{"deleted while the context is used", testContextRowsDeletedMeanwhile},
		{"the last tasks deleted at once", testContextRowsDeletedAtOnce},
		{"the last deletion interrupted", testContextRowsDeleteInterrupted},
		{"count as disk usage", testContextRowsDisk},
		{"watched", testContextRowsWatched},
	}
}

// ofContext makes changes of rows changes of rows of the context.
func ofContext(changes ...store.RowChange) []store.RowChange {
	for i := range changes {
		changes[i].OfContext = true
	}
	return changes
}

// createNamed is a create in a context.
func createNamed(owner store.Scope, contextID string) *store.Batch {
	b := createIn(store.Live, owner, public("begins"))
	b.Change.Context = contextID
	return b
}

// contextRow is what a query returns of a row of a context.
func contextRow(contextID, kind, key string, rev uint64, value string) store.Row {
	r := row(store.TaskID{}, kind, key, rev, value)
	r.Context = contextID
	return r
}

// contextWriter is a task that writes rows of its context.
type contextWriter struct {
	f     *fixture
	task  store.TaskID
	rev   uint64
	bound store.RowBound
}

func (f *fixture) contextWriter(t *testing.T, owner store.Scope, contextID string) *contextWriter {
	t.Helper()
	b := createNamed(owner, contextID)
	f.append(t, b)
	return &contextWriter{f: f, task: b.Task, rev: 1}
}

func (w *contextWriter) batch(changes ...store.RowChange) *store.Batch {
	b := change(w.task, w.rev)
	b.Rows, b.ContextRows = ofContext(changes...), w.bound
	return b
}

// write returns what the store says.
func (w *contextWriter) write(t *testing.T, changes ...store.RowChange) error {
	t.Helper()
	_, err := do(t.Context(), w.f.next(), w.batch(changes...))
	if err == nil {
		w.rev++
	}
	return err
}

func (w *contextWriter) mustWrite(t *testing.T, changes ...store.RowChange) {
	t.Helper()
	if err := w.write(t, changes...); err != nil {
		t.Fatalf("Append() = %v, want nil", err)
	}
}

func (w *contextWriter) finish(t *testing.T) {
	t.Helper()
	w.f.append(t, moveTo(w.task, w.rev, store.Final))
	w.rev++
}

func (w *contextWriter) delete(t *testing.T) {
	t.Helper()
	w.finish(t)
	if err := w.f.next().Delete(t.Context(), store.System(), w.task, nil); err != nil {
		t.Fatalf("Delete() = %v, want nil", err)
	}
}

func testContextRowLife(t *testing.T, f *fixture) {
	w := f.contextWriter(t, alice(), "context")
	for i, step := range []struct {
		change store.RowChange
		ok     bool
		rev    uint64
		value  string
	}{
		{put("state", "key", 1, "never"), false, 0, ""},
		{remove("state", "key", store.Any), true, 0, ""},
		{put("state", "key", 0, "one", indexed("index", "a")), true, 1, "one"},
		{put("state", "key", 0, "never"), false, 1, "one"},
		{put("state", "key", store.Any, "two", indexed("index", "b")), true, 2, "two"},
		{put("state", "key", 2, ""), true, 3, ""},
		{remove("state", "key", 2), false, 3, ""},
		{remove("state", "key", 3), true, 0, ""},
		{put("state", "key", store.Any, "again", indexed("index", "c")), true, 1, "again"},
	} {
		err := w.write(t, step.change)
		if want := map[bool]error{false: store.ErrConflict}[step.ok]; !errors.Is(err, want) {
			t.Fatalf("step %d: Append() = %v, want %v", i, err, want)
		}
		var want []store.Row
		if step.rev > 0 {
			want = append(want, contextRow("context", "state", "key", step.rev, step.value))
		}
		f.checkRows(t, alice(), store.RowQuery{Kind: "state", Context: "context"}, want...)
		f.checkRows(t, alice(), store.RowQuery{Kind: "state", Context: "context", Key: []byte("key")}, want...)
		for _, entry := range []string{"a", "b", "c"} {
			q := store.RowQuery{Kind: "state", Index: "index", Prefix: []byte(entry)}
			if step.ok && !step.change.Delete && len(step.change.Index) > 0 && string(step.change.Index[0].Key) == entry {
				f.checkRows(t, alice(), q, want...)
			} else if step.ok {
				f.checkRows(t, alice(), q)
			}
		}
	}
	before := dump(t, f.h[0], []string{"state"}, []string{"index"})
	for _, again := range []func(*testing.T){f.rebuild, f.reopen} {
		again(t)
		if d := diff(before, dump(t, f.h[1], []string{"state"}, []string{"index"})); d != "" {
			t.Errorf("contents after Rebuild() or a reopen (-want +got)\n%s", d)
		}
	}
}

// The last writer wins, whichever task it is, also one that has ended.
func testContextRowShared(t *testing.T, f *fixture) {
	first, second := f.contextWriter(t, alice(), "context"), f.contextWriter(t, alice(), "context")
	first.mustWrite(t, put("state", "a", store.Any, "first"), put("state", "b", store.Any, "first"))
	second.mustWrite(t, put("state", "a", store.Any, "second"), put("state", "c", store.Any, "second"))
	f.checkRows(t, alice(), store.RowQuery{Kind: "state", Context: "context"},
		contextRow("context", "state", "a", 2, "second"), contextRow("context", "state", "b", 1, "first"), contextRow("context", "state", "c", 1, "second"))
	first.finish(t)
	first.mustWrite(t, put("state", "a", store.Any, "late"), remove("state", "c", store.Any))
	f.checkRows(t, alice(), store.RowQuery{Kind: "state", Context: "context"},
		contextRow("context", "state", "a", 3, "late"), contextRow("context", "state", "b", 1, "first"))
	// Both kinds of rows in one batch, with the same key.
	b := second.batch(put("state", "a", store.Any, "of the context"))
	b.Rows = append(b.Rows, put("state", "a", 0, "of the task"), put("state", "a", 1, "of the task again"))
	f.append(t, b)
	f.checkRows(t, alice(), store.RowQuery{Kind: "state", Task: second.task}, row(second.task, "state", "a", 2, "of the task again"))
	f.checkRows(t, alice(), store.RowQuery{Kind: "state", Context: "context", Key: []byte("a")}, contextRow("context", "state", "a", 4, "of the context"))
	// All of a batch, or nothing.
	second.rev++
	if err := second.write(t, put("state", "a", store.Any, "never"), put("state", "b", 7, "never")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Append() = %v, want %v", err, store.ErrConflict)
	}
	f.checkRows(t, alice(), store.RowQuery{Kind: "state", Context: "context", Key: []byte("a")}, contextRow("context", "state", "a", 4, "of the context"))
}

func testContextRowsApart(t *testing.T, f *fixture) {
	uuid := "0190a3c4-7e1f-7abc-8def-0123456789ab"
	names := []string{"a", "aa", "context", uuid, strings.ToUpper(uuid), "alice", "acme"}
	tasks := map[string]*contextWriter{}
	for _, owner := range owners() {
		f.append(t, scopeRows(owner, put("state", "key", 0, "of the scope")))
		for _, name := range names {
			w := f.contextWriter(t, owner, name)
			tasks[fmt.Sprint(owner, name)] = w
			w.mustWrite(t, put("state", "key", 0, fmt.Sprint(owner, name)))
		}
	}
	for range 2 {
		for _, owner := range owners() {
			f.checkRows(t, owner, store.RowQuery{Kind: "state", Key: []byte("key")}, row(store.TaskID{}, "state", "key", 1, "of the scope"))
			for _, name := range names {
				want := contextRow(name, "state", "key", 1, fmt.Sprint(owner, name))
				f.checkRows(t, owner, store.RowQuery{Kind: "state", Context: name}, want)
				f.checkRows(t, owner, store.RowQuery{Kind: "state", Context: name, Key: []byte("key")}, want)
				f.checkRows(t, owner, store.RowQuery{Kind: "state", Task: tasks[fmt.Sprint(owner, name)].task})
				f.checkRows(t, owner, store.RowQuery{Kind: "states", Context: name})
			}
			for _, none := range []string{"", "key", "other"} {
				f.checkRows(t, owner, store.RowQuery{Kind: "state", Context: none + "?", Key: []byte("key")})
			}
		}
		f.reopen(t)
	}
}

func testContextRowsForeign(t *testing.T, f *fixture) {
	w := f.contextWriter(t, alice(), "context")
	w.mustWrite(t, put("state", "key", 0, "value", indexed("index", "entry")))
	own := f.contextWriter(t, bob(), "context")
	before := dump(t, f.h[0], []string{"state"}, []string{"index"})
	for _, s := range []store.Scope{bob(), otherAlice(), shifted(), store.Tenant("beta"), store.Tenant(""), store.Owner("", ""), {}} {
		b := w.batch(put("state", "key", store.Any, "foreign"), remove("state", "key", store.Any))
		b.Scope = s
		f.refuse(t, b, store.ErrNotFound)
		for i, h := range f.h {
			queries := []store.RowQuery{{Kind: "state"}, {Kind: "state", Index: "index"}}
			if s.IsOwner() || s.IsZero() {
				queries = append(queries, store.RowQuery{Kind: "state", Context: "context"}, store.RowQuery{Kind: "state", Context: "context", Key: []byte("key")},
					store.RowQuery{Kind: "state", Context: "context", Index: "index"})
			}
			for _, q := range queries {
				if got := mustRows(t, h, s, q); len(got) > 0 {
					t.Errorf("%+v: Rows(%+v) = %v, want nothing", s, q, got)
				}
			}
			if d := diff(before, dump(t, f.h[1-i], []string{"state"}, []string{"index"})); d != "" {
				t.Fatalf("%+v: contents after foreign writes (-want +got)\n%s", s, d)
			}
		}
	}
	// A row belongs to the owner of the task, whoever writes it.
	for i, s := range []store.Scope{store.System(), store.Tenant("acme"), alice()} {
		b := w.batch(put("state", "key", store.Any, fmt.Sprint(i)))
		b.Scope = s
		f.append(t, b)
		w.rev++
		want := contextRow("context", "state", "key", uint64(i)+2, fmt.Sprint(i))
		f.checkRows(t, alice(), store.RowQuery{Kind: "state", Context: "context"}, want)
		f.checkRows(t, store.System(), store.RowQuery{Kind: "state"}, want)
		f.checkRows(t, store.Tenant("acme"), store.RowQuery{Kind: "state"}, want)
		f.checkRows(t, store.Tenant("beta"), store.RowQuery{Kind: "state"})
		f.checkRows(t, bob(), store.RowQuery{Kind: "state", Context: "context"})
	}
	own.mustWrite(t, put("state", "key", 0, "bob's"))
	f.checkRows(t, bob(), store.RowQuery{Kind: "state"}, contextRow("context", "state", "key", 1, "bob's"))
}

func testContextRowsInvalid(t *testing.T, f *fixture) {
	without := createNamed(alice(), "")
	f.append(t, without)
	in := createNamed(alice(), "context")
	f.append(t, in)
	before := dump(t, f.h[0], []string{"state"}, nil)
	rows := func(b *store.Batch) *store.Batch {
		b.Rows = ofContext(put("state", "key", store.Any, "never"))
		return b
	}
	bound := change(in.Task, 1)
	bound.Rows, bound.ContextRows = []store.RowChange{put("state", "key", store.Any, "never")}, store.RowBound{Bytes: 1}
	for name, b := range map[string]*store.Batch{
		"of a scope":                     rows(scopeRows(alice())),
		"of a create":                    rows(create(alice())),
		"of chunks":                      rows(chunks(in.Task, 1, public("chunk"))),
		"of a task without a context":    rows(change(without.Task, 1)),
		"a bound without what it bounds": bound,
	} {
		t.Run(name, func(t *testing.T) { f.refuse(t, b, store.ErrInvalid) })
	}
	large := rows(change(in.Task, 1))
	large.Rows[0].Value = make([]byte, store.MaxRow+1)
	f.refuse(t, large, store.ErrTooLarge)
	if d := diff(before, dump(t, f.h[1], []string{"state"}, nil)); d != "" {
		t.Errorf("contents after refused batches (-want +got)\n%s", d)
	}
}

func testContextRowQueries(t *testing.T, f *fixture) {
	w := f.contextWriter(t, alice(), "context")
	w.mustWrite(t, put("state", "key", 0, "value"))
	for _, h := range f.h {
		for name, c := range map[string]struct {
			scope store.Scope
			query store.RowQuery
		}{
			"a context of a tenant":     {store.Tenant("acme"), store.RowQuery{Kind: "state", Context: "context"}},
			"a context of the system":   {store.System(), store.RowQuery{Kind: "state", Context: "context", Key: []byte("key")}},
			"a context and a task":      {alice(), store.RowQuery{Kind: "state", Context: "context", Task: w.task}},
			"a key of nothing":          {store.System(), store.RowQuery{Kind: "state", Key: []byte("key")}},
			"a prefix without an index": {alice(), store.RowQuery{Kind: "state", Context: "context", Prefix: []byte("k")}},
		} {
			if page, err := h.Rows(t.Context(), c.scope, c.query); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%s: Rows() = %v, %v, want %v", name, page.Rows, err, store.ErrInvalid)
			}
		}
	}
	page, err := f.h[0].Rows(t.Context(), alice(), store.RowQuery{Kind: "state", Context: "context"})
	if err != nil || len(page.Rows) != 1 {
		t.Fatalf("Rows() = %v, %v, want a row", page.Rows, err)
	}
	// A cursor belongs to its context.
	w.mustWrite(t, put("state", "other", 0, "value"))
	page, err = f.h[0].Rows(t.Context(), alice(), store.RowQuery{Kind: "state", Context: "context", Limit: 1})
	if err != nil || page.Next == "" {
		t.Fatalf("Rows() = %v, %v, want a cursor", page, err)
	}
	for _, q := range []store.RowQuery{{Kind: "state"}, {Kind: "state", Context: "contexts"}, {Kind: "state", Task: w.task}} {
		q.Cursor = page.Next
		if _, err := f.h[1].Rows(t.Context(), alice(), q); !errors.Is(err, store.ErrCursor) {
			t.Errorf("Rows(%+v) = %v, want %v", q, err, store.ErrCursor)
		}
	}
}

func testContextRowKeys(t *testing.T, f *fixture) {
	var want []store.Row
	w, other := f.contextWriter(t, alice(), "context"), f.contextWriter(t, alice(), "contex")
	for _, key := range append([]string{""}, awkwardKeys()...) {
		w.mustWrite(t, put("state", key, 0, "of "+key, indexed("index", "x"+key)), put("states", key, 0, "other"))
		other.mustWrite(t, put("state", key, 0, "elsewhere", indexed("index", "x"+key)))
		want = append(want, contextRow("context", "state", key, 1, "of "+key))
		f.checkRows(t, alice(), store.RowQuery{Kind: "state", Context: "context", Key: []byte(key)}, contextRow("context", "state", key, 1, "of "+key))
	}
	for _, size := range pageSizes() {
		f.checkRows(t, alice(), store.RowQuery{Kind: "state", Context: "context", Limit: size}, want...)
		f.checkRows(t, alice(), store.RowQuery{Kind: "state", Context: "context", Index: "index", Prefix: []byte("x"), Limit: size}, want...)
		if got := mustRows(t, f.next(), store.System(), store.RowQuery{Kind: "state", Limit: size}); len(got) != 2*len(want) {
			t.Errorf("Rows() of the system in pages of %d = %d rows, want %d", size, len(got), 2*len(want))
		}
	}
}

// checkFull is for any goroutine.
func checkFull(err error, limit store.RowBound) error {
	full, ok := errors.AsType[*store.ContextRowsError](err)
	if !ok || full.Limit != limit || full.Kind != "state" {
		return fmt.Errorf("Append() = %s, want a ContextRowsError of %+v", said(err), limit)
	}
	return nil
}

func testContextRowBound(t *testing.T, f *fixture) {
	w, other := f.contextWriter(t, alice(), "context"), f.contextWriter(t, alice(), "context")
	limit := store.RowBound{Bytes: 20}
	w.bound, other.bound = limit, limit
	full := func(w *contextWriter, changes ...store.RowChange) {
		t.Helper()
		before := dump(t, f.h[0], []string{"state", "other"}, nil)
		if err := checkFull(w.write(t, changes...), limit); err != nil {
			t.Error(err)
		}
		if d := diff(before, dump(t, f.h[1], []string{"state", "other"}, nil)); d != "" {
			t.Fatalf("contents after a refused batch (-want +got)\n%s", d)
		}
	}
	full(w, put("state", "k", store.Any, strings.Repeat("x", 20)))
	w.mustWrite(t, put("state", "a", store.Any, strings.Repeat("x", 9))) // 10
	full(other, put("state", "b", store.Any, strings.Repeat("x", 10)))
	full(other, put("state", strings.Repeat("b", 11), store.Any, "")) // keys count
	full(other, put("state", "b", store.Any, "1234"), put("state", "c", store.Any, "12345"))
	other.mustWrite(t, put("state", "b", store.Any, strings.Repeat("x", 9))) // 20
	full(w, put("state", "", store.Any, "x"))
	w.mustWrite(t, put("state", "", store.Any, "")) // an empty row has no bytes
	// What replaces something counts as what it adds.
	w.mustWrite(t, put("state", "b", store.Any, strings.Repeat("y", 9)))
	full(w, put("state", "b", store.Any, strings.Repeat("y", 10)))
	w.mustWrite(t, remove("state", "a", store.Any), put("state", "c", store.Any, strings.Repeat("y", 9)))
	// In one batch only its outcome counts.
	w.mustWrite(t, put("state", "d", store.Any, strings.Repeat("z", 100)), remove("state", "d", store.Any), put("state", "b", store.Any, "z"))
	w.mustWrite(t, put("state", "b", store.Any, strings.Repeat("z", 9)))
	full(w, remove("state", "b", store.Any), remove("state", "b", store.Any), put("state", "b", store.Any, strings.Repeat("z", 10)))
	// Other kinds, tasks' rows, other contexts and other owners do not count.
	w.mustWrite(t, put("other", "key", store.Any, strings.Repeat("x", 17)))
	b := w.batch(put("state", "b", store.Any, strings.Repeat("a", 9)))
	b.Rows = append(b.Rows, put("state", "task", store.Any, strings.Repeat("x", 100)))
	f.append(t, b)
	w.rev++
	f.append(t, scopeRows(alice(), put("state", "scope", store.Any, strings.Repeat("x", 100))))
	for _, elsewhere := range []*contextWriter{f.contextWriter(t, alice(), "contexts"), f.contextWriter(t, bob(), "context")} {
		elsewhere.bound = limit
		elsewhere.mustWrite(t, put("state", "key", store.Any, strings.Repeat("x", 17)))
		full(elsewhere, put("state", "key", store.Any, strings.Repeat("x", 18)))
	}
	// Without a bound there is none; what is above one may shrink, and not grow.
	w.bound = store.RowBound{}
	w.mustWrite(t, put("state", "large", store.Any, strings.Repeat("x", 95)))
	w.bound = limit
	full(w, put("state", "large", store.Any, strings.Repeat("x", 96)))
	w.mustWrite(t, put("state", "large", store.Any, strings.Repeat("x", 95)))
	w.mustWrite(t, put("state", "large", store.Any, strings.Repeat("x", 94)))
	for _, again := range []func(*testing.T){f.rebuild, f.reopen} {
		again(t)
		full(w, put("state", "large", store.Any, strings.Repeat("x", 95)))
	}
}

func testContextRowNumber(t *testing.T, f *fixture) {
	w := f.contextWriter(t, alice(), "context")
	w.bound = store.RowBound{Rows: 3, Bytes: 1000}
	w.mustWrite(t, put("state", "a", store.Any, ""), put("state", "b", store.Any, ""), put("state", "c", store.Any, ""))
	if err := checkFull(w.write(t, put("state", "d", store.Any, "")), w.bound); err != nil {
		t.Error(err)
	}
	w.mustWrite(t, put("state", "a", store.Any, "again"))
	w.mustWrite(t, put("state", "d", store.Any, ""), remove("state", "a", store.Any))
	w.mustWrite(t, put("other", "a", store.Any, ""))
	if err := checkFull(w.write(t, put("state", "a", store.Any, "")), w.bound); err != nil {
		t.Error(err)
	}
}

func testContextRowBoundAtOnce(t *testing.T, f *fixture) {
	for round := range 5 {
		contextID := fmt.Sprint("round ", round)
		limit := store.RowBound{Bytes: 70}
		writers := make([]*contextWriter, 30)
		for i := range writers {
			writers[i] = f.contextWriter(t, alice(), contextID)
			writers[i].bound = limit
		}
		var passed atomic.Int64
		parallel(t, len(writers), func(i int) error {
			_, err := do(t.Context(), f.h[i%2], writers[i].batch(put("state", fmt.Sprintf("%02d", i), 0, "12345678")))
			if err != nil {
				return checkFull(err, limit)
			}
			passed.Add(1)
			return nil
		})
		if n := passed.Load(); n != 7 {
			t.Fatalf("%d writes passed, want 7", n)
		}
		if got := mustRows(t, f.next(), alice(), store.RowQuery{Kind: "state", Context: contextID}); len(got) != 7 {
			t.Fatalf("Rows() = %d rows, want 7", len(got))
		}
	}
}

// What is queued before a batch counts, whether it is in the same commit or not.
func testContextRowBoundInOneQueue(t *testing.T, f *fixture) {
	limit := store.RowBound{Bytes: 20}
	var batches []*store.Batch
	for _, c := range []store.RowChange{
		put("state", "a", 0, "123456789"), put("state", "b", 0, "123456789"), put("state", "c", 0, "1"),
		remove("state", "a", 1), put("state", "c", 0, "123456789"), put("state", "d", 0, ""),
	} {
		w := f.contextWriter(t, alice(), "context")
		w.bound = limit
		batches = append(batches, w.batch(c))
	}
	var commits []*store.Commit
	for _, b := range batches {
		commits = append(commits, f.h[0].Append(t.Context(), b))
	}
	for i, passes := range []bool{true, true, false, true, true, false} {
		_, err := await(commits[i])
		if passes && err != nil {
			t.Errorf("batch %d: Append() = %v, want nil", i, err)
		}
		if !passes {
			if err := checkFull(err, limit); err != nil {
				t.Errorf("batch %d: %v", i, err)
			}
		}
	}
}

func testContextRowsDeleted(t *testing.T, f *fixture) {
	q := store.RowQuery{Kind: "state", Context: "context"}
	elsewhere, foreign := f.contextWriter(t, alice(), "contexts"), f.contextWriter(t, bob(), "context")
	elsewhere.mustWrite(t, put("state", "key", 0, "elsewhere"))
	foreign.mustWrite(t, put("state", "key", 0, "foreign"))
	f.append(t, scopeRows(alice(), put("state", "key", 0, "of the scope")))
	for round := range 3 {
		first, second, third := f.contextWriter(t, alice(), "context"), f.contextWriter(t, alice(), "context"), f.contextWriter(t, alice(), "context")
		f.checkRows(t, alice(), q) // nothing of the round before
		first.mustWrite(t, put("state", "key", 0, "value", indexed("index", "entry")), put("state", "key\x00", 0, "value"), put("other", "key", 0, "value"))
		want := []store.Row{contextRow("context", "state", "key", 1, "value"), contextRow("context", "state", "key\x00", 1, "value")}
		first.delete(t)
		f.checkRows(t, alice(), q, want...)
		f.append(t, moveTo(second.task, 1, store.Parked))
		second.rev++
		third.delete(t) // a parked task is left
		f.checkRows(t, alice(), q, want...)
		if round == 1 {
			f.reopen(t)
			f.rebuild(t)
		}
		f.append(t, moveTo(second.task, second.rev, store.Live))
		second.rev++
		fourth := f.contextWriter(t, alice(), "context")
		fourth.delete(t) // a live task is left
		f.checkRows(t, alice(), q, want...)
		second.finish(t)
		fifth := f.contextWriter(t, alice(), "context")
		fifth.delete(t) // a task that has ended is left
		f.checkRows(t, alice(), q, want...)
		if err := f.next().Delete(t.Context(), alice(), second.task, nil); err != nil {
			t.Fatalf("Delete() = %v, want nil", err)
		}
		for _, kind := range []string{"state", "other"} {
			f.checkRows(t, alice(), store.RowQuery{Kind: kind, Context: "context"})
		}
		f.checkRows(t, alice(), store.RowQuery{Kind: "state", Index: "index"})
		f.checkRows(t, alice(), store.RowQuery{Kind: "state", Context: "contexts"}, contextRow("contexts", "state", "key", 1, "elsewhere"))
		f.checkRows(t, bob(), q, contextRow("context", "state", "key", 1, "foreign"))
		f.checkRows(t, alice(), store.RowQuery{Kind: "state", Key: []byte("key")}, row(store.TaskID{}, "state", "key", 1, "of the scope"))
	}
	// Tasks without a context are in none.
	without := createNamed(alice(), "")
	f.append(t, without)
	f.append(t, moveTo(without.Task, 1, store.Final))
	if err := f.next().Delete(t.Context(), alice(), without.Task, nil); err != nil {
		t.Fatalf("Delete() = %v, want nil", err)
	}
	f.checkRows(t, alice(), store.RowQuery{Kind: "state", Key: []byte("key")}, row(store.TaskID{}, "state", "key", 1, "of the scope"))
}

// A create that is committed before the deletion of the last task keeps the rows, and one
// that is committed after it finds none: never one without the other.
func testContextRowsDeletedMeanwhile(t *testing.T, f *fixture) {
	for round := range 20 {
		contextID := fmt.Sprint("round ", round)
		w := f.contextWriter(t, alice(), contextID)
		w.mustWrite(t, put("state", "key", 0, "value"))
		w.finish(t)
		next := createNamed(alice(), contextID)
		found := -1
		parallel(t, 2, func(i int) error {
			if i == 0 {
				return f.h[0].Delete(t.Context(), alice(), w.task, nil)
			}
			if _, err := do(t.Context(), f.h[1], next); err != nil {
				return err
			}
			rows, err := rowsAll(t.Context(), f.h[1], alice(), store.RowQuery{Kind: "state", Context: contextID})
			found = len(rows)
			return err
		})
		left := mustRows(t, f.next(), alice(), store.RowQuery{Kind: "state", Context: contextID})
		if found == 0 && len(left) > 0 || found < len(left) {
			t.Fatalf("%d rows after the create, %d in the end: rows came back", found, len(left))
		}
		if len(left) == 0 { // a create that is queued first keeps the rows
			again := f.contextWriter(t, alice(), contextID)
			again.mustWrite(t, put("state", "key", 0, "value"))
			again.finish(t)
			f.append(t, moveTo(next.Task, 1, store.Final))
			if err := f.h[0].Delete(t.Context(), alice(), next.Task, nil); err != nil {
				t.Fatalf("Delete() = %v, want nil", err)
			}
			queued := createNamed(alice(), contextID)
			commit := f.h[0].Append(t.Context(), queued)
			if err := f.h[0].Delete(t.Context(), alice(), again.task, nil); err != nil {
				t.Fatalf("Delete() = %v, want nil", err)
			}
			if _, err := await(commit); err != nil {
				t.Fatalf("Append() = %v, want nil", err)
			}
			f.checkRows(t, alice(), store.RowQuery{Kind: "state", Context: contextID}, contextRow(contextID, "state", "key", 1, "value"))
			next = queued
		}
		// The rows are those of the context as long as it has tasks.
		f.append(t, moveTo(next.Task, 1, store.Final))
		if err := f.next().Delete(t.Context(), alice(), next.Task, nil); err != nil {
			t.Fatalf("Delete() = %v, want nil", err)
		}
		f.checkRows(t, store.System(), store.RowQuery{Kind: "state"})
	}
}

func testContextRowsDeletedAtOnce(t *testing.T, f *fixture) {
	for round := range 10 {
		contextID := fmt.Sprint("round ", round)
		writers := make([]*contextWriter, 8)
		for i := range writers {
			writers[i] = f.contextWriter(t, alice(), contextID)
			writers[i].mustWrite(t, put("state", fmt.Sprint(i), 0, "value"))
			writers[i].finish(t)
		}
		parallel(t, len(writers), func(i int) error { return f.h[i%2].Delete(t.Context(), alice(), writers[i].task, nil) })
		f.checkRows(t, store.System(), store.RowQuery{Kind: "state"})
	}
}

// At every moment either the last task is found, and the rows are there, or neither.
func testContextRowsDeleteInterrupted(t *testing.T, f *fixture) {
	w := f.contextWriter(t, alice(), "context")
	w.mustWrite(t, put("state", "key", 0, "value"))
	for i := range 600 {
		f.append(t, chunks(w.task, 1, public("chunk %d", i)))
	}
	w.finish(t)
	s := alice()
	for n := 0; ; n++ {
		if n > 10_000 {
			t.Fatal("Delete() does not end")
		}
		err := f.next().Delete(newCountdown(t.Context(), n), s, w.task, nil)
		f.reopen(t)
		_, gone := readHeader(t.Context(), f.next(), w.task)
		rows := mustRows(t, f.next(), alice(), store.RowQuery{Kind: "state", Context: "context"})
		if (gone == nil) != (len(rows) == 1) {
			t.Fatalf("Read() = %v with %d rows", gone, len(rows))
		}
		if gone != nil {
			s = store.System()
		}
		if err == nil {
			break
		}
	}
	// A task that is being deleted is none of the context's.
	next := f.contextWriter(t, alice(), "context")
	next.mustWrite(t, put("state", "key", 0, "value"))
	next.delete(t)
	f.checkRows(t, store.System(), store.RowQuery{Kind: "state"})
}

func testContextRowsDisk(t *testing.T, f *fixture) {
	const begins = uint64(len("begins")) + store.TaskBytes
	want := uint64(0)
	check := func(when string) {
		t.Helper()
		if got := f.usedBy(t, alice()); got != want {
			t.Errorf("%s: alice uses %d bytes, want %d", when, got, want)
		}
	}
	// Creates with a bound are in another context.
	first, second := f.contextWriter(t, alice(), "counted"), f.contextWriter(t, alice(), "counted")
	first.mustWrite(t, put("state", "key", 0, strings.Repeat("x", 97))) // before anybody counts
	f.append(t, scopeRows(alice(), put("state", "scope", 0, "not counted")))
	foreign := f.contextWriter(t, bob(), "counted")
	foreign.mustWrite(t, put("state", "key", 0, "of bob"))
	want = 2*begins + 100
	check("after a row")
	second.mustWrite(t, put("state", "key", store.Any, strings.Repeat("x", 7)), put("other", "key", store.Any, strings.Repeat("x", 17)))
	want = 2*begins + 10 + 20
	check("after the row became smaller, and another one")
	f.reopen(t)
	check("after a reopen")
	second.mustWrite(t, remove("other", "key", store.Any), remove("other", "none", store.Any))
	want = 2*begins + 10
	check("after a removal")
	// A create in the same round as a row counts it.
	want += store.TaskBytes
	commits := []*store.Commit{
		f.h[0].Append(t.Context(), createDisk(0, store.Disk{Owner: want})),
		f.h[0].Append(t.Context(), second.batch(put("state", "more", 0, strings.Repeat("x", 996)))),
		f.h[0].Append(t.Context(), createDisk(0, store.Disk{Owner: want + 1000 + store.TaskBytes - 1})),
		f.h[0].Append(t.Context(), createDisk(0, store.Disk{Owner: want + 1000 + store.TaskBytes})),
	}
	for i, passes := range []bool{true, true, false, true} {
		_, err := await(commits[i])
		if _, full := errors.AsType[*store.DiskError](err); full == passes || passes && err != nil {
			t.Errorf("batch %d: Append() = %v, want that it passes: %t", i, err, passes)
		}
	}
	second.rev++
	want += 1000 + store.TaskBytes
	check("after a create")
	first.delete(t)
	want -= begins
	check("after the first task was deleted")
	second.delete(t)
	want -= begins + 10 + 1000
	check("after the last task was deleted")
	f.reopen(t)
	check("after another reopen")
	// Rows that are written, replaced and removed while the store counts are counted once.
	const contexts = 1500
	writers := make([]*contextWriter, contexts)
	for i := range writers {
		writers[i] = f.contextWriter(t, alice(), fmt.Sprint("context ", i))
		writers[i].mustWrite(t, put("state", "key", 0, "1234567"))
		want += begins + 10
	}
	f.reopen(t)
	commit := f.h[0].Append(t.Context(), createDisk(0, store.Disk{Owner: noBound}))
	want += store.TaskBytes
	for i := 0; i < contexts; i += 10 {
		switch i % 30 {
		case 0:
			writers[i].mustWrite(t, put("state", "key", store.Any, ""), put("state", "b", store.Any, strings.Repeat("x", 20)))
			want += 21 - 7
		case 10:
			writers[i].mustWrite(t, remove("state", "key", store.Any))
			want -= 10
		default:
			writers[i].delete(t)
			want -= begins + 10
		}
	}
	if _, err := await(commit); err != nil {
		t.Fatalf("Append() = %v, want nil", err)
	}
	check("after many")
}

func testContextRowsWatched(t *testing.T, f *fixture) {
	w := f.contextWriter(t, alice(), "context")
	wake, stop := f.h[0].WatchRows(store.System(), "state")
	defer stop()
	own, stopOwn := f.h[1].WatchRows(alice(), "state")
	defer stopOwn()
	foreign, stopForeign := f.h[1].WatchRows(bob(), "state")
	defer stopForeign()
	for i, write := range []func(){
		func() { w.mustWrite(t, put("state", "key", 0, "value")) },
		func() { w.mustWrite(t, put("state", "key", store.Any, "again")) },
		func() { w.mustWrite(t, remove("state", "key", store.Any), put("state", "b", 0, "")) },
		func() { w.delete(t) },
	} {
		write()
		receive(t, fmt.Sprint("system, step ", i), wake)
		receive(t, fmt.Sprint("alice, step ", i), own)
		select {
		case <-foreign:
			t.Errorf("step %d: bob was woken for a row of alice's", i)
		default:
		}
	}
	if got := mustRows(t, f.next(), store.System(), store.RowQuery{Kind: "state"}); len(got) != 0 {
		t.Errorf("Rows() = %v, want nothing", got)
	}
}
