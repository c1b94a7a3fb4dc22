package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"a2a-server/store"
)

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

// contextRow is the result of a query for a row of a context.
func contextRow(contextID, key string, rev uint64, value string) store.Row {
	r := row(store.TaskID{}, "kind", key, rev, value)
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
	b := with(change(w.task, w.rev), ofContext(changes...))
	b.ContextRows = w.bound
	return b
}

func (w *contextWriter) write(t *testing.T, changes ...store.RowChange) {
	t.Helper()
	w.f.append(t, w.batch(changes...))
	w.rev++
}

func (w *contextWriter) finish(t *testing.T) {
	t.Helper()
	w.f.append(t, moveTo(w.task, w.rev, store.Final))
	w.rev++
}

func (w *contextWriter) delete(t *testing.T) {
	t.Helper()
	w.finish(t)
	w.f.delete(t, w.task)
}

func testContextRowQueries(t *testing.T, f *fixture) {
	w := f.contextWriter(t, alice(), "context")
	w.write(t, put("kind", "key", 0, "value"), put("kind", "other", 0, "value"))
	page, err := f.h[0].Rows(t.Context(), alice(), store.RowQuery{Kind: "kind", Context: "context", Limit: 1})
	if err != nil || page.Next == "" {
		t.Fatalf("Rows() = %v, %v, want a cursor", page, err)
	}
	for name, c := range map[string]struct {
		scope store.Scope
		query store.RowQuery
		want  error
	}{
		"a context of a tenant":           {store.Tenant("acme"), store.RowQuery{Context: "context"}, store.ErrInvalid},
		"a context of the system":         {store.System(), store.RowQuery{Context: "context", Key: []byte("key")}, store.ErrInvalid},
		"a context and a task":            {alice(), store.RowQuery{Context: "context", Task: w.task}, store.ErrInvalid},
		"a key of nothing":                {store.System(), store.RowQuery{Key: []byte("key")}, store.ErrInvalid},
		"a prefix without an index":       {alice(), store.RowQuery{Context: "context", Prefix: []byte("k")}, store.ErrInvalid},
		"a cursor without its context":    {alice(), store.RowQuery{Cursor: page.Next}, store.ErrCursor},
		"a cursor of another context":     {alice(), store.RowQuery{Context: "contexts", Cursor: page.Next}, store.ErrCursor},
		"a cursor of a context in a task": {alice(), store.RowQuery{Task: w.task, Cursor: page.Next}, store.ErrCursor},
	} {
		c.query.Kind = "kind"
		for _, h := range f.h {
			if page, err := h.Rows(t.Context(), c.scope, c.query); !errors.Is(err, c.want) {
				t.Errorf("%s: Rows() = %v, %v, want %v", name, page.Rows, err, c.want)
			}
		}
	}
}

// full returns a check for the error of a bound. It is safe in any goroutine.
func full(limit store.RowBound) func(error) error {
	return func(err error) error {
		if full, ok := errors.AsType[*store.ContextRowsError](err); !ok || full.Limit != limit || full.Kind != "kind" {
			return fmt.Errorf("Append() = %s, want a ContextRowsError of %+v", said(err), limit)
		}
		return nil
	}
}

func testContextRowBound(t *testing.T, f *fixture) {
	w, other := f.contextWriter(t, alice(), "context"), f.contextWriter(t, alice(), "context")
	limit := store.RowBound{Rows: 4, Bytes: 20}
	w.bound, other.bound = limit, limit
	of := func(key string, n int) store.RowChange { return put("kind", key, store.Any, strings.Repeat("x", n)) }
	refused := func(w *contextWriter, changes ...store.RowChange) {
		t.Helper()
		before := dump(t, f.h[0])
		_, err := do(t.Context(), f.next(), w.batch(changes...))
		if err := full(w.bound)(err); err != nil {
			t.Error(err)
		}
		same(t, before, dump(t, f.h[1]), "contents after a refused batch")
	}
	refused(w, of("k", 20))
	w.write(t, of("a", 9))                         // 10 bytes
	refused(other, of(strings.Repeat("b", 11), 0)) // keys count
	refused(other, of("b", 4), of("c", 5))
	other.write(t, of("b", 9)) // 20 bytes
	refused(w, of("", 1))
	w.write(t, of("", 0))                                                // an empty row has no bytes
	w.write(t, of("d", 100), remove("kind", "d", store.Any), of("b", 9)) // only the outcome of a batch counts
	refused(w, remove("kind", "b", store.Any), remove("kind", "b", store.Any), of("b", 10))
	// Rows of other kinds, tasks, scopes, contexts and owners do not count.
	f.append(t, with(w.batch(put("kinds", "key", store.Any, strings.Repeat("x", 17)), of("b", 9)), put("kind", "task", store.Any, strings.Repeat("x", 100))))
	w.rev++
	f.append(t, scopeRows(alice(), of("scope", 100)))
	for _, elsewhere := range []*contextWriter{f.contextWriter(t, alice(), "contexts"), f.contextWriter(t, bob(), "context")} {
		elsewhere.bound = limit
		elsewhere.write(t, of("key", 17))
		refused(elsewhere, of("key", 18))
	}
	// A batch without a bound is not limited. Rows above a bound may shrink, and not grow.
	w.bound = store.RowBound{}
	w.write(t, of("large", 95)) // the fourth row
	w.bound = limit
	refused(w, of("large", 96))
	w.write(t, of("large", 94))
	for _, again := range []func(*testing.T){f.rebuild, f.reopen} {
		again(t)
		refused(w, of("large", 95))
	}
	w.bound.Bytes = 0
	refused(w, of("e", 0))
	w.write(t, of("e", 0), remove("kind", "a", store.Any))
}

func testContextRowsDeleted(t *testing.T, f *fixture) {
	q := store.RowQuery{Kind: "kind", Context: "context"}
	f.contextWriter(t, alice(), "contexts").write(t, put("kind", "key", 0, "elsewhere"))
	f.contextWriter(t, bob(), "context").write(t, put("kind", "key", 0, "foreign"))
	f.append(t, scopeRows(alice(), put("kind", "key", 0, "of the scope")))
	w, left := f.contextWriter(t, alice(), "context"), f.contextWriter(t, alice(), "context")
	w.write(t, put("kind", "key", 0, "value", indexed("index", "entry")), put("kinds", "key", 0, "value"))
	w.delete(t)
	for _, phase := range []store.Phase{store.Parked, store.Live, store.Final} { // of the task that is left
		f.append(t, moveTo(left.task, left.rev, phase))
		left.rev++
		f.contextWriter(t, alice(), "context").delete(t)
		f.checkRows(t, alice(), q, contextRow("context", "key", 1, "value"))
		f.reopen(t)
	}
	f.delete(t, left.task)
	without := f.contextWriter(t, alice(), "") // a task without a context is in none
	without.delete(t)
	f.checkRows(t, alice(), q)
	f.checkRows(t, alice(), store.RowQuery{Kind: "kinds", Context: "context"})
	f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Index: "index"})
	f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Context: "contexts"}, contextRow("contexts", "key", 1, "elsewhere"))
	f.checkRows(t, bob(), q, contextRow("context", "key", 1, "foreign"))
	f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Key: []byte("key")}, row(store.TaskID{}, "kind", "key", 1, "of the scope"))
}

// A create that is committed before the deletion of the last task keeps the rows, and a create
// after it finds none: never one without the other.
func testContextRowsDeletedMeanwhile(t *testing.T, f *fixture) {
	for round := range 20 {
		contextID := fmt.Sprint("round ", round)
		q := store.RowQuery{Kind: "kind", Context: contextID}
		w := f.contextWriter(t, alice(), contextID)
		w.write(t, put("kind", "key", 0, "value"))
		w.finish(t)
		next := createNamed(alice(), contextID)
		found := -1
		if round%2 == 0 { // a create that is queued first keeps the rows
			commit := f.h[0].Append(t.Context(), next)
			f.delete(t, w.task)
			durable(t, commit)
			f.checkRows(t, alice(), q, contextRow(contextID, "key", 1, "value"))
		} else {
			parallel(t, 2, func(i int) error {
				if i == 0 {
					return f.h[0].Delete(t.Context(), alice(), w.task, nil)
				}
				if _, err := do(t.Context(), f.h[1], next); err != nil {
					return err
				}
				rows, err := rowsAll(t.Context(), f.h[1], alice(), q)
				found = len(rows)
				return err
			})
			if left := mustRows(t, f.next(), alice(), q); found < len(left) {
				t.Fatalf("%d rows after the create, %d in the end: rows came back", found, len(left))
			}
		}
		// The context keeps its rows as long as it has tasks.
		f.append(t, moveTo(next.Task, 1, store.Final))
		f.delete(t, next.Task)
		f.checkRows(t, store.System(), store.RowQuery{Kind: "kind"})
	}
}

func testContextRowsDeletedAtOnce(t *testing.T, f *fixture) {
	for round := range 10 {
		writers := make([]*contextWriter, 8)
		for i := range writers {
			writers[i] = f.contextWriter(t, alice(), fmt.Sprint("round ", round))
			writers[i].write(t, put("kind", fmt.Sprint(i), 0, "value"))
			writers[i].finish(t)
		}
		parallel(t, len(writers), func(i int) error { return f.h[i%2].Delete(t.Context(), alice(), writers[i].task, nil) })
		f.checkRows(t, store.System(), store.RowQuery{Kind: "kind"})
	}
}

// At every moment either the last task is found, and the rows are there, or neither.
func testContextRowsDeleteInterrupted(t *testing.T, f *fixture) {
	w := f.contextWriter(t, alice(), "context")
	w.write(t, put("kind", "key", 0, "value"))
	for i := range 600 {
		f.append(t, chunks(w.task, 1, public("chunk %d", i)))
	}
	w.finish(t)
	f.interrupt(t, alice(), w.task, nil, func(error) {
		f.reopen(t)
		_, gone := readHeader(t.Context(), f.next(), w.task)
		rows := mustRows(t, f.next(), alice(), store.RowQuery{Kind: "kind", Context: "context"})
		if (gone == nil) != (len(rows) == 1) {
			t.Fatalf("Read() = %v with %d rows", gone, len(rows))
		}
	})
	// A task that is being deleted is none of the context's.
	next := f.contextWriter(t, alice(), "context")
	next.write(t, put("kind", "key", 0, "value"))
	next.delete(t)
	f.checkRows(t, store.System(), store.RowQuery{Kind: "kind"})
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
	value := func(n int) string { return strings.Repeat("x", n) }
	// Creates with a bound are in another context.
	first, second := f.contextWriter(t, alice(), "counted"), f.contextWriter(t, alice(), "counted")
	first.write(t, put("kind", "key", 0, value(97))) // before the store has counted
	f.append(t, scopeRows(alice(), put("kind", "scope", 0, "not counted")))
	f.contextWriter(t, bob(), "counted").write(t, put("kind", "key", 0, "of bob"))
	want = 2*begins + 100
	check("after a row")
	second.write(t, put("kind", "key", store.Any, value(7)), put("kinds", "key", 0, value(17)))
	want = 2*begins + 10 + 20
	check("after the row became smaller, and another one")
	f.reopen(t)
	check("after a reopen")
	second.write(t, remove("kinds", "key", store.Any), remove("kinds", "none", store.Any))
	want = 2*begins + 10
	check("after a removal")
	// A create in the same round as a row counts it.
	want += store.TaskBytes
	commits := []*store.Commit{
		f.h[0].Append(t.Context(), createDisk(0, store.Disk{Owner: want})),
		f.h[0].Append(t.Context(), second.batch(put("kind", "more", 0, value(996)))),
		f.h[0].Append(t.Context(), createDisk(0, store.Disk{Owner: want + 1000 + store.TaskBytes - 1})),
		f.h[0].Append(t.Context(), createDisk(0, store.Disk{Owner: want + 1000 + store.TaskBytes})),
	}
	checkCommits(t, commits, []bool{true, true, false, true}, fullDisk)
	second.rev++
	want += 1000 + store.TaskBytes
	check("after a create")
	first.delete(t)
	second.delete(t)
	want -= 2*begins + 10 + 1000
	check("after the last task was deleted")
}

// interrupt deletes a task with a context that ends a little later each time, until that
// passes, and calls between after each. Once the task is gone it continues as System.
func (f *fixture) interrupt(t *testing.T, s store.Scope, id store.TaskID, audit []byte, between func(err error)) {
	t.Helper()
	for n := range 10_000 {
		err := f.next().Delete(newCountdown(t.Context(), n), s, id, audit)
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("Delete() = %v, want nil or %v", err, context.Canceled)
		}
		if between(err); err == nil {
			return
		}
		if _, err := readHeader(t.Context(), f.next(), id); errors.Is(err, store.ErrNotFound) {
			s = store.System()
		}
	}
	t.Fatal("Delete() does not end")
}
