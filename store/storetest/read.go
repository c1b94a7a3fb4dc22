package storetest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"a2a-server/store"
)

// endless is a time after everything that a case writes.
const endless store.Millis = 1 << 60

// diff compares values of the contract. A missing slice equals an empty slice.
func diff(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return "" // the rule, and go-cmp takes a thousand times as long to say so
	}
	notBytes := func(p gocmp.Path) bool { return p.Last().Type() != reflect.TypeFor[[]byte]() }
	return gocmp.Diff(want, got,
		gocmp.Comparer(func(a, b store.Scope) bool { return a == b }),
		gocmp.Comparer(bytes.Equal),
		gocmp.FilterPath(notBytes, cmpopts.EquateEmpty()))
}

// same fails the test unless got is want.
func same(t *testing.T, want, got any, what string, args ...any) {
	t.Helper()
	if d := diff(want, got); d != "" {
		t.Fatalf("%s (-want +got)\n%s", fmt.Sprintf(what, args...), d)
	}
}

// said returns the text of an error, or "<nil>": %w is for errors only.
func said(err error) string { return fmt.Sprint(err) }

// show returns the set fields of a batch, with the targets of its pointers.
func show(b *store.Batch) string { return diff(store.Batch{}, *b) }

func sameEvent(a, b store.Event) bool {
	return a.Seq == b.Seq && a.Pub == b.Pub && a.Public == b.Public && a.Bulk == b.Bulk && a.Kind == b.Kind && a.Time == b.Time && bytes.Equal(a.Data, b.Data)
}

// checkEvents compares first and explains afterwards: go-cmp is too slow for
// long logs.
func checkEvents(t *testing.T, what string, want, got []store.Event) {
	t.Helper()
	if slices.EqualFunc(want, got, sameEvent) {
		return
	}
	for i := range min(len(want), len(got)) {
		if !sameEvent(want[i], got[i]) {
			t.Fatalf("%s: event %d differs (-want +got)\n%s", what, i, diff(shorten(want[i]), shorten(got[i])))
		}
	}
	t.Fatalf("%s: %d events, want %d", what, len(got), len(want))
}

func shorten(e store.Event) store.Event {
	e.Data = fmt.Appendf(nil, "%d bytes: %.80q", len(e.Data), e.Data)
	return e
}

// readLog reads pages until there are no more. It checks each page by itself: header, events
// and More are of the same moment, and the limit holds.
func readLog(ctx context.Context, r store.Handle, s store.Scope, id store.TaskID, from store.From, limit store.Limit) (store.LogPage, error) {
	page, err := readPage(ctx, r, s, id, from, limit)
	if err != nil {
		return store.LogPage{}, err
	}
	all := page
	for page.More {
		if page, err = readPage(ctx, r, s, id, page.Next, limit); err != nil {
			return store.LogPage{}, err
		}
		// Concat, because the page may share its array with the store.
		all.Header, all.Events = page.Header, slices.Concat(all.Events, page.Events)
	}
	all.More = false
	return all, nil
}

func mustLog(t *testing.T, r store.Handle, s store.Scope, id store.TaskID, from store.From, limit store.Limit) store.LogPage {
	t.Helper()
	all, err := readLog(t.Context(), r, s, id, from, limit)
	if err != nil {
		t.Fatalf("Read(%+v, %+v) = %v, want nil", from, limit, err)
	}
	return all
}

func readPage(ctx context.Context, r store.Handle, s store.Scope, id store.TaskID, from store.From, limit store.Limit) (store.LogPage, error) {
	view, err := r.Read(ctx, s, id, from, limit)
	if err != nil {
		return store.LogPage{}, err
	}
	first, isAfter := from.Seq()
	if !isAfter {
		first = view.Header.Snapshot
	}
	if wantSnapshot := !isAfter && view.Header.Snapshot > 0; wantSnapshot != (view.Snapshot != nil) {
		return view, fmt.Errorf("view from %+v has snapshot %t with header %+v", from, view.Snapshot != nil, view.Header)
	}
	limit = limit.WithDefaults()
	last, size := first, 0
	if view.Header.Bulk > 0 && !isAfter {
		last = 0
	}
	for _, e := range view.Events {
		if e.Seq <= last || isAfter && view.Header.Bulk == 0 && e.Seq != last+1 {
			return view, fmt.Errorf("view from %+v has seq %d after %d", from, e.Seq, last)
		}
		last = e.Seq
		size += len(e.Data)
	}
	next, _ := view.Next.Seq()
	switch {
	case len(view.Events) > limit.Events:
		return view, fmt.Errorf("page of %d events, limit %d", len(view.Events), limit.Events)
	case len(view.Events) > 1 && size > limit.Bytes:
		return view, fmt.Errorf("page of %d bytes, limit %d", size, limit.Bytes)
	case len(view.Events) == 0 && view.More && !limit.NoBulk:
		return view, fmt.Errorf("empty page from %+v, last seq %d", from, view.Header.Seq)
	case view.More != (next < view.Header.Seq) || view.Header.Bulk == 0 && len(view.Events) > 0 && next != last:
		return view, fmt.Errorf("page up to %d says more = %t from %d on, of %d", last, view.More, next, view.Header.Seq)
	}
	return view, nil
}

// pages reads all pages of a list. It also rules out a cursor that leads to nothing: "" is the
// last page.
func pages[T any](limit int, page func(cursor string) ([]T, string, error)) (all []T, err error) {
	cursor := ""
	for n := range 100_000 {
		entries, next, err := page(cursor)
		switch {
		case err != nil:
			return nil, err
		case len(entries) > store.PageSize(limit):
			return nil, fmt.Errorf("page %d has %d entries, limit %d", n, len(entries), store.PageSize(limit))
		case len(entries) == 0 && (n > 0 || next != ""):
			return nil, fmt.Errorf("page %d is empty, next %q", n, next)
		}
		if all, cursor = append(all, entries...), next; cursor == "" {
			return all, nil
		}
	}
	return nil, errors.New("list does not end")
}

// listAll reads all pages of a list. total is the total that each page must have.
func listAll(ctx context.Context, r store.Handle, s store.Scope, q store.Query) (tasks []store.Header, total int64, err error) {
	tasks, err = pages(q.Limit, func(cursor string) ([]store.Header, string, error) {
		q.Cursor = cursor
		page, err := r.Tasks(ctx, s, q)
		if err == nil && cursor != "" && page.Total != total {
			err = fmt.Errorf("a page has total %d, the one before had %d", page.Total, total)
		}
		total = page.Total
		return page.Tasks, page.Next, err
	})
	return tasks, total, err
}

func mustList(t *testing.T, r store.Handle, s store.Scope, q store.Query) ([]store.Header, int64) {
	t.Helper()
	tasks, total, err := listAll(t.Context(), r, s, q)
	if err != nil {
		t.Fatalf("Tasks(%+v) = %v, want nil", q, err)
	}
	return tasks, total
}

// rowsAll reads all pages of rows.
func rowsAll(ctx context.Context, r store.Handle, s store.Scope, q store.RowQuery) ([]store.Row, error) {
	return pages(q.Limit, func(cursor string) ([]store.Row, string, error) {
		q.Cursor = cursor
		page, err := r.Rows(ctx, s, q)
		for i := range page.Rows { // cases compare what the rows are, and not how they were found
			key := page.Rows[i].IndexKey
			if page.Rows[i].IndexKey = nil; q.Index == "" && key != nil || !bytes.HasPrefix(key, q.Prefix) {
				return nil, "", fmt.Errorf("row %q was found by the key %q", page.Rows[i].Key, key)
			}
		}
		return page.Rows, page.Next, err
	})
}

func mustRows(t *testing.T, r store.Handle, s store.Scope, q store.RowQuery) []store.Row {
	t.Helper()
	rows, err := rowsAll(t.Context(), r, s, q)
	if err != nil {
		t.Fatalf("Rows(%+v) = %v, want nil", q, err)
	}
	return rows
}

// row is a row of alice's, or of a task of hers.
func row(id store.TaskID, kind, key string, rev uint64, value string) store.Row {
	return store.Row{Kind: kind, Task: id, Owner: alice(), Key: []byte(key), Rev: rev, Value: []byte(value)}
}

// dueFrom reads the due rows after a position, page by page, and returns them with
// the time of the first row that is not due (0: none).
func dueFrom(t *testing.T, r store.Handle, now store.Millis, after store.DuePosition, limit int) ([]store.Due, store.Millis) {
	t.Helper()
	var all []store.Due
	for {
		rows, next, err := r.Due(t.Context(), now, after, limit)
		if err != nil {
			t.Fatalf("Due(%d, limit %d) = %v, want nil", now, limit, err)
		}
		if after != "" && len(rows) > 0 && rows[0].Position == after {
			t.Fatalf("Due() after position %q has the row of it", after)
		}
		all = append(all, rows...)
		if next == 0 || next > now {
			return all, next
		}
		if len(rows) != store.PageSize(limit) {
			t.Fatalf("Due(%d, limit %d) = %d rows, next %d, want a full page before another one", now, limit, len(rows), next)
		}
		after = rows[len(rows)-1].Position
	}
}

// allDue reads all due rows, without positions, and with a canonical order where
// the contract has none.
func allDue(t *testing.T, r store.Handle) []store.Due {
	t.Helper()
	rows, next := dueFrom(t, r, endless, "", 1000)
	if next != 0 {
		t.Fatalf("Due() = next %d, want 0", next)
	}
	if !slices.IsSortedFunc(rows, func(a, b store.Due) int { return cmp.Compare(a.Time, b.Time) }) {
		t.Fatalf("Due() is not in the order of time: %v", rows)
	}
	seen := map[store.DuePosition]bool{"": true}
	for i := range rows {
		if seen[rows[i].Position] {
			t.Fatalf("Due() has position %q twice, or none", rows[i].Position)
		}
		seen[rows[i].Position] = true
		rows[i].Position = ""
	}
	return sortDue(rows)
}

func sortDue(rows []store.Due) []store.Due {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b store.Due) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), bytes.Compare(a.Task[:], b.Task[:]), cmp.Compare(a.Kind, b.Kind),
			bytes.Compare(a.Key, b.Key), bytes.Compare(a.Payload, b.Payload))
	})
	return rows
}

func sortRows(rows []store.Row) []store.Row {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b store.Row) int {
		owner, other := a.Owner.Key(), b.Owner.Key()
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), bytes.Compare(owner[:], other[:]), bytes.Compare(a.Task[:], b.Task[:]), cmp.Compare(a.Context, b.Context), bytes.Compare(a.Key, b.Key),
			cmp.Compare(a.Rev, b.Rev), bytes.Compare(a.Value, b.Value))
	})
	return rows
}

func mustAudit(t *testing.T, r store.Handle, after uint64, limit int) []store.AuditEntry {
	t.Helper()
	var all []store.AuditEntry
	for len(all) < limit {
		entries, err := r.Audit(t.Context(), after, limit-len(all))
		if err != nil {
			t.Fatalf("Audit() = %v, want nil", err)
		}
		if len(entries) == 0 {
			break
		}
		all = append(all, entries...)
		after = entries[len(entries)-1].N
	}
	return all
}

// contents is everything that can be read of a backend.
type contents struct {
	Headers []store.Header // newest id first
	Logs    [][]store.Event
	Tails   [][]store.Event // after the newest snapshot
	Snaps   [][]byte
	Lists   map[string][]store.Header
	Totals  map[string]int64
	Rows    map[string][]store.Row
	Due     []store.Due
	Audit   []store.AuditEntry
}

// kinds and indexes are the names of rows and indexes in use, where a name begins another.
func kinds() []string { return []string{"kind", "kinds"} }

func indexes() []string { return []string{"index", "inde"} }

// dump reads everything through a single handle.
func dump(t *testing.T, r store.Handle) contents {
	t.Helper()
	c := contents{Lists: map[string][]store.Header{}, Totals: map[string]int64{}, Rows: map[string][]store.Row{}}
	c.Headers, _ = mustList(t, r, store.System(), store.Query{Limit: 1000})
	contexts := map[string]bool{"": true}
	for _, h := range c.Headers {
		contexts[h.Context] = true
		log, tail := mustLog(t, r, store.System(), h.Task, store.After(0), store.Limit{}), mustLog(t, r, store.System(), h.Task, store.AtSnapshot(), store.Limit{})
		c.Logs, c.Tails, c.Snaps = append(c.Logs, log.Events), append(c.Tails, tail.Events), append(c.Snaps, tail.Snapshot, tail.Bulk)
	}
	scopes := append(owners(), store.Tenant("acme"), store.Tenant("beta"), store.System())
	for i, s := range scopes {
		for context := range contexts {
			for state := range store.MaxState + 1 {
				key := fmt.Sprint(i, context, state)
				c.Lists[key], c.Totals[key] = mustList(t, r, s, store.Query{Context: context, State: state, Limit: 1000})
			}
		}
		for _, kind := range kinds() {
			c.Rows[fmt.Sprint(i, kind)] = mustRows(t, r, s, store.RowQuery{Kind: kind})
			for _, index := range indexes() {
				c.Rows[fmt.Sprint(i, kind, index)] = mustRows(t, r, s, store.RowQuery{Kind: kind, Index: index})
			}
		}
	}
	c.Due = allDue(t, r)
	c.Audit = mustAudit(t, r, 0, 1_000_000)
	return c
}

// The store keeps a commit as a single value of the log, so only commits that were waited for
// in sequence make a log of many values.
func testReplayLong(t *testing.T, f *fixture) {
	const commits = 1500
	b := create(alice())
	f.append(t, b)
	var log history
	for i := range commits {
		events := mixed(1+i%17/16, fmt.Sprint("value ", i))
		f.append(t, chunks(b.Task, 1, events...))
		log.add(events...)
	}
	last := uint64(len(log.events))
	random := rand.New(rand.NewPCG(9, 10))
	for range 2 {
		for i, h := range f.h {
			var from []uint64
			for n := range uint64(20) {
				from = append(from, n, last-n)
			}
			for n := uint64(64); n < last; n *= 2 {
				from = append(from, n-1, n, n+1)
			}
			for range 50 {
				from = append(from, random.Uint64N(last+1))
			}
			for k, n := range from {
				limit := store.Limit{Events: []int{1, 5, 64, 512}[(k+i)%4]}
				view, err := readPage(t.Context(), h, alice(), b.Task, store.After(n), limit)
				if err != nil {
					t.Fatalf("Read(After(%d)) = %v, want nil", n, err)
				}
				tail := log.after(n)
				checkEvents(t, fmt.Sprintf("Read(After(%d))", n), tail[:min(len(view.Events), len(tail))], view.Events)
			}
			for _, limit := range []store.Limit{{}, {Events: 100}, {Bytes: 999}} {
				n := random.Uint64N(last / 2)
				view := mustLog(t, h, alice(), b.Task, store.After(n), limit)
				checkEvents(t, fmt.Sprintf("Read(After(%d))", n), log.after(n), view.Events)
			}
		}
		f.reopen(t)
	}
}

// A reader holds nothing of the store between two pages: every append returns
// while it stands still, and its first page stays what it was.
func testStoppedReader(t *testing.T, f *fixture) {
	const size, count = 256 << 10, 32
	random := rand.NewChaCha8([32]byte{11})
	noise := make([]byte, size+2*count)
	_, _ = random.Read(noise)
	tasks := []*store.Batch{create(alice(), mixed(100, "before")...), create(bob())}
	logs := make([]history, len(tasks))
	for i, b := range tasks {
		f.append(t, b)
		logs[i].add(b.Events...)
	}
	pages := make([]store.LogPage, len(f.h))
	for i, h := range f.h {
		var err error
		if pages[i], err = readPage(t.Context(), h, alice(), tasks[0].Task, store.After(0), store.Limit{Events: 10}); err != nil {
			t.Fatalf("Read() = %v, want nil", err)
		}
	}
	for n := range count {
		for i, b := range tasks {
			// Different bytes each time, without memory for each.
			e := store.Event{Public: true, Kind: "wire", Data: noise[2*n+i : 2*n+i+size]}
			logs[i].add(e)
			f.append(t, chunks(b.Task, 1, e))
		}
	}
	for i, h := range f.h {
		checkEvents(t, "the first page", logs[0].events[:10], pages[i].Events)
		rest := mustLog(t, h, alice(), tasks[0].Task, pages[i].Next, store.Limit{Bytes: 1 << 20})
		checkEvents(t, "Read()", logs[0].after(10), rest.Events)
		checkEvents(t, "Read()", logs[1].events, mustLog(t, h, bob(), tasks[1].Task, store.After(0), store.Limit{}).Events)
	}
}
