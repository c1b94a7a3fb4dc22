package engine_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task/engine"
)

// overtaken starts w and returns a task that has been taken over, and waits in the queue
// when goOn is called. It is for a bubble.
func (w *world) overtaken() (id a2a.TaskID, goOn func()) {
	taken, on := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var armed atomic.Bool
	w.cfg.CrashPoint = func(point string) {
		if point == engine.PointWoken && armed.Load() {
			once.Do(func() {
				close(taken)
				<-on
			})
		}
	}
	w.start()
	id = w.begun(alice, w.calls("sleep", args{}, "transfer", args{"amount": 1, "to": "x"}))
	w.begun(alice, w.calls("block", args{}))
	armed.Store(true)
	time.Sleep(30 * time.Millisecond) // the sleeper's time has come
	<-taken
	return id, func() { close(on) }
}

// A decision that comes when a task has been taken over, and does not wait in the queue
// yet, lets it wait for no turn of another kind, either.
func TestDecisionOvertakesTheQueueing(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Limits = patient(1, 1)
		id, goOn := w.overtaken()
		if err := w.decide(alice, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Approve}); err != nil {
			t.Fatal(err)
		}
		goOn()
		synctest.Wait()
		w.wantState(w.get(id), a2a.TaskStateCompleted)
	})
}

// A cancel that comes when a task has been taken over, and does not wait in the queue
// yet, leaves no place of the queue taken.
func TestCancelOvertakesTheQueueing(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Limits = patient(1, 1)
		w.cfg.Limits.Queue = 1
		id, goOn := w.overtaken()
		if err := w.engine.Cancel(w.ctx(), alice, mustID(id)); err != nil {
			t.Fatal(err)
		}
		goOn()
		synctest.Wait()
		if l := w.engine.Load(); l.Waiting != 0 {
			t.Errorf("Load() = %+v, want that no canceled task waits", l)
		}
		if _, err := w.sendAs(alice, w.calls("echo", args{})); err != nil {
			t.Errorf("a new task beside one that was canceled = %v", err)
		}
	})
}

// A decision that comes when the task has been woken, while its last turn is about to
// leave, lets it wait for no turn of another kind, either; a cancel leaves nothing of it
// waiting.
func TestDecisionOvertakesTheTurnThatLeaves(t *testing.T) {
	t.Parallel()
	for _, cancel := range []bool{false, true} {
		t.Run(map[bool]string{false: "decided", true: "canceled"}[cancel], func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				w.cfg.Limits = patient(1, 1)
				rests, on := make(chan struct{}), make(chan struct{})
				var first atomic.Bool
				w.cfg.CrashPoint = func(point string) {
					if point == engine.PointStep && first.CompareAndSwap(false, true) {
						close(rests)
						<-on
					}
				}
				w.start()
				sent, err := w.sendAs(alice, w.calls("sleep", args{}, "transfer", args{"amount": 1, "to": "x"}))
				if err != nil {
					t.Fatal(err)
				}
				<-rests // durably, and the turn is still there
				id := a2a.TaskID(sent.Task.String())
				time.Sleep(time.Second)                  // its time has come, and its turn is old
				w.begun(alice, w.calls("sleep", args{})) // has the engine look whose time has come
				time.Sleep(time.Second)
				for range 4 {
					w.begun(alice, w.calls("block", args{}))
					time.Sleep(time.Second)
				}
				w.begun(alice, w.calls("block", args{})) // waits, and would be next
				if l := w.engine.Load(); l.Waiting != 1 || l.Turns != 5 {
					t.Fatalf("Load() = %+v, want five turns and one task that waits", l)
				}
				if cancel {
					err = w.engine.Cancel(w.ctx(), alice, mustID(id))
				} else {
					err = w.decide(alice, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Approve})
				}
				if err != nil {
					t.Fatal(err)
				}
				close(on)
				synctest.Wait()
				if l := w.engine.Load(); l.Waiting != 0 {
					t.Errorf("Load() = %+v, want that nothing waits", l)
				}
				if !cancel {
					w.wantState(w.get(id), a2a.TaskStateCompleted)
				}
			})
		})
	}
}
