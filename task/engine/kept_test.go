package engine_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
)

// A store that keeps the bytes of a batch keeps nothing else of it: an ended task leaves its log in
// memory, and neither drafts nor turns.
func TestEndedTasksLeaveNoDrafts(t *testing.T) {
	t.Parallel()
	w := newMemory(t)
	var made, gone atomic.Int64
	w.wrap = func(h store.Handle) store.Handle {
		return &onAppend{Handle: h, do: func(b *store.Batch) (*store.Batch, error) {
			made.Add(1)
			runtime.AddCleanup(b, func(*atomic.Int64) { gone.Add(1) }, &gone)
			return b, nil
		}}
	}
	w.start()
	const tasks = 20
	for range tasks {
		w.wantState(w.send(w.calls("echo", args{"text": "hi"})), a2a.TaskStateCompleted)
	}
	if !w.soon(func() bool { runtime.GC(); return made.Load()-gone.Load() < tasks/2 }) {
		t.Errorf("of %d batches %d are still in memory", made.Load(), made.Load()-gone.Load())
	}
}
