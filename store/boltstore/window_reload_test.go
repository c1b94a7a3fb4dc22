package boltstore_test

import (
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// A store that is opened again remembers what it remembered: creations that it had
// forgotten because they were older than an hour take no room from newer ones.
func TestReopenedWindowPrefersWhatIsNew(t *testing.T) {
	t.Parallel()
	const size = 4
	var ran atomic.Int64
	opts := boltstore.Options{Window: size, Running: func() time.Duration { return time.Duration(ran.Load()) }}
	path := filepath.Join(t.TempDir(), "tasks.db")
	open := func() (*boltstore.DB, store.Handle) {
		t.Helper()
		db := must(opts.Open(path))
		h := must(db.Handle())
		return db, h
	}
	create := func(h store.Handle, owner store.Scope, ago time.Duration, n byte) *store.Batch {
		t.Helper()
		b, _ := turn(owner)
		ms := int64(b.Task.Created()) - ago.Milliseconds() + int64(n)
		for i := range 6 {
			b.Task[i] = byte(ms >> (40 - 8*i))
		}
		commit(h, b)
		return b
	}
	db, h := open()
	for n := range byte(size) {
		create(h, store.Owner("", "bob"), 2*time.Hour, n)
	}
	ran.Add(int64(2 * time.Hour)) // what bob has sent is forgotten
	var newest []*store.Batch
	for n := range byte(size) {
		newest = append(newest, create(h, store.Owner("", "alice"), 0, n))
	}
	for _, reopened := range []bool{false, true} {
		if reopened {
			need(db.Close())
			db, h = open()
		}
		for i, b := range newest {
			again, _ := turn(store.Owner("", "alice"))
			again.Dedup = b.Dedup
			var duplicate *store.DuplicateError
			if _, err := h.Append(t.Context(), again).Wait(); !errors.As(err, &duplicate) || duplicate.Task != b.Task {
				t.Errorf("reopened %t: message %d of the newest %d again = %v, want that it is a duplicate", reopened, i, size, err)
			}
		}
	}
	need(db.Close())
}
