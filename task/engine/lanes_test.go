package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/auth"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// sendAs sends a message for somebody, and waits for nothing but its being durable.
func (w *world) sendAs(by auth.Principal, m *a2a.Message) (*engine.Sent, error) {
	return w.engine.Send(w.ctx(), engine.Send{By: by, Message: m})
}

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
		if n := w.tools.count("block"); n != 2 {
			t.Errorf("of one caller %d tasks are at work, want a quarter of 8", n)
		}
	})
}

// Turns that become free go round: each caller that waits has one before any has two.
func TestTurnsGoRound(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var order []string
		open := make(chan struct{})
		w.tools.extra = []tool.Tool{
			&fake{name: "hold", call: func(_ tool.Context, _ map[string]any) (map[string]any, error) {
				<-open
				return map[string]any{"ok": true}, nil
			}},
			&fake{name: "note", call: func(_ tool.Context, a map[string]any) (map[string]any, error) {
				order = append(order, fmt.Sprint(a["of"]))
				return map[string]any{"ok": true}, nil
			}},
		}
		w.cfg.Limits = patient(1, 1)
		w.start()
		w.begun(alice, w.calls("hold", args{}))
		callers := []auth.Principal{alice, carol, {Tenant: "acme", Subject: "dave", Roles: []string{auth.RoleRequester}, Method: "test"}, {Tenant: "other", Subject: "alice", Roles: []string{auth.RoleRequester}, Method: "test"}}
		for _, by := range callers {
			for range 3 {
				w.begun(by, w.calls("note", args{"of": by.Tenant + "/" + by.Subject}))
			}
		}
		close(open)
		synctest.Wait()
		want := strings.Repeat("acme/carol acme/dave other/alice acme/alice ", 3)
		if got := strings.Join(order, " ") + " "; got != want {
			t.Errorf("tasks had their turns in the order\n%s, want\n%s", got, want)
		}
	})
}

// What a caller has at work for longer than a second counts against its own share, so
// that others have room for theirs; and nothing is kept of who has nothing.
func TestLongTurnsOfOneStopNoOther(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Limits = patient(4, 1)
		w.start()
		callers := []auth.Principal{alice, carol, {Tenant: "acme", Subject: "dave", Roles: []string{auth.RoleRequester}, Method: "test"}}
		for i, by := range callers {
			for range 20 {
				w.begun(by, w.calls("block", args{}))
				time.Sleep(time.Second)
			}
			if l := w.engine.LoadOf(by); l.Turns != 5 || l.Waiting != 15 {
				t.Errorf("of caller %d there is %+v, want 5 tasks at work", i, l)
			}
		}
		if n := w.engine.Lanes(); n != len(callers) {
			t.Errorf("%d callers have lanes, want %d", n, len(callers))
		}
		w.tools.release()
		synctest.Wait()
		if n := w.engine.Lanes(); n != 0 {
			t.Errorf("%d callers have lanes when nothing is running", n)
		}
		if n := w.tools.count("block"); n != 60 {
			t.Errorf("%d calls have run, want all", n)
		}
	})
}

// Within a caller, who came first is first.
func TestTurnsOfOneCallerAreInOrder(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var order []any
		open := make(chan struct{})
		w.tools.extra = []tool.Tool{&fake{name: "note", call: func(_ tool.Context, a map[string]any) (map[string]any, error) {
			<-open
			order = append(order, a["n"])
			return map[string]any{"ok": true}, nil
		}}}
		w.cfg.Limits = patient(1, 1)
		w.start()
		for n := range 5 {
			w.begun(alice, w.calls("note", args{"n": n}))
		}
		close(open)
		synctest.Wait()
		if got := fmt.Sprint(order); got != "[0 1 2 3 4]" {
			t.Errorf("tasks had their turns in the order %s", got)
		}
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
		time.Sleep(time.Second)
		synctest.Wait()
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
		if n := w.tools.count("block"); n != 109 {
			t.Errorf("%d calls have run, want all", n)
		}
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
		w.tools.extra = []tool.Tool{&fake{name: "note", is: tool.Annotations{ReadOnly: true}, call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			select {
			case <-open:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			order = append(order, fmt.Sprint(a["of"]))
			return map[string]any{"ok": true}, nil
		}}}
		w.cfg.Limits = patient(1, 1)
		w.start()
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
			time.Sleep(time.Second)
			synctest.Wait()
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
