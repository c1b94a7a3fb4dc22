package boltstore

import (
	"context"
	"time"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
)

// The idempotency window: whichever is less.
const (
	windowAge  = time.Hour
	windowSize = 200_000
	// Reads come first: the walk takes a core, and the disk, for most of a second. It
	// begins this long after the file was opened, or when somebody waits for it.
	windowDelay = 100 * time.Millisecond
)

// window remembers which task each message of the newest creations made. It is
// filled from the headers when the file is opened, newest first, so that it costs
// no rows of its own; after that it belongs to the writer alone.
type window struct {
	wanted chan struct{} // gets a value when somebody waits for load
	loaded chan struct{} // closed when load has ended
	whole  bool          // it has found everything; to be read when loaded is closed
	ready  bool          // the writer has seen both

	tasks map[store.Hash]store.TaskID
	order []creation // oldest first
}

type creation struct {
	message store.Hash
	task    store.TaskID
}

func newWindow() window {
	return window{wanted: make(chan struct{}, 1), loaded: make(chan struct{}), tasks: map[store.Hash]store.TaskID{}}
}

// want says that somebody waits for load.
func (w *window) want() {
	select {
	case w.wanted <- struct{}{}:
	default:
	}
}

// load walks the tasks backwards in small transactions. It runs once, before the
// writer looks at the window.
func (w *window) load(ctx context.Context, db *DB) {
	defer close(w.loaded)
	delay := time.NewTimer(windowDelay)
	defer delay.Stop()
	select {
	case <-delay.C:
	case <-w.wanted:
	case <-ctx.Done():
		return
	}
	oldest := store.MillisOf(time.Now().Add(-windowAge))
	var newest []creation
	var at []byte
	for done := false; !done; {
		err := db.view(ctx, func(tx *bolt.Tx) error {
			c := tx.Bucket(bucketTask).Cursor()
			k, v := seekBefore(c, at)
			for range 2048 {
				if k == nil || len(newest) == windowSize {
					done = true
					return nil
				}
				id := store.TaskID(k)
				if id.Created() < oldest {
					done = true
					return nil
				}
				t, err := decodeRecord(id, v)
				if err != nil {
					return err
				}
				if !t.Message.IsZero() && !t.deleting {
					newest = append(newest, creation{t.Message, id})
				}
				at = append(at[:0], k...)
				k, v = c.Prev()
			}
			return nil
		})
		if err != nil {
			if ctx.Err() == nil {
				_ = db.fail(err, false) // whoever is held back is told by the writer
			}
			return
		}
	}
	w.order = make([]creation, 0, len(newest))
	w.tasks = make(map[store.Hash]store.TaskID, len(newest))
	for i := len(newest) - 1; i >= 0; i-- {
		w.add(newest[i].message, newest[i].task)
	}
	w.whole = true
}

// find returns the task that a message has made.
func (w *window) find(message store.Hash) (store.TaskID, bool) {
	task, ok := w.tasks[message]
	return task, ok
}

// add remembers a creation and forgets the oldest.
func (w *window) add(message store.Hash, task store.TaskID) {
	w.tasks[message] = task
	w.order = append(w.order, creation{message, task})
	oldest := store.MillisOf(time.Now().Add(-windowAge))
	drop := 0
	for drop < len(w.order) && (len(w.order)-drop > windowSize || w.order[drop].task.Created() < oldest) {
		if c := w.order[drop]; w.tasks[c.message] == c.task {
			delete(w.tasks, c.message)
		}
		drop++
	}
	w.order = w.order[drop:]
}
