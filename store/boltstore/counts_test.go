package boltstore_test

import (
	"context"
	"path/filepath"
	"testing"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// Lists leave nothing behind that grows: those with a time filter count by themselves,
// and one that fails leaves no counter that nobody would ever finish.
func TestListsLeaveNoCounter(t *testing.T) {
	t.Parallel()
	db := must(boltstore.Open(filepath.Join(t.TempDir(), "tasks.db")))
	t.Cleanup(func() { _ = db.Close() })
	h := must(db.Handle())
	owner := store.Owner("", "alice")
	ended, end := context.WithCancel(t.Context())
	end()
	for range 100 {
		if page, err := h.Tasks(t.Context(), owner, store.Query{Since: 1}); err != nil || page.Total < 0 {
			t.Fatalf("Tasks() = total %d, %v, want a total", page.Total, err)
		}
		if _, err := h.Tasks(ended, owner, store.Query{}); err == nil {
			t.Fatal("Tasks() of a caller that has gone = nil, want an error")
		}
		b, _ := turn(owner)
		commit(h, b)
	}
	if kept, counting := db.Counters(); kept != 0 || counting != 0 {
		t.Errorf("%d counters are kept and %d are being counted, want none", kept, counting)
	}
}

// A list costs the same however many tasks are at work: of others, and of the caller beyond
// the page.
func TestListPassesOverOthersAtWork(t *testing.T) { //nolint:paralleltest // it counts allocations
	h := open(t, filepath.Join(t.TempDir(), "tasks.db"))
	alice, bob := store.Owner("", "alice"), store.Owner("", "bob")
	begin := func(owner store.Scope, n int) {
		var all []*store.Commit
		for range n {
			b, _ := turn(owner)
			all = append(all, h.Append(t.Context(), b))
		}
		waitAll(all)
	}
	list := func() {
		if page, err := h.Tasks(t.Context(), bob, store.Query{Limit: 1}); err != nil || len(page.Tasks) != 1 {
			t.Fatalf("Tasks() = %d, %v, want the one at work", len(page.Tasks), err)
		}
	}
	begin(bob, 1)
	alone := testing.AllocsPerRun(10, list)
	begin(alice, 500)
	if n := testing.AllocsPerRun(10, list); n > alone+100 {
		t.Errorf("a list beside 500 tasks of another caller makes %.0f allocations, want %.0f as without them", n, alone)
	}
	begin(bob, 500)
	if n := testing.AllocsPerRun(10, list); n > alone+100 {
		t.Errorf("a page of one of 501 tasks at work makes %.0f allocations, want %.0f as when there is one", n, alone)
	}
}
