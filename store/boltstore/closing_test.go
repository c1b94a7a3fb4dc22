package boltstore_test

import (
	"errors"
	"path/filepath"
	"runtime"
	"testing"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// A create that waits until all tasks have been counted is answered when the file is closed
// meanwhile.
func TestCloseWhileItIsRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	db, h := handled(boltstore.Open(path))
	fill(t, h, anonymous, 3000)
	need(db.Close())
	for i := range 24 {
		db, h := handled(boltstore.Open(path))
		bounded, _ := turn(anonymous)
		bounded.Disk.Owner = 1 << 40
		c := h.Append(t.Context(), bounded)
		for range i * 100 {
			runtime.Gosched()
		}
		need(db.Close())
		if _, err := c.Wait(); err != nil && !errors.Is(err, store.ErrClosed) {
			t.Errorf("try %d: Append() while the file is closed = %v, want none or ErrClosed", i, err)
		}
	}
}
