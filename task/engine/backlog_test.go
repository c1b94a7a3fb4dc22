package engine_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// Due work that fails again and again does not hide what is due after it, however
// much there is of it.
func TestFailingWorkHidesNothing(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(t *testing.T, w *world) {
		p := policy(t, approval.Gate{Tool: "deadline", Terms: approval.Terms{Expires: 30 * time.Millisecond, OnExpiry: approval.ExpiryCancels}})
		w.start(func(cfg *engine.Config) { cfg.Policy, cfg.Log = p, zerolog.Nop() })
		parked := w.begin(w.calls("transfer", args{"amount": 1, "to": "x"}))
		if !w.rested(parked) {
			t.Fatal("the task does not rest")
		}
		rev := w.header(parked).Rev
		b := &store.Batch{Scope: store.System(), Task: mustID(parked), Rev: &rev}
		for i := range 2500 {
			b.Due = append(b.Due, store.DueChange{Time: 1, Kind: "of a program to come", Key: fmt.Appendf(nil, "%d", i)})
		}
		if _, err := w.store.Append(w.ctx(), b).Wait(); err != nil {
			t.Fatal(err)
		}
		w.wantState(w.ended(w.begin(w.calls("deadline", args{}))), a2a.TaskStateCanceled)
	})
}

// Nor does work that has to wait: here for calls to be resumed, while every turn is
// taken.
func TestWaitingWorkHidesNothing(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(t *testing.T, w *world) {
		const many = 1100 // a store gives at most 1,000 rows at once
		wake := time.Now().Add(time.Hour)
		w.tools.extra = []tool.Tool{dozer(wake)}
		p := policy(t, approval.Gate{Tool: "deadline", Terms: approval.Terms{Expires: time.Hour + time.Second, OnExpiry: approval.ExpiryCancels}})
		w.start(func(cfg *engine.Config) {
			cfg.Policy, cfg.Log = p, zerolog.Nop()
			cfg.Limits = task.Limits{Turns: 1, Queue: 1, ToolTimeout: 1000 * time.Hour}
		})
		for range many {
			w.begin(w.calls("doze", args{}))
			synctest.Wait()
		}
		id := w.begin(w.calls("deadline", args{}))
		synctest.Wait()
		block := w.takeTheTurn()
		time.Sleep(time.Hour + 2*time.Second)
		synctest.Wait()
		w.wantState(w.get(id), a2a.TaskStateCanceled)
		w.tools.release()
		w.wantState(w.ended(block), a2a.TaskStateCompleted)
	})
}
