package boltstore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// A list, its total and the rows of an index are whole or unavailable, also when the index is
// dropped while a reader is about to begin.
func TestListsWhileTheIndexIsRebuilt(t *testing.T) {
	t.Parallel()
	db, h := handled(boltstore.Options{Ahead: 1 << 20}.Open(filepath.Join(inMemory(t), "store.db")))
	defer func() { _ = db.Close() }()
	owner := store.Owner("t", "reader")
	const tasks, rebuilds = 30, 15
	for range tasks {
		c, _ := turn(owner)
		c.Change.Context, c.Change.Phase = "context", store.Parked
		c.Rows = []store.RowChange{{Kind: "approval", Key: []byte{1}, IfRev: store.Any, Value: []byte("v"), Index: []store.IndexKey{{Index: "pending", Key: []byte("p")}}}}
		commit(h, c)
	}
	var reading sync.WaitGroup
	var over atomic.Bool
	for n := range 6 {
		reading.Go(func() {
			for !over.Load() {
				var found int
				var err error
				if n%2 == 0 {
					var page store.TaskPage
					page, err = h.Tasks(t.Context(), owner, store.Query{Context: "context"})
					if found = len(page.Tasks); err == nil && page.Total != tasks {
						t.Errorf("a total of %d, want %d", page.Total, tasks)
					}
				} else {
					var page store.RowPage
					page, err = h.Rows(t.Context(), store.System(), store.RowQuery{Kind: "approval", Index: "pending"})
					found = len(page.Rows)
				}
				if err != nil && !errors.Is(err, store.ErrUnavailable) || err == nil && found != tasks {
					t.Errorf("found %d, %v; want %d or ErrUnavailable", found, err, tasks)
				}
			}
		})
	}
	reading.Go(func() {
		for !over.Load() {
			c, _ := turn(alice)
			if _, err := h.Append(t.Context(), c).Wait(); err != nil {
				t.Error(err)
			}
		}
	})
	for range rebuilds {
		need(db.Rebuild(t.Context()))
	}
	over.Store(true)
	reading.Wait()
}

// dropRefused is a process that meets damage in an index while the disk refuses to be written:
// that is no damage of the rest, and ends with the disk's trouble.
func dropRefused(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	db, h := handled(boltstore.Options{Ahead: -1}.Open(path))
	for range 200 {
		create, _ := turn(alice)
		commit(h, create)
	}
	need(db.Close())
	root := must(rootOf(path, "live"))
	db = must((boltstore.Options{Ahead: -1}).Open(path))
	h = must(db.Handle())
	file := must(os.OpenFile(path, os.O_RDWR, 0))
	var count [2]byte
	must(file.ReadAt(count[:], root+10))
	binary.NativeEndian.PutUint16(count[:], binary.NativeEndian.Uint16(count[:])-1)
	must(file.WriteAt(count[:], root+10))
	need(errors.Join(file.Close(), limitFiles(8192)))
	create, _ := turn(alice)
	if _, err := h.Append(context.Background(), create).Wait(); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrReadOnly) {
		return fmt.Errorf("Append() while the disk refuses = %w, want ErrUnavailable", err)
	}
	need(limitFiles(1 << 40))
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		create, _ := turn(alice)
		_, err := h.Append(context.Background(), create).Wait()
		if err == nil {
			break
		}
		if !errors.Is(err, store.ErrUnavailable) || time.Since(began) > time.Minute {
			return fmt.Errorf("Append() after the disk has room = %w, want nil", err)
		}
	}
	need(db.Rebuild(context.Background()))
	return db.Close()
}

// rootOf returns where the root page of a bucket is in a file.
func rootOf(path, bucket string) (at int64, err error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		return 0, err
	}
	err = db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		if b == nil || b.Root() == 0 {
			return fmt.Errorf("bucket %s has no page of its own", bucket)
		}
		at = int64(b.Root()) * int64(db.Info().PageSize)
		return nil
	})
	return at, errors.Join(err, db.Close())
}

// Damage in an index while the disk is full does not make the store read-only.
func TestDamagedIndexOnAFullDisk(t *testing.T) {
	t.Parallel()
	inChild(t, "drop")
}
