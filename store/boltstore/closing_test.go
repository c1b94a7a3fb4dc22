package boltstore_test

import (
	"errors"
	"path/filepath"
	"runtime"
	"testing"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// A create that waits until the window has been loaded, or all tasks have been counted, is
// answered when the file is closed meanwhile. The message of an old task makes no second one.
func TestCloseWhileItIsRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	db, h := handled(boltstore.Open(path))
	first, _ := turn(anonymous)
	commit(h, first)
	fill(t, h, anonymous, 3000)
	need(db.Close())
	for i := range 24 {
		db, h := handled(boltstore.Open(path))
		again, _ := turn(anonymous)
		if again.Dedup = first.Dedup; i%2 == 0 {
			again.Dedup, again.Disk = store.Hash{}, store.Disk{Owner: 1 << 40}
		}
		c := h.Append(t.Context(), again)
		for range i * 100 {
			runtime.Gosched()
		}
		need(db.Close())
		_, err := c.Wait()
		_, duplicate := errors.AsType[*store.DuplicateError](err)
		if passes := i%2 == 0 && err == nil; !passes && !duplicate && !errors.Is(err, store.ErrClosed) {
			t.Errorf("try %d: Append() while the file is closed = %v, want that it is a duplicate, or that the store is closed", i, err)
		}
	}
}
