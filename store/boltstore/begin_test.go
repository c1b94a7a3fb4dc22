package boltstore_test

import (
	"os"
	"testing"
	"time"

	"a2a-server/store"
)

// soon fails the test when f does not return.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s does not return", what)
	}
}

// Whatever becomes of the pages that every transaction begins with, everybody is told, and the store
// can be closed. The next process refuses the file.
func TestBeginMeetsDamage(t *testing.T) {
	t.Parallel()
	page := int64(os.Getpagesize())
	zero := func(d *damaged, at, pages int64) error {
		_, err := d.file.WriteAt(make([]byte, pages*page), at*page)
		return err
	}
	for name, damage := range map[string]func(d *damaged, newest, root int64) error{
		"both meta pages":         func(d *damaged, _, _ int64) error { return zero(d, 0, 2) },
		"newest meta page":        func(d *damaged, newest, _ int64) error { return zero(d, newest, 1) },
		"root":                    func(d *damaged, _, root int64) error { return zero(d, root, 1) },
		"cut to nothing":          func(d *damaged, _, _ int64) error { return os.Truncate(d.path, 0) },
		"cut after one meta page": func(d *damaged, _, _ int64) error { return os.Truncate(d.path, page) },
		"cut after both":          func(d *damaged, _, _ int64) error { return os.Truncate(d.path, 2*page) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, rests, _, _ := newDamaged(t)
			meta, newest := newestMeta(d.bytes)
			need(damage(d, int64(newest), int64(order.Uint64(meta[16:]))))
			soon(t, "Read()", func() {
				unreadable(t, d.h, alice, rests, store.ErrDamaged)
			})
			hasFailed(t, d.db, d.h, d.path)
			if path := afterEnd(t, d.path); name == "newest meta page" {
				opens(t, path, "is an earlier version of the store")
			} else {
				refused(t, path)
			}
		})
	}
}
