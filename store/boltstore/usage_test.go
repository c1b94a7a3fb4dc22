package boltstore_test

import (
	"errors"
	"path/filepath"
	"testing"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// A create that waits until all tasks have been counted is answered when the file is
// closed: it has passed, or the store is closed.
func TestCloseWhileCounting(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tasks.db")
	owner := store.Owner("", "alice")
	open := func() (*boltstore.DB, store.Handle) {
		t.Helper()
		db, err := boltstore.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		h, err := db.Handle()
		if err != nil {
			t.Fatal(err)
		}
		return db, h
	}
	db, h := open()
	commits := make([]*store.Commit, 10_000)
	for i := range commits {
		b, _ := turn(owner)
		commits[i] = h.Append(t.Context(), b)
	}
	for _, c := range commits {
		if _, err := c.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	refused := 0
	for range 5 {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db, h = open()
		b, _ := turn(owner)
		b.Dedup, b.Disk = store.Hash{}, store.Disk{Owner: 1 << 40}
		c := h.Append(t.Context(), b)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		switch _, err := c.Wait(); {
		case errors.Is(err, store.ErrClosed):
			refused++
		case err != nil:
			t.Errorf("Append() while the file is closed = %v, want nil or that the store is closed", err)
		}
	}
	t.Logf("%d of 5 were refused because the file was closed", refused)
}
