package boltstore

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"

	"a2a-server/store"
)

// A read that would show a commit which the disk does not have yet waits for it; not
// longer than it may, and not for one that will never come.
func TestReadWaitsForTheDisk(t *testing.T) {
	t.Parallel()
	db := must(Open(filepath.Join(t.TempDir(), "store.db")))
	t.Cleanup(func() { _ = db.Close() })
	rev := uint64(0)
	b := &store.Batch{ // waits for the window, so that nobody else reads
		Scope: store.Owner("t", "alice"), Task: store.NewTaskID(), Rev: &rev, Dedup: store.Hash{1},
		Change: store.Change{Status: &store.Status{State: 2, Time: 1000}, Phase: store.Parked},
	}
	must(must(db.Handle()).Append(context.Background(), b).Wait())
	newest := db.durable.id.Load()
	read := func(ctx context.Context) error { return db.view(ctx, func(*image) error { return nil }) }
	if err := read(context.Background()); err != nil {
		t.Fatalf("a read of what is durable: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		db.durable.id.Store(newest - 1) // the newest commit is written and not synced
		done := make(chan error)
		go func() { done <- read(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("a read of what is not durable was answered: %v", err)
		default:
		}
		db.durable.reach(newest)
		if err := <-done; err != nil {
			t.Errorf("a read after the sync: %v", err)
		}

		db.durable.id.Store(newest - 1)
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
		unknown := db.fail(errors.New("the sync failed"), false)
		if err := <-done; !errors.Is(err, unknown) {
			t.Errorf("a read of a commit whose outcome is unknown = %v, want %v", err, unknown)
		}
	})
}
