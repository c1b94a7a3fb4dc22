package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"a2a-server/store"
)

// ofOwner makes a row a row of alice's.
func ofOwner(c store.RowChange) store.RowChange {
	c.Of = alice()
	return c
}

// need is a row of alice's, of kind "kind".
func need(key string, rev uint64) store.RowRef {
	return store.RowRef{Of: alice(), Kind: "kind", Key: []byte(key), Rev: rev}
}

func needing(b *store.Batch, needs ...store.RowRef) *store.Batch {
	b.Needs = append(b.Needs, needs...)
	return b
}

// Changes of tasks and batches without a task change the same row, which outlives the tasks.
func testOwnerRows(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	f.append(t, scopeRows(bob(), put("kind", "key", 0, "bob")))
	own := func(rev uint64, value string) store.Row { return row(store.TaskID{}, "kind", "key", rev, value) }
	query := store.RowQuery{Kind: "kind", Key: []byte("key")}
	f.append(t, with(change(b.Task, 1), ofOwner(put("kind", "key", 0, "one", indexed("index", "x"))), put("kind", "key", 0, "task")))
	f.checkRows(t, alice(), query, own(1, "one"))
	f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Task: b.Task}, row(b.Task, "kind", "key", 1, "task"))
	f.checkRows(t, store.Tenant("acme"), store.RowQuery{Kind: "kind", Index: "index", Prefix: []byte("x")}, own(1, "one"))
	f.append(t, scopeRows(alice(), put("kind", "key", 1, "two")))
	f.refuse(t, with(change(b.Task, 2), ofOwner(put("kind", "key", 1, "never"))), store.ErrConflict)
	f.append(t, with(change(b.Task, 2), ofOwner(put("kind", "key", 2, "three")), ofOwner(put("kind", "key", 3, "four"))))
	f.checkRows(t, alice(), query, own(4, "four"))
	f.append(t, moveTo(b.Task, 3, store.Final))
	f.delete(t, b.Task)
	f.rebuild(t)
	f.checkRows(t, alice(), query, own(4, "four"))
	f.checkRows(t, bob(), query, own(1, "bob"))
	f.append(t, with(create(alice()), ofOwner(put("kind", "key", 4, "five"))))
	f.append(t, with(create(alice()), ofOwner(remove("kind", "key", 5)), ofOwner(put("kind", "key", 0, "again"))))
	f.refuse(t, with(create(alice()), ofOwner(put("kind", "key", 5, "never"))), store.ErrConflict)
	f.reopen(t)
	f.checkRows(t, alice(), query, own(1, "again"))
}

func testNeeds(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	f.append(t, scopeRows(alice(), put("kind", "key", 0, "one"), put("kind", "key", 1, "two")))
	f.append(t, scopeRows(bob(), put("kind", "bob", 0, "one")))
	before := dump(t, f.h[0])
	for name, needs := range map[string][]store.RowRef{
		"an older rev":       {need("key", 1)},
		"a later rev":        {need("key", 3)},
		"absence":            {need("key", 0)},
		"presence":           {need("missing", 1)},
		"one of two":         {need("key", 2), need("missing", 1)},
		"any rev":            {need("key", store.Any)},
		"of another owner's": {need("bob", 1)},
		"of another kind":    {{Of: alice(), Kind: "kinds", Key: []byte("key"), Rev: 2}},
	} {
		t.Log(name)
		f.refuse(t, needing(with(change(b.Task, 1, public("never")), put("kind", "never", 0, "")), needs...), store.ErrConflict)
	}
	same(t, before, dump(t, f.h[1]), "contents after refused batches")
	f.append(t, needing(change(b.Task, 1, public("first")), need("key", 2), need("missing", 0)))
	// A need is checked before the changes of its own batch.
	f.append(t, needing(with(change(b.Task, 2), ofOwner(put("kind", "key", 2, "three"))), need("key", 2)))
	f.refuse(t, needing(with(change(b.Task, 3), ofOwner(put("kind", "key", 3, "never"))), need("key", 4)), store.ErrConflict)
	f.append(t, needing(create(alice()), need("key", 3)))
	f.refuse(t, needing(create(alice()), need("key", 2)), store.ErrConflict)
	f.append(t, scopeRows(alice(), remove("kind", "key", store.Any)))
	f.refuse(t, needing(change(b.Task, 3), need("key", 3)), store.ErrConflict)
}

// A batch that does not hold is refused whole. What it asks may read the store.
func testHolds(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	holds := false
	holding := func(b *store.Batch) *store.Batch {
		b.Holds = func() bool {
			_, err := f.h[0].Rows(context.Background(), alice(), store.RowQuery{Kind: "kind", Key: []byte("key")})
			return err == nil && holds
		}
		return b
	}
	before := dump(t, f.h[0])
	f.refuse(t, holding(with(change(b.Task, 1, public("never")), put("kind", "never", 0, ""), "never")), store.ErrConflict)
	f.refuse(t, holding(create(alice())), store.ErrConflict)
	same(t, before, dump(t, f.h[1]), "contents after refused batches")
	holds = true
	f.append(t, holding(change(b.Task, 1, public("first"))))
	f.append(t, holding(create(alice())))
}

// Forty rows are each needed by a chain of batches of a task, while another handle removes
// them: each batch that begins after the removal is acknowledged is refused.
func testNeedsRace(t *testing.T, f *fixture) {
	tasks := make([]*store.Batch, 4)
	for i := range tasks {
		tasks[i] = create(alice())
		f.append(t, tasks[i])
	}
	revs := []uint64{1, 1, 1, 1}
	for n := range 40 {
		key := fmt.Sprint("grant ", n)
		f.append(t, scopeRows(alice(), put("kind", key, 0, "")))
		var mu sync.Mutex
		removed := false
		parallel(t, len(tasks)+1, func(i int) error {
			if i == len(tasks) {
				_, err := do(context.Background(), f.h[n%2], scopeRows(alice(), remove("kind", key, store.Any)))
				mu.Lock()
				removed = true
				mu.Unlock()
				return err
			}
			for {
				mu.Lock()
				gone := removed
				mu.Unlock()
				_, err := do(context.Background(), f.h[i%2], needing(change(tasks[i].Task, revs[i], private("start by %s", key)), need(key, 1)))
				switch {
				case err == nil && gone:
					return errors.New("a batch has passed after the row that it needs was removed")
				case err == nil:
					revs[i]++
				case gone:
					return conflict(err)
				default:
					if err := conflict(err); err != nil {
						return err
					}
				}
			}
		})
	}
}

// Of fifty batches of several tasks that each count a row up to 20, 20 pass.
func testCountedRow(t *testing.T, f *fixture) {
	tasks := make([]store.TaskID, 5)
	for i := range tasks {
		b := create(alice())
		f.append(t, b)
		tasks[i] = b.Task
	}
	f.append(t, scopeRows(alice(), put("kind", "count", 0, "")))
	var mu sync.Mutex
	var used []uint64
	parallel(t, len(tasks), func(i int) error {
		rev := uint64(1)
		for passed := 0; passed < 10; {
			page, err := f.h[i%2].Rows(context.Background(), alice(), store.RowQuery{Kind: "kind", Key: []byte("count")})
			if err != nil || page.Rows[0].Rev > 20 {
				return err
			}
			at := page.Rows[0].Rev
			_, err = do(context.Background(), f.h[i%2], with(change(tasks[i], rev), ofOwner(put("kind", "count", at, ""))))
			if err != nil {
				if err := conflict(err); err != nil {
					return err
				}
				continue
			}
			rev, passed = rev+1, passed+1
			mu.Lock()
			used = append(used, at)
			mu.Unlock()
		}
		return nil
	})
	slices.Sort(used)
	if len(used) != 20 || len(slices.Compact(used)) != 20 {
		t.Errorf("the row was used %d times, want 20", len(used))
	}
}
