package boltfile

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
)

// A read that would show a commit which the disk does not have yet waits for it; not
// longer than it may, and not for one that will never come.
func TestReadWaitsForTheDisk(t *testing.T) {
	t.Parallel()
	nothing := func(*bolt.Tx) error { return nil }
	f := must(Open(filepath.Join(t.TempDir(), "store.db"), Options{Create: nothing, Prepare: func(*File) error { return nil }}))
	t.Cleanup(func() { _ = f.Close() })
	tx := must(f.Tx(true))
	newest := uint64(tx.ID())
	need(tx.Commit())
	f.Reach(newest)
	read := func(ctx context.Context) error { return f.View(ctx, func(*bolt.Tx) error { return nil }) }
	if err := read(context.Background()); err != nil {
		t.Fatalf("a read of what is durable: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		f.durable.id.Store(newest - 1) // the newest commit is written and not synced
		done := make(chan error)
		go func() { done <- read(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("a read of what is not durable was answered: %v", err)
		default:
		}
		f.durable.reach(newest)
		if err := <-done; err != nil {
			t.Errorf("a read after the sync: %v", err)
		}

		f.durable.id.Store(newest - 1)
		if err := read(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("a read beside a sync that hangs = %v, want ErrUnavailable", err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the client is gone")
		cancel(gone)
		if err := read(ctx); !errors.Is(err, gone) {
			t.Errorf("a read whose caller is gone = %v, want %v", err, gone)
		}

		go func() { done <- read(t.Context()) }()
		synctest.Wait()
		unknown := f.Fail(errors.New("the sync failed"))
		if err := <-done; !errors.Is(err, unknown) {
			t.Errorf("a read of a commit whose outcome is unknown = %v, want %v", err, unknown)
		}
	})
}

func must[T any](v T, err error) T {
	need(err)
	return v
}

func need(err error) {
	if err != nil {
		panic(err)
	}
}
