package boltstore_test

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// A message that has made a task long ago makes no second one when the file is closed
// while the window is still being loaded: what waits for the window is refused.
func TestCloseWhileWindowLoads(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tasks.db")
	owner := store.Owner("", "alice")
	db, err := boltstore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	h, err := db.Handle()
	if err != nil {
		t.Fatal(err)
	}
	const tasks = 10_000
	commits := make([]*store.Commit, tasks)
	var first store.Hash
	for i := range commits {
		b, _ := turn(owner)
		if i == 0 {
			first = b.Dedup
		}
		commits[i] = h.Append(t.Context(), b)
	}
	for _, c := range commits {
		if _, err := c.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := range 40 {
		db, err := boltstore.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		h, err := db.Handle()
		if err != nil {
			t.Fatal(err)
		}
		again, _ := turn(owner)
		again.Dedup = first
		var closing sync.WaitGroup
		c := h.Append(t.Context(), again)
		closing.Go(func() {
			<-time.After(time.Duration(i) * 100 * time.Microsecond)
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		_, err = c.Wait()
		var duplicate *store.DuplicateError
		switch {
		case errors.As(err, &duplicate):
		case errors.Is(err, store.ErrClosed):
			refused++
		default:
			t.Errorf("the first message again, closed after %d × 100 µs: %v, want that it is a duplicate, or that the store is closed", i, err)
		}
		closing.Wait()
	}
	t.Logf("%d of 40 were refused because the file was closed", refused)
}
