package writer

import (
	"bytes"
	"context"
	"errors"
	"time"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/boltfile"
	"a2a-server/store/boltstore/internal/layout"
	"a2a-server/store/boltstore/internal/read"
)

const (
	// Reads come first: the walk uses a core and the disk for most of a second. It begins this
	// long after the file was opened, or when a create waits for it.
	windowDelay = 100 * time.Millisecond

	// The walk ends after this many times the creations that the window remembers, so that
	// many creations of an owner do not hide the creations of other owners.
	windowWalk = 2

	// The walk ends at creations that are this much older than the newest. Ids have the
	// creation times of their tasks, by a clock that may have been set meanwhile; so only the
	// differences between neighbors count, and each for no more than windowGap. The limit is
	// the window's hour with room for a clock that was set back by two.
	windowReach = 3 * store.WindowAge
	windowGap   = time.Minute
)

// window is the idempotency window. It is filled from the headers when the file is
// opened, newest first, so that it costs no rows of its own; after that it belongs to
// the writer alone.
type window struct {
	*store.Window
	size     int
	ran      func() time.Duration
	wanted   chan struct{} // gets a value when a create waits for load
	loaded   chan struct{} // closed when load has ended
	complete bool          // it has found everything; read it only once loaded is closed
	ready    bool          // the writer has seen both
}

func newWindow(size int, ran func() time.Duration) window {
	return window{
		Window: store.NewWindow(size), size: size, ran: ran,
		wanted: make(chan struct{}, 1), loaded: make(chan struct{}),
	}
}

// want starts load early, because a create waits for it.
func (w *window) want() {
	select {
	case w.wanted <- struct{}{}:
	default:
	}
}

// load walks the tasks backwards in small transactions. It runs once, before the writer uses
// the window. The creations that it finds count as created now, because the running time of
// earlier processes is unknown.
func (w *window) load(ctx context.Context, file *boltfile.File) {
	defer close(w.loaded)
	delay := time.NewTimer(windowDelay)
	defer delay.Stop()
	select {
	case <-delay.C:
	case <-w.wanted:
	case <-ctx.Done():
		return
	}
	now := w.ran()
	var at []byte
	var younger store.Millis     // when the task before was made; 0: it is the newest
	var age, byIDs time.Duration // how much older than the newest: at least, and by the ids
	for done, found := false, 0; !done; {
		err := file.View(ctx, func(tx *bolt.Tx) error {
			c := tx.Bucket(layout.BucketTask).Cursor()
			k, v := read.Before(c, at)
			for n := 0; n < 2048; {
				if done = k == nil || found == windowWalk*w.size || age >= windowReach; done {
					return nil
				}
				id := store.TaskID(k)
				t, err := layout.DecodeHeader(id, v)
				k, v = c.Prev()
				if err != nil || at != nil && bytes.Compare(id[:], at) >= 0 {
					continue // which message has made it is lost, or it has been seen
				}
				at, n = append(at[:0], id[:]...), n+1
				made := id.Created()
				if younger != 0 {
					older := time.Duration(min(younger-made, store.Millis(windowReach/time.Millisecond))) * time.Millisecond
					age, byIDs = age+min(older, windowGap), byIDs+older
				}
				younger = made
				if !t.Message.IsZero() && !t.Deleting {
					// Creations that are too old, as far as ids tell, fill only free room, and
					// displace no newer creations.
					if byIDs < store.WindowAge || w.Len() < w.size {
						w.AddOlder(t.Owner, t.Message, id, now)
					}
					found++
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, store.ErrUnavailable) { // else the disk is slow
			return
		}
	}
	w.complete = true
}

// find returns the task that a message has created.
func (w *window) find(message store.Hash) (store.TaskID, bool) {
	return w.Find(message, w.ran())
}

// add remembers a creation that is durable.
func (w *window) add(h *store.Header) {
	w.Add(h.Owner, h.Message, h.Task, w.ran())
}
