package engine_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"

	"a2a-server/store"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// badRows puts due rows that fail, which are due at once, into a task at rest.
func (w *world) badRows(n int) {
	w.t.Helper()
	parked := w.begin(w.calls("transfer", args{"amount": 1, "to": "x"}))
	synctest.Wait()
	rev := w.header(parked).Rev
	b := &store.Batch{Scope: store.System(), Task: mustID(parked), Rev: &rev}
	for i := range n {
		b.Due = append(b.Due, store.DueChange{Time: 1, Kind: "of a program to come", Key: fmt.Appendf(nil, "%d", i)})
	}
	if _, err := w.store.Append(w.ctx(), b).Wait(); err != nil {
		w.t.Fatal(err)
	}
}

// A row that fails is tried again after 1, 2, 4 … seconds, and then every five minutes.
func TestFailingRowIsTriedLaterAndLater(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var tried atomic.Int64
		w.start(func(cfg *engine.Config) {
			cfg.Log = zerolog.Nop()
			cfg.CrashPoint = func(point string) {
				if point == engine.PointDue {
					tried.Add(1)
				}
			}
		})
		w.badRows(1)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if n := tried.Load(); n < 25 || n > 40 {
			t.Errorf("a bad row was tried %d times in two hours, want about 30", n)
		}
	})
}

// A row that nobody can do yet is looked at again soon, and done when it can be: here a
// timer whose task waits for a turn.
func TestWaitingRowIsLookedAtAgain(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.tools.extra = []tool.Tool{dozer(time.Now().Add(time.Minute))}
		w.start(func(cfg *engine.Config) {
			cfg.Log = zerolog.Nop()
			cfg.Limits.Turns, cfg.Limits.Queue, cfg.Limits.ToolTimeout = 1, 1, 1000*time.Hour
		})
		sleeps := w.begin(w.calls("doze", args{}))
		synctest.Wait()
		w.takeTheTurn()
		w.begin(w.calls("write", args{"amount": 1, "to": "x"})) // the queue is full
		time.Sleep(time.Hour)
		synctest.Wait()
		w.wantState(w.get(sleeps), a2a.TaskStateWorking)
		w.tools.release()
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		w.wantState(w.get(sleeps), a2a.TaskStateCompleted)
	})
}
