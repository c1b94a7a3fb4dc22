package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/tool"
)

// The question whether to wait for a tool is over when the tool is there: whoever
// answers it then does not end a call that runs.
func TestQuestionWhetherToWaitEndsWithTheTrouble(t *testing.T) {
	for name, gated := range map[string]bool{"started": false, "asked": true} {
		t.Run(name, func(t *testing.T) {
			bubbled(t, func(t *testing.T, w *world) {
				runs := newCounted()
				pay := &fake{name: "pay", gated: gated, call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
					runs.enter(ctx)
					return map[string]any{"paid": true}, runs.holdOr(ctx)
				}}
				t.Cleanup(runs.open)
				r := &outlet{tools: []tool.Tool{pay}, down: true}
				w.cfg.Limits.ToolTimeout = 1000 * time.Hour
				w.startWith(r, callsOf("pay", `{}`))
				id := w.begin(w.message(a2a.NewTextPart("go")))
				time.Sleep(25 * time.Hour)
				doubt := w.onlyOne(id)
				r.set(false)
				time.Sleep(10 * time.Minute)
				if gated {
					if a := w.onlyOne(id); a.Kind != approval.KindCall {
						t.Errorf("%s is pending, want the question of the call alone", a.ID)
					}
					return
				}
				if n := runs.count(); n != 1 {
					t.Fatalf("the tool was entered %d times, want 1", n)
				}
				if left := w.waiting(id); len(left) > 0 {
					t.Errorf("%v are pending while the call runs, want none", idsOf(left))
				}
				err := w.decide(bob, id, approval.Answer{ID: doubt.ID, Verb: approval.Respond, Response: []byte(`"give up"`)})
				t.Logf("Decide() = %v", err)
				synctest.Wait()
				runs.open()
				w.wantState(w.ended(id), a2a.TaskStateCompleted)
				if artifact(w.get(id), "c1.1") == nil {
					t.Error("the call has run, and its result is lost")
				}
			})
		})
	}
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
	bubbled(t, func(t *testing.T, w *world) {
		tl, runs := sleeper(time.Hour, 48*time.Hour)
		r := &outlet{tools: []tool.Tool{tl}}
		w.startWith(r, callsOf("sleeper", `{}`))
		id := w.begin(w.message(a2a.NewTextPart("go")))
		synctest.Wait()
		r.set(true)
		time.Sleep(26 * time.Hour)
		w.onlyOne(id) // whether to wait on
		r.set(false)
		time.Sleep(time.Hour)
		if n := runs.count(); n != 2 {
			t.Fatalf("the tool was entered %d times, want 2", n)
		}
		r.set(true)
		time.Sleep(48 * time.Hour) // the second pause is over since an hour at most
		if left := w.waiting(id); len(left) > 0 {
			t.Errorf("after an hour without the tool %q is asked, want that after a day", left[0].Hint)
		}
	})
}

// What is due and cannot be done now waits for its next try, not in the way.
func TestTimerOfUnreachableToolDoesNotStayDue(t *testing.T) {
	bubbled(t, func(t *testing.T, w *world) {
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
	bubbled(t, func(t *testing.T, w *world) {
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
	bubbled(t, func(t *testing.T, w *world) {
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
	bubbled(t, func(t *testing.T, w *world) {
		r := &outlet{}
		pay := &fake{name: "pay", call: func(tool.Context, map[string]any) (map[string]any, error) {
			r.set(true)
			time.AfterFunc(time.Second, func() { r.set(false) })
			return map[string]any{"paid": true}, nil
		}}
		r.tools = []tool.Tool{pay}
		w.tools.extra = nil
		w.startOnly(r)
		got := w.send(w.calls("pay", args{}))
		w.wantState(got, a2a.TaskStateCompleted)
	})
}
