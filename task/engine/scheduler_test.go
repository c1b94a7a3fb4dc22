package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/engine/internal/env"
	"a2a-server/tool"
)

// begun begins a task for somebody, and returns it when nothing is running any more.
func (w *world) begun(by auth.Principal, m *a2a.Message) a2a.TaskID {
	w.t.Helper()
	sent, err := w.sendAs(by, m)
	if err != nil {
		w.t.Fatalf("Send() = %v", err)
	}
	synctest.Wait()
	return a2a.TaskID(sent.Task.String())
}

// stateOf returns the state of somebody's task.
func (w *world) stateOf(by auth.Principal, id a2a.TaskID) a2a.TaskState {
	w.t.Helper()
	v, err := w.engine.Get(w.ctx(), by, string(id))
	if err != nil {
		w.t.Fatalf("Get(%s) = %v", id, err)
	}
	return v.State()
}

// patient are limits under which time passes, and no call takes too long.
func patient(turns, each int) task.Limits {
	return task.Limits{Turns: turns, TurnsPerCaller: each, ToolTimeout: 1000 * time.Hour}
}

// takeTheTurn takes the one turn there is, and what there is beside it for those that
// are older than a second, until the tools are released. It returns one of the tasks.
func (w *world) takeTheTurn() (id a2a.TaskID) {
	for range 5 {
		id = w.begun(alice, w.calls("block", args{}))
		time.Sleep(time.Second)
	}
	return id
}

// dozer is a tool that sleeps until a time.
func dozer(wake time.Time) *fake {
	return &fake{name: "doze", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
		if _, again := tool.Resumed(ctx); again {
			return map[string]any{"ok": true}, nil
		}
		return nil, &tool.Suspension{Wake: wake}
	}}
}

// However many slow calls one caller has, another's task is at work at once.
func TestSlowCallsOfOneStopNoOther(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Limits = patient(8, 0)
		w.start()
		for range 100 {
			w.begun(alice, w.calls("block", args{}))
		}
		if got := w.stateOf(carol, w.begun(carol, w.calls("echo", args{}))); got != a2a.TaskStateCompleted {
			t.Errorf("beside the slow calls of another, a task is %s, want %s", got, a2a.TaskStateCompleted)
		}
		w.wantRuns("block", 2)
	})
}

// Turns that become free go round: each caller that waits has one before any has two, and the
// tasks of each keep their order.
func TestTurnsGoRound(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var order []string
		open := make(chan struct{})
		w.cfg.Limits = patient(1, 1)
		w.startTools(
			&fake{name: "hold", call: func(_ tool.Context, _ map[string]any) (map[string]any, error) {
				<-open
				return map[string]any{"ok": true}, nil
			}},
			&fake{name: "note", call: func(_ tool.Context, a map[string]any) (map[string]any, error) {
				order = append(order, fmt.Sprint(a["of"], a["n"]))
				return map[string]any{"ok": true}, nil
			}},
		)
		w.begun(alice, w.calls("hold", args{}))
		callers := []auth.Principal{alice, carol, member("dave", auth.RoleRequester), {Tenant: "other", Subject: "alice", Roles: []string{auth.RoleRequester}, Method: "test"}}
		for _, by := range callers {
			for n := range 3 {
				w.begun(by, w.calls("note", args{"of": by.Tenant + "/" + by.Subject, "n": n}))
			}
		}
		close(open)
		synctest.Wait()
		for i, got := range order {
			want := fmt.Sprint([]string{"acme/carol", "acme/dave", "other/alice", "acme/alice"}[i%4], i/4)
			if got != want || len(order) != 12 {
				t.Errorf("turn %d was that of %s, want %s", i, got, want)
			}
		}
	})
}

// What a caller has at work for longer than a second counts against its own share, so
// that others have room for theirs; and nothing is kept of who has nothing.
func TestLongTurnsOfOneStopNoOther(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Limits = patient(4, 1)
		w.start()
		callers := []auth.Principal{alice, carol, member("dave", auth.RoleRequester)}
		for i, by := range callers {
			for range 20 {
				w.begun(by, w.calls("block", args{}))
				time.Sleep(time.Second)
			}
			if l := w.engine.LoadOf(by); l.Turns != 5 || l.Waiting != 15 {
				t.Errorf("of caller %d there is %+v, want 5 tasks at work", i, l)
			}
		}
		if n := w.engine.CallerQueues(); n != len(callers) {
			t.Errorf("%d callers have lanes, want %d", n, len(callers))
		}
		w.tools.release()
		synctest.Wait()
		if n := w.engine.CallerQueues(); n != 0 {
			t.Errorf("%d callers have lanes when nothing is running", n)
		}
		w.wantRuns("block", 60)
	})
}

// A new task is at work at once beside any number of slow calls of the same caller that
// there may be: what is at work for a second makes room.
func TestSlowCallsMakeRoom(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Limits = patient(8, 8)
		w.start()
		for range 8 + 1 { // an eighth more is kept for new tasks
			w.begun(alice, w.calls("block", args{}))
		}
		id := w.begun(alice, w.calls("echo", args{}))
		if got := w.stateOf(alice, id); got != a2a.TaskStateSubmitted {
			t.Fatalf("with every turn taken a task is %s, want %s", got, a2a.TaskStateSubmitted)
		}
		pass(time.Second)
		if got := w.stateOf(alice, id); got != a2a.TaskStateCompleted {
			t.Errorf("beside calls that have been running for a second a task is %s, want %s", got, a2a.TaskStateCompleted)
		}
		// So it continues, until four times as many calls are slow.
		for range 100 {
			w.begun(alice, w.calls("block", args{}))
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if n := w.tools.count("block"); n != 5*8+1 {
			t.Errorf("%d calls run at once, want %d", n, 5*8+1)
		}
		w.tools.release()
		synctest.Wait()
		w.wantRuns("block", 109)
		if l := w.engine.Load(); l.Turns != 0 || l.Waiting != 0 {
			t.Errorf("Load() = %+v when nothing is running", l)
		}
	})
}

// After a restart the tasks of all callers go round as before.
func TestRecoveryGoesRound(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var order []string
		open := make(chan struct{})
		w.cfg.Limits = patient(1, 1)
		w.startTools(&fake{name: "note", is: tool.Annotations{ReadOnly: true}, call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			select {
			case <-open:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			order = append(order, fmt.Sprint(a["of"]))
			return map[string]any{"ok": true}, nil
		}})
		for range 4 {
			w.begun(alice, w.calls("note", args{"of": "alice"}))
		}
		for range 2 {
			w.begun(carol, w.calls("note", args{"of": "carol"}))
		}
		w.restart()
		synctest.Wait()
		close(open)
		synctest.Wait()
		if got := strings.Join(order, " "); got != "alice carol alice carol alice alice" {
			t.Errorf("after a restart tasks had their turns in the order %s", got)
		}
	})
}

// A call that is given up gives the turn of its task back, whoever the caller is.
func TestAbandonedRunHoldsNoTurn(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Limits = task.Limits{Turns: 1, TurnsPerCaller: 1, Abandoned: 2, ToolTimeout: 100 * time.Millisecond, ToolGrace: 100 * time.Millisecond}
		w.start()
		for _, by := range []auth.Principal{alice, carol} {
			w.begun(by, w.calls("stubborn", args{}))
			pass(time.Second)
		}
		if l := w.engine.Load(); l.Turns != 0 {
			t.Errorf("Load() = %+v, want that runs which were given up hold no turn", l)
		}
		id := w.begun(carol, w.calls("stubborn", args{}))
		if v, err := w.engine.Get(w.ctx(), carol, string(id)); err != nil || v.State() != a2a.TaskStateFailed {
			t.Errorf("a third run of the tool = %v, %v, want it refused", v, err)
		}
		if got := w.stateOf(carol, w.begun(carol, w.calls("echo", args{}))); got != a2a.TaskStateCompleted {
			t.Errorf("another tool's task is %s", got)
		}
		w.tools.release()
	})
}

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
			return w.decide(alice, id, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Approve})
		},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			w.cfg.Limits = patient(1, 1)
			w.cfg.Limits.Queue = 1
			w.startTools(&fake{name: "hold", gated: true, call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
				w.tools.ran(ctx, "hold", a)
				<-w.tools.blocked()
				return map[string]any{"ok": true}, nil
			}})
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
			w.wantRuns("hold", 1)
			w.wantState(w.get(ids[4]), a2a.TaskStateWorking)
			w.tools.release()
			synctest.Wait()
			for _, id := range append(ids, first, second) {
				w.wantState(w.get(id), a2a.TaskStateCompleted)
			}
		})
	}
}

// A deadline that passes is no task that can be refused, either.
func TestDeadlineNeedsNoRoom(t *testing.T) {
	for _, outcome := range []approval.OnExpiry{approval.ExpiryRejects, approval.ExpiryCancels, approval.ExpiryKeeps} {
		runInMemory(t, fmt.Sprint(outcome), func(t *testing.T, w *world) {
			w.cfg.Policy = policy(t, approval.Gate{Tool: "deadline", Terms: approval.Terms{Expires: 500 * time.Millisecond, OnExpiry: outcome}})
			w.cfg.Limits = patient(1, 1)
			w.cfg.Limits.Queue = 1
			w.start()
			id := w.begun(alice, w.calls("deadline", args{}))
			for range 2 {
				w.begun(alice, w.calls("block", args{}))
			}
			pass(600 * time.Millisecond)
			want := map[approval.OnExpiry]approval.State{approval.ExpiryRejects: approval.Expired, approval.ExpiryCancels: approval.Expired, approval.ExpiryKeeps: approval.Pending}[outcome]
			if a := w.asked(id)[0]; a.State != want || a.Deadline != nil && outcome == approval.ExpiryKeeps {
				t.Errorf("%s: the approval is %s with deadline %v", outcome, a.State, a.Deadline)
			}
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
		pass(30 * time.Millisecond) // the sleeper's time has come
		if n := w.tools.count("sleep"); n != 0 {
			t.Fatal("the task has its turn, want that it waits")
		}
		w.must(w.decide(alice, id, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Approve}))
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
		w.cancel(id)
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

// overtaken starts w and returns a task that has been taken over, and waits in the queue
// when goOn is called. It is for a bubble.
func (w *world) overtaken() (id a2a.TaskID, goOn func()) {
	taken, on := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var armed atomic.Bool
	w.cfg.CrashPoint = func(point string) {
		if point == env.PointWoken && armed.Load() {
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
// yet, lets it wait for no turn of another kind, either; a cancel leaves no place of the
// queue taken.
func TestDecisionOvertakesTheQueueing(t *testing.T) {
	for _, cancel := range []bool{false, true} {
		runInMemory(t, fmt.Sprintf("cancel %t", cancel), func(t *testing.T, w *world) {
			w.cfg.Limits = patient(1, 1)
			w.cfg.Limits.Queue = 1
			id, goOn := w.overtaken()
			if cancel {
				w.cancel(id)
			} else {
				w.approves(id)
			}
			goOn()
			synctest.Wait()
			if l := w.engine.Load(); l.Waiting != 0 {
				t.Errorf("Load() = %+v, want that nothing waits", l)
			}
			if !cancel {
				w.wantState(w.get(id), a2a.TaskStateCompleted)
			} else if _, err := w.sendAs(alice, w.calls("echo", args{})); err != nil {
				t.Errorf("a new task beside one that was canceled = %v", err)
			}
		})
	}
}

// A decision that comes when the task has been woken, while its last turn is about to
// leave, lets it wait for no turn of another kind, either; a cancel leaves nothing of it
// waiting.
func TestDecisionOvertakesTheTurnThatLeaves(t *testing.T) {
	t.Parallel()
	for _, cancel := range []bool{false, true} {
		runInMemory(t, map[bool]string{false: "decided", true: "canceled"}[cancel], func(t *testing.T, w *world) {
			w.cfg.Limits = patient(1, 1)
			rests, on := make(chan struct{}), make(chan struct{})
			var first atomic.Bool
			w.cfg.CrashPoint = func(point string) {
				if point == env.PointStep && first.CompareAndSwap(false, true) {
					close(rests)
					<-on
				}
			}
			w.start()
			sent, err := w.sendAs(alice, w.calls("sleep", args{}, "transfer", args{"amount": 1, "to": "x"}))
			w.must(err)
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
				err = w.decide(alice, id, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Approve})
			}
			w.must(err)
			close(on)
			synctest.Wait()
			if l := w.engine.Load(); l.Waiting != 0 {
				t.Errorf("Load() = %+v, want that nothing waits", l)
			}
			if !cancel {
				w.wantState(w.get(id), a2a.TaskStateCompleted)
			}
		})
	}
}

// A task that waits for its turn says so after a second, once, in the state that it has.
func TestTaskSaysThatItWaits(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Limits = patient(1, 1)
		queued := make(chan engine.ID, 1)
		w.cfg.Observers = []engine.Observer{{Queued: func(id engine.ID) { queued <- id }}}
		w.start()
		w.takeTheTurn()
		id := w.begun(alice, w.calls("echo", args{}))
		pass(999 * time.Millisecond)
		before := w.get(id)
		w.wantState(before, a2a.TaskStateSubmitted)
		if s := statusText(before); s != "" {
			t.Errorf("too early the status says %q", s)
		}
		pass(time.Hour)
		got := w.get(id)
		w.wantState(got, a2a.TaskStateSubmitted)
		if s := statusText(got); !strings.Contains(s, "waits for its turn") {
			t.Errorf("the status says %q", s)
		}
		if h := w.header(id); h.Pub != 2 {
			t.Errorf("the task has %d public events, want that it has said it once", h.Pub)
		}
		if told := <-queued; told.String() != string(id) {
			t.Errorf("the observer is told of %v, want %v", told, id)
		}
		if l := w.engine.Load(); l.Announced != 1 || l.Waiting != 1 || l.Turns != 5 || l.Long < 4 {
			t.Errorf("Load() = %+v", l)
		}
		w.tools.release()
		synctest.Wait()
		got = w.get(id)
		w.wantState(got, a2a.TaskStateCompleted)
	})
}

// One that was at work before says that it waits, and is working.
func TestResumedTaskSaysThatItWaits(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Limits = patient(1, 1)
		w.startTools(dozer(time.Now().Add(time.Minute)))
		id := w.begun(alice, w.calls("doze", args{}))
		w.takeTheTurn()
		pass(2 * time.Minute)
		got := w.get(id)
		w.wantState(got, a2a.TaskStateWorking)
		if s := statusText(got); !strings.Contains(s, "waits for its turn") {
			t.Errorf("the status says %q", s)
		}
		w.tools.release()
		synctest.Wait()
		w.wantState(w.get(id), a2a.TaskStateCompleted)
	})
}
