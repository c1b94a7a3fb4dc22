package memstore

import (
	"time"

	"a2a-server/store"
)

// The window of store.Batch.Dedup.
const (
	dedupTime  = time.Hour
	dedupCount = 200_000
)

// dedup remembers which task a message has made, within the window; also when the
// task has been deleted.
type dedup struct {
	tasks map[store.Hash]store.TaskID
	order []creation // what is in tasks, oldest first
}

type creation struct {
	message store.Hash
	at      time.Time
}

// check forgets what has left the window and reports whether m has made a task.
func (d *dedup) check(m store.Hash, now time.Time) error {
	for len(d.order) > dedupCount || len(d.order) > 0 && now.Sub(d.order[0].at) >= dedupTime {
		delete(d.tasks, d.order[0].message)
		d.order = d.order[1:]
	}
	if first, ok := d.tasks[m]; ok {
		return &store.DuplicateError{Task: first}
	}
	return nil
}

func (d *dedup) add(m store.Hash, id store.TaskID, now time.Time) {
	if m.IsZero() {
		return
	}
	d.tasks[m] = id
	d.order = append(d.order, creation{m, now})
}
