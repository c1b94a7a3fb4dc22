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

// Tx begins a bbolt transaction. If that panics, or begins at an older commit than the newest that
// is durable, the file is broken: everything acknowledged since would be missing, and its pages would
// be overwritten.
func (f *File) Tx(writable bool) (tx *bolt.Tx, err error) {
	f.beginning.Lock() // bbolt keeps its locks when Begin panics: no other transaction may wait for them
	defer f.beginning.Unlock()
	defer func() {
		if p := recover(); p != nil {
			tx, err = nil, f.Break(p)
		}
	}()
	if err := f.Failure(); err != nil {
		return nil, err
	}
	if _, valid := f.Space.metas.newest(); !valid {
		return nil, f.Break("neither meta page is valid") // Begin would panic with the lock that a commit waits for
	}
	oldest := f.durable.id.Load()
	if writable {
		oldest++
	}
	tx, err = f.bolt.Begin(writable)
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return nil, store.ErrClosed
	} else if err != nil {
		return nil, fmt.Errorf("begin transaction: %w", err)
	}
	if id := uint64(tx.ID()); id < oldest {
		_ = tx.Rollback() // it has read nothing
		return nil, f.Break(fmt.Sprintf("its newest meta page is not valid: it begins at transaction %d, and %d was durable", id, oldest))
	}
	return tx, nil
}

// View runs fn with a read transaction of the file. fn must copy the values that it keeps, and
// must not block: an open transaction delays the writer when the file has to grow. A panic or a fault
// in fn breaks the file; see [File.Break].
func (f *File) View(ctx context.Context, fn func(tx *bolt.Tx) error) (err error) {
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
			err = f.Break(p)
		}
		_ = tx.Rollback() // a read transaction has nothing to lose
	}()
	return fn(tx)
}

// begin begins a read transaction of the durable state.
func (f *File) begin(ctx context.Context) (*bolt.Tx, error) {
	for {
		tx, err := f.Tx(false /* writable */)
		if err != nil {
			return nil, err
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
