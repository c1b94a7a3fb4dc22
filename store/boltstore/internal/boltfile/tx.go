package boltfile

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"a2a-server/store"
)

// Tx begins a bbolt transaction, or returns store.ErrDataLoss. Without a valid meta page bbolt
// panics in Begin and keeps its locks, so that every later Begin, and Close, would wait
// forever. Without the newest meta page it would begin at the previous commit: everything
// acknowledged since would be missing, and its pages would be overwritten.
func (f *File) Tx(writable bool) (*bolt.Tx, error) {
	f.beginning.Lock()
	defer f.beginning.Unlock()
	if f.isStuck() {
		return nil, fmt.Errorf("%w: its meta pages are gone", store.ErrDataLoss)
	}
	oldest := f.durable.id.Load()
	if writable {
		oldest++
	}
	if _, ok := f.Metas.newest(); !ok {
		return nil, fmt.Errorf("%w: neither of its meta pages is valid", store.ErrDataLoss)
	}
	tx, err := f.boltTx(writable)
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return nil, store.ErrClosed
	} else if err != nil {
		return nil, fmt.Errorf("begin transaction: %w", err)
	}
	if id := uint64(tx.ID()); id < oldest {
		_ = tx.Rollback()
		return nil, fmt.Errorf("%w: its newest meta page is not valid", store.ErrDataLoss)
	}
	return tx, nil
}

// boltTx begins a bbolt transaction. A meta page that vanishes just now, after it was
// checked, makes bbolt panic after all: then no other transaction begins, and the file is
// not closed, because each of them would wait for the locks that bbolt keeps.
func (f *File) boltTx(writable bool) (*bolt.Tx, error) {
	defer func() {
		if p := recover(); p != nil {
			_ = f.SetReadOnly(p, true /* locked */)
			f.mu.Lock()
			f.stuck = true
			f.mu.Unlock()
			panic(p)
		}
	}()
	return f.bolt.Begin(writable)
}

func (f *File) isStuck() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stuck
}

// View runs fn with a read transaction of the file. fn must copy the values that it keeps, and
// must not block: an open transaction delays the writer when the file has to grow. A fault
// while reading is store.ErrDataLoss, not a crash.
func (f *File) View(ctx context.Context, fn func(im *Image) error) (err error) {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("read store: %w", context.Cause(ctx))
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	tx, err := f.begin(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = f.unreadable(p)
		}
		_ = tx.Rollback() // a read transaction has nothing to lose
	}()
	return fn(NewImage(tx))
}

// unreadable returns the error of a read that met damage.
func (f *File) unreadable(p any) error {
	if f.OnDamage != nil {
		if err := f.OnDamage(p); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: a page of %s cannot be read: %v", store.ErrDataLoss, f.path, p)
}

// begin begins a read transaction of the durable state.
func (f *File) begin(ctx context.Context) (tx *bolt.Tx, err error) {
	defer func() {
		if p := recover(); p != nil {
			tx, err = nil, fmt.Errorf("%w: %s: %v", store.ErrDataLoss, f.path, p)
		}
	}()
	for {
		if tx, err = f.Tx(false /* writable */); err != nil {
			return nil, fmt.Errorf("read %s: %w", f.path, err)
		}
		id := uint64(tx.ID())
		if id <= f.durable.id.Load() {
			return tx, nil
		}
		// Not held while waiting: it would keep pages from being used again.
		_ = tx.Rollback()
		if err := f.durable.wait(ctx, id, f.Err); err != nil {
			return nil, err
		}
	}
}

// Rollback undoes a transaction in which bbolt panicked; it may panic again.
func Rollback(tx *bolt.Tx) (done bool) {
	defer func() { done = recover() == nil && done }()
	_ = tx.Rollback() // an already closed channel is as good
	return true
}
