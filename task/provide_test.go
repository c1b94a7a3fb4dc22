package task_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
	"a2a-server/tool"
)

// What is pending when the process ends is put to the provider again by the next
// one, and an approval that is being asked about is not asked about twice.
func TestProviderAfterRestart(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		var ready atomic.Bool
		var asked atomic.Int32
		w.stop()
		w.cfg.Provider = func(ctx context.Context, _ tool.ConfirmationRequest) (bool, error) {
			asked.Add(1)
			if ready.Load() {
				return true, nil
			}
			<-ctx.Done()
			return false, context.Cause(ctx)
		}
		w.restart()
		got := w.send(w.calls("transfer", args{"amount": 1, "to": "x"}, "transfer", args{"amount": 2, "to": "x"}))
		w.wantState(w.send(w.decision(got.ID, reject(w.pending(got)[0], "no"))), a2a.TaskStateInputRequired)
		w.stop()
		ready.Store(true)
		w.restart()
		if err := w.engine.Follow(w.ctx(), alice, mustID(got.ID), 0, task.UntilEnd, func([]task.Event) error { return nil }); err != nil {
			t.Fatal(err)
		}
		w.wantState(w.get(got.ID), a2a.TaskStateCompleted)
		if n := asked.Load(); n > 3 {
			t.Errorf("the provider was asked %d times about two approvals in two processes, want at most 3", n)
		}
		if n := w.tools.count("transfer"); n != 1 {
			t.Errorf("transfer ran %d times, want 1", n)
		}
	})
}
