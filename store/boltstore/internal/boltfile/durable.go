package boltfile

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// readPatience is how long a read waits for a commit that it would show and that is not
// durable yet.
const readPatience = 10 * time.Second

// durable is the newest transaction that is durable. bbolt shows a commit to readers as soon
// as its meta page is written, before that page is synced; a power loss could then take back
// data that a reader has seen. So no read uses a newer transaction than this.
type durable struct {
	id atomic.Uint64

	mu    sync.Mutex
	grown chan struct{} // closed when id grows, or never will; nil: no reader waits
	over  bool          // it will never grow again
}

// reach records that a transaction is durable, and wakes the readers that wait for it.
func (d *durable) reach(id uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.id.Store(id)
	d.wake()
}

// end stops all waiting: the outcome of a commit is unknown.
func (d *durable) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	d.wake()
}

// wake must be called with the lock held.
func (d *durable) wake() {
	if d.grown != nil {
		close(d.grown)
		d.grown = nil
	}
}

// wait waits until transaction id is durable. It returns store.ErrUnavailable when that takes
// too long, and the cause of ctx when ctx ends first. why returns the error that has ended the
// store.
func (d *durable) wait(ctx context.Context, id uint64, why func() error) error {
	timeout := time.NewTimer(readPatience)
	defer timeout.Stop()
	for {
		d.mu.Lock()
		if d.id.Load() >= id {
			d.mu.Unlock()
			return nil
		}
		if d.over {
			d.mu.Unlock()
			return why()
		}
		if d.grown == nil {
			d.grown = make(chan struct{})
		}
		grown := d.grown
		d.mu.Unlock()
		select {
		case <-grown:
		case <-ctx.Done():
			return fmt.Errorf("read store: %w", context.Cause(ctx))
		case <-timeout.C:
			return SlowError(fmt.Sprintf("the disk has not accepted the newest data for %v: check the disk, and try again", readPatience))
		}
	}
}
