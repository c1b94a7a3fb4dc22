package metrics

import (
	"context"
	"errors"
	"sync"

	"github.com/rs/zerolog"

	"a2a-server/store"
)

// maxDamaged is how many damaged tasks are counted at most.
const maxDamaged = 1000

// Watched is a store that counts the damaged tasks that its readers meet, and logs each once.
type Watched struct {
	store.Handle
	log zerolog.Logger

	mu    sync.Mutex
	tasks map[store.TaskID]struct{}
}

// Watch returns h, watched.
func Watch(h store.Handle, log zerolog.Logger) *Watched {
	return &Watched{Handle: h, log: log, tasks: map[store.TaskID]struct{}{}}
}

// Damaged returns how many damaged tasks were met and not deleted.
func (w *Watched) Damaged() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.tasks)
}

// met notes a damaged task; the zero id is none.
func (w *Watched) met(id store.TaskID) {
	w.mu.Lock()
	_, known := w.tasks[id]
	known = known || id.IsZero() || len(w.tasks) >= maxDamaged
	if !known {
		w.tasks[id] = struct{}{}
	}
	w.mu.Unlock()
	if !known {
		w.log.Error().Str("task_id", id.String()).Msg("a task is damaged, and cannot be read: check the disk, and restore a backup if the task is needed")
	}
}

// Read implements [store.Store].
func (w *Watched) Read(ctx context.Context, s store.Scope, id store.TaskID, from store.From, limit store.Limit) (store.LogPage, error) {
	page, err := w.Handle.Read(ctx, s, id, from, limit)
	if errors.Is(err, store.ErrDataLoss) {
		w.met(id)
	}
	return page, err
}

// Tasks implements [store.Store].
func (w *Watched) Tasks(ctx context.Context, s store.Scope, q store.Query) (store.TaskPage, error) {
	page, err := w.Handle.Tasks(ctx, s, q)
	for i := range page.Tasks {
		if page.Tasks[i].Damaged {
			w.met(page.Tasks[i].Task)
		}
	}
	return page, err
}

// Rows implements [store.Store].
func (w *Watched) Rows(ctx context.Context, s store.Scope, q store.RowQuery) (store.RowPage, error) {
	page, err := w.Handle.Rows(ctx, s, q)
	if errors.Is(err, store.ErrDataLoss) {
		w.met(q.Task)
	}
	for i := range page.Rows {
		if page.Rows[i].Damaged {
			w.met(page.Rows[i].Task)
		}
	}
	return page, err
}

// Delete implements [store.Store].
func (w *Watched) Delete(ctx context.Context, s store.Scope, id store.TaskID, audit []byte) error {
	err := w.Handle.Delete(ctx, s, id, audit)
	if err == nil {
		w.mu.Lock()
		delete(w.tasks, id)
		w.mu.Unlock()
	}
	return err
}
