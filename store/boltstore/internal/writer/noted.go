package writer

import (
	"context"
	"errors"
	"math"
	"sync"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/layout"
)

// ErrCopying says that the file is being copied already.
var ErrCopying = errors.New("another backup is being made: wait until it has ended")

// NotedKey is a key of a bucket.
type NotedKey struct {
	Bucket string
	Key    string
}

// Noted is the keys that the writer has changed since a copy of the file began. It lacks the log
// values at the end of the log, and the audit, which a copy finds by their positions. It is safe
// for concurrent use.
type Noted struct {
	mu     sync.Mutex
	keys   map[NotedKey]struct{}
	newest uint64 // position of the newest log value
}

// Note begins to note the keys that w changes, until the function end is called. All changes that
// are not noted are durable when Note returns. It returns [ErrCopying] while another copy is made.
func Note(ctx context.Context, w *Writer) (n *Noted, end func(), err error) {
	n = &Noted{keys: map[NotedKey]struct{}{}}
	if !w.copying.CompareAndSwap(nil, n) {
		return nil, nil, ErrCopying
	}
	end = func() { w.copying.CompareAndSwap(n, nil) }
	// A round that changed a key before it was noted has committed when a later round, or the
	// later part of it, runs this.
	err = w.do(ctx, func(r *round) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.newest = max(n.newest, r.next(r.log)-1)
		return nil
	})
	if errors.Is(err, store.ErrUnavailable) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.newest = math.MaxUint64 // the disk has refused the round, so that it is not known: note every value
		return n, end, nil
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return n, end, nil
}

// PutBackup records the moment of a verified backup, unless a newer one is recorded.
func PutBackup(ctx context.Context, w *Writer, moment store.Millis) error {
	return w.do(ctx, func(r *round) error {
		if uint64(moment) <= layout.ReadU64(r.meta.Get(layout.KeyBackup)) {
			return nil
		}
		return r.put(r.meta, layout.KeyBackup, layout.U64(uint64(moment)))
	})
}

// Take returns the keys that were noted since the last Take.
func (n *Noted) Take() map[NotedKey]struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	keys := n.keys
	n.keys = map[NotedKey]struct{}{}
	return keys
}

// Len returns how many keys are noted.
func (n *Noted) Len() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.keys)
}

// note notes a change, if the file is being copied. Whether it commits does not matter: a copy
// reads the value of the key.
func (r *round) note(b *bolt.Bucket, key []byte, put bool) {
	n := r.w.copying.Load()
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch b {
	case r.task:
		n.keys[NotedKey{string(layout.BucketTask), string(key)}] = struct{}{}
	case r.row:
		n.keys[NotedKey{string(layout.BucketRow), string(key)}] = struct{}{}
	case r.due:
		n.keys[NotedKey{string(layout.BucketDue), string(key)}] = struct{}{}
	case r.log:
		// Positions begin again when the log has become empty.
		if at := layout.ReadU64(key); put && at > n.newest {
			n.newest = at
		} else {
			n.keys[NotedKey{string(layout.BucketLog), string(key)}] = struct{}{}
		}
	}
}
