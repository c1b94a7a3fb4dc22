package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// Who decides is never refused for want of room: with every turn taken and the queue
// full, the decision is durable at once, and its task waits for none but others of which
// somebody has decided.
func TestDecisionNeedsNoRoom(t *testing.T) {
	for name, say := range map[string]func(w *world, id a2a.TaskID) error{
		"by a message": func(w *world, id a2a.TaskID) error {
			_, err := w.sendAs(alice, w.decision(id, approve(w.onlyOne(id).ID)))
			return err
		},
		"otherwise": func(w *world, id a2a.TaskID) error {
			return w.decide(alice, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Approve})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				w.tools.extra = []tool.Tool{&fake{name: "hold", gated: true, call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
					w.tools.ran(ctx, "hold", a)
					<-w.tools.blocked()
					return map[string]any{"ok": true}, nil
				}}}
				w.cfg.Limits = patient(1, 1)
				w.cfg.Limits.Queue = 1
				w.start()
				var ids []a2a.TaskID
				for range 5 {
					ids = append(ids, w.begun(alice, w.calls("hold", args{})))
				}
				first, second := w.begun(alice, w.calls("block", args{})), w.begun(alice, w.calls("block", args{}))
				if _, err := w.sendAs(alice, w.calls("block", args{})); !errors.Is(err, engine.ErrBusy) {
					t.Fatalf("%s: a new task beyond the queue = %v, want ErrBusy", name, err)
				}
				for _, id := range ids {
					if err := say(w, id); err != nil {
						t.Errorf("%s: the decision = %v, want it to count", name, err)
					}
					if a := w.asked(id)[0]; a.State != approval.Approved {
						t.Errorf("%s: the approval is %s", name, a.State)
					}
				}
				synctest.Wait()
				if n := w.tools.count("hold"); n != 1 {
					t.Errorf("%s: %d approved calls run, want the one that there is a place for", name, n)
				}
				w.wantState(w.get(ids[4]), a2a.TaskStateWorking)
				w.tools.release()
				synctest.Wait()
				for _, id := range append(ids, first, second) {
					w.wantState(w.get(id), a2a.TaskStateCompleted)
				}
			})
		})
	}
}

// A deadline that passes is no task that can be refused, either.
func TestDeadlineNeedsNoRoom(t *testing.T) {
	for _, outcome := range []approval.OnExpiry{approval.ExpiryRejects, approval.ExpiryCancels, approval.ExpiryKeeps} {
		t.Run(fmt.Sprint(outcome), func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				w.cfg.Policy = policy(t, approval.Gate{Tool: "deadline", Terms: approval.Terms{Expires: 500 * time.Millisecond, OnExpiry: outcome}})
				w.cfg.Limits = patient(1, 1)
				w.cfg.Limits.Queue = 1
				w.start()
				id := w.begun(alice, w.calls("deadline", args{}))
				for range 2 {
					w.begun(alice, w.calls("block", args{}))
				}
				time.Sleep(600 * time.Millisecond)
				synctest.Wait()
				want := map[approval.OnExpiry]approval.State{approval.ExpiryRejects: approval.Expired, approval.ExpiryCancels: approval.Expired, approval.ExpiryKeeps: approval.Pending}[outcome]
				if a := w.asked(id)[0]; a.State != want || a.Deadline != nil && outcome == approval.ExpiryKeeps {
					t.Errorf("%s: the approval is %s with deadline %v", outcome, a.State, a.Deadline)
				}
			})
		})
	}
}

// What somebody decides about a task that waits for its turn lets it wait no longer.
func TestDecisionHastensATaskThatWaits(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Limits = patient(1, 1)
		w.start()
		id := w.begun(alice, w.calls("sleep", args{}, "transfer", args{"amount": 1, "to": "x"}))
		w.begun(alice, w.calls("block", args{}))
		time.Sleep(30 * time.Millisecond) // the sleeper's time has come
		synctest.Wait()
		if n := w.tools.count("sleep"); n != 0 {
			t.Fatal("the task has its turn, want that it waits")
		}
		if err := w.decide(alice, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Approve}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.wantState(w.get(id), a2a.TaskStateCompleted)
	})
}

// A task that is canceled while it waits leaves its place in the queue to another.
func TestCanceledTaskLeavesTheQueue(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Limits = patient(1, 1)
		w.cfg.Limits.Queue = 1
		w.start()
		w.begun(alice, w.calls("block", args{}))
		id := w.begun(alice, w.calls("echo", args{}))
		if err := w.engine.Cancel(w.ctx(), alice, mustID(id)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.sendAs(alice, w.calls("echo", args{})); err != nil {
			t.Errorf("a new task after one that waited was canceled = %v", err)
		}
		if l := w.engine.Load(); l.Waiting != 1 {
			t.Errorf("Load() = %+v, want one that waits", l)
		}
	})
}

// The queue of a caller is full without that of another being so, and what is refused
// gives its place back.
func TestQueueOfACaller(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Limits = patient(1, 1)
		w.cfg.Limits.Queue, w.cfg.Limits.QueuePerCaller = 3, 2
		w.start()
		w.begun(alice, w.calls("block", args{}))
		for range 2 {
			w.begun(alice, w.calls("echo", args{}))
		}
		if _, err := w.sendAs(alice, w.calls("echo", args{})); !errors.Is(err, engine.ErrBusy) || !strings.Contains(err.Error(), "2 tasks of this caller") {
			t.Errorf("beyond a caller's queue Send() = %v", err)
		}
		w.begun(carol, w.calls("echo", args{}))
		if _, err := w.sendAs(carol, w.calls("echo", args{})); !errors.Is(err, engine.ErrBusy) || !strings.Contains(err.Error(), "3 tasks already wait") {
			t.Errorf("beyond the queue Send() = %v", err)
		}
		w.tools.release()
		synctest.Wait()
		if l := w.engine.Load(); l.Waiting != 0 || l.Turns != 0 {
			t.Errorf("Load() = %+v when nothing is running", l)
		}
		w.begun(alice, w.calls("echo", args{}))
	})
}

// What cannot be written takes no place in the queue.
func TestRefusedTaskTakesNoPlace(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Limits = patient(1, 1)
		w.cfg.Limits.Queue, w.cfg.Limits.QueuePerCaller = 2, 2
		w.start()
		w.begun(alice, w.calls("block", args{}))
		m := w.calls("echo", args{})
		for range 5 { // the same message: one task
			w.begun(alice, m)
		}
		w.begun(alice, w.calls("echo", args{}))
	})
}
