package engine_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// away is a toolset that cannot be reached while it is away.
type away struct {
	is   atomic.Bool
	err  error
	list []tool.Tool
}

func (s *away) Name() string { return "away" }
func (s *away) Tools(agent.ReadonlyContext) ([]tool.Tool, error) {
	if s.is.Load() {
		return nil, s.err
	}
	return s.list, nil
}

// sleeper is a tool that is suspended until a time, twice.
func sleeper(first, second time.Duration) (*fake, *counted) {
	runs := newCounted()
	return &fake{name: "sleeper", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
		switch runs.enter(ctx) {
		case 1:
			return nil, &tool.Suspension{Wake: time.Now().Add(first)}
		case 2:
			if second > 0 {
				return nil, &tool.Suspension{Wake: time.Now().Add(second)}
			}
		}
		return map[string]any{"ok": true}, nil
	}}, runs
}

// A call that has been entered since its tool was out of reach has not been waiting
// since then.
func TestTroubleThatIsOverIsForgotten(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		tl, runs := sleeper(time.Hour, 48*time.Hour)
		r := &outlet{tools: []tool.Tool{tl}}
		w.startWith(r, callsOf("sleeper", `{}`))
		id := w.begin(w.message(a2a.NewTextPart("go")))
		synctest.Wait()
		r.set(true)
		time.Sleep(26 * time.Hour)
		r.set(false)
		time.Sleep(time.Hour)
		if n := runs.count(); n != 2 {
			t.Fatalf("the tool was entered %d times, want 2", n)
		}
		r.set(true)
		down := time.Now()
		time.Sleep(48 * time.Hour) // the second pause is over since an hour at most
		_, says, _ := strings.Cut(statusText(w.get(id)), "since ")
		says, _, _ = strings.Cut(says, ": ")
		if since, err := time.Parse(time.RFC3339, says); err != nil || since.Before(down) {
			t.Errorf("the status says that the tool is out of reach since %q, want after %s", says, down)
		}
	})
}

// What is due and cannot be done now waits for its next try, not in the way.
func TestTimerOfUnreachableToolDoesNotStayDue(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		tl, _ := sleeper(time.Hour, 0)
		r := &outlet{tools: []tool.Tool{tl}}
		w.startWith(r, callsOf("sleeper", `{}`))
		id := w.begin(w.message(a2a.NewTextPart("go")))
		synctest.Wait()
		r.set(true)
		time.Sleep(time.Hour + 10*time.Minute)
		before := w.header(id)
		for _, d := range w.dueOf(id) {
			if d.Time < store.MillisOf(time.Now()) {
				t.Errorf("work of kind %s, %q is due since %s", d.Kind, d.Key, d.Time.Time())
			}
		}
		// Others put due work meanwhile, each of which wakes the scheduler.
		for range 20 {
			w.begin(w.calls("sleep", args{}))
			time.Sleep(time.Second)
		}
		if n := w.header(id).Rev - before.Rev; n > 3 {
			t.Errorf("the task was changed %d times in 20 s, want no more than its tries", n)
		}
	})
}

// A task at work does not ask the same again each second because a timer of it cannot be
// served.
func TestTimerOfUnreachableToolAddsNoEvents(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		tl, _ := sleeper(time.Hour, 0)
		r := &outlet{tools: []tool.Tool{tl}}
		w.cfg.Limits = task.Limits{ToolTimeout: 1000 * time.Hour}
		w.startWith(r, callsOf("sleeper", `{}`, "block", `{}`, "transfer", `{"amount":1,"to":"x"}`))
		id := w.begin(w.message(a2a.NewTextPart("go")))
		synctest.Wait()
		r.set(true)
		time.Sleep(time.Hour + 10*time.Second)
		before := w.header(id)
		time.Sleep(2 * time.Minute)
		if n := w.header(id).Pub - before.Pub; n > 5 {
			t.Errorf("%d public events in two minutes, want those of the tries, 5 at most", n)
		}
		r.set(false)
		w.tools.release()
	})
}

// A call that is asked for takes the timer of its tries with it.
func TestAskRemovesTheRetryTimer(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		pay := &fake{name: "pay", gated: true, call: func(tool.Context, map[string]any) (map[string]any, error) { return nil, nil }}
		r := &outlet{tools: []tool.Tool{pay}, down: true}
		w.startWith(r, callsOf("pay", `{}`))
		id := w.begin(w.message(a2a.NewTextPart("go")))
		synctest.Wait()
		r.set(false)
		time.Sleep(2 * time.Second)
		w.onlyOne(id)
		for _, d := range w.dueOf(id) {
			t.Errorf("work of kind %s, %q is still due at %s", d.Kind, d.Key, d.Time.Time())
		}
	})
}

// A toolset that is out of reach for a moment does not fail a task whose calls have
// succeeded.
func TestToolsetDownWhilePlanningFailsNoTask(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		r := &outlet{}
		pay := &fake{name: "pay", call: func(tool.Context, map[string]any) (map[string]any, error) {
			r.set(true)
			time.AfterFunc(time.Second, func() { r.set(false) })
			return map[string]any{"paid": true}, nil
		}}
		r.tools = []tool.Tool{pay}
		w.tools.extra = nil
		w.start(func(c *engine.Config) { c.Tools = tool.NewRegistry(r) })
		got := w.send(w.calls("pay", args{}))
		w.wantState(got, a2a.TaskStateCompleted)
	})
}
