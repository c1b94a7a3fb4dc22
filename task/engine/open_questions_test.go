package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// either is a tool that asks a question and continues when it is answered, or an hour
// later. Then it asks again as often as it is told to.
type either struct {
	fake
	runs  *counted
	again int
}

func newEither(again int) *either {
	e := &either{fake: fake{name: "either"}, runs: newCounted(), again: again}
	e.call = func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
		n := e.runs.enter(ctx)
		if n <= 1+e.again {
			return nil, &tool.Suspension{
				Asks: []tool.Ask{{Kind: tool.AskQuestion, Hint: fmt.Sprintf("question %d?", n)}},
				Wake: time.Now().Add(time.Hour),
			}
		}
		return map[string]any{"entered": n}, e.runs.holdOr(ctx)
	}
	return e
}

// idle checks that nothing of a task waits for anybody any more.
func (w *world) idle(t *testing.T, id a2a.TaskID) {
	t.Helper()
	if left := w.waiting(id); len(left) != 0 {
		t.Errorf("%v are pending, want none", idsOf(left))
	}
	if n := w.header(id).Pending; n != 0 {
		t.Errorf("the header counts %d pending approvals, want none", n)
	}
	for _, d := range w.dueOf(id) {
		t.Errorf("work of kind %s is still due at %s", d.Kind, d.Time.Time())
	}
}

// A call that its timer resumes, and that then asks something else, waits for no answer to
// its first question any more: it is closed, and says so to who answers it later.
func TestTimerClosesTheQuestion(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(t *testing.T, w *world) {
		e := newEither(1)
		e.runs.open()
		w.tools.extra = []tool.Tool{&e.fake}
		w.start()
		id := w.begin(w.calls("either", args{}))
		synctest.Wait()
		first := w.onlyOne(id)
		time.Sleep(time.Hour + time.Minute)
		second := w.onlyOne(id)
		if second.ID == first.ID {
			t.Fatalf("%s is pending, want the question of the second suspension", second.ID)
		}
		w.wantState(w.get(id), a2a.TaskStateInputRequired)
		if shown := w.pending(w.get(id)); len(shown) != 1 || shown[0] != second.ID {
			t.Errorf("the task asks for %v, want %s", shown, second.ID)
		}
		var said *approval.Error
		_, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.decision(id, respond(first.ID))})
		if !errors.As(err, &said) {
			t.Errorf("an answer to the closed question = %v, want an approval.Error", err)
		}
		if n := e.runs.count(); n != 2 {
			t.Errorf("the tool was entered %d times, want 2", n)
		}
		w.wantState(w.send(w.decision(id, respond(second.ID))), a2a.TaskStateCompleted)
		w.idle(t, id)
	})
}

// A question that is answered takes its timer with it.
func TestAnswerRemovesTheTimer(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(t *testing.T, w *world) {
		e := newEither(0)
		e.runs.open()
		w.tools.extra = []tool.Tool{&e.fake}
		w.start()
		got := w.send(w.calls("either", args{}))
		w.wantState(w.send(w.decision(got.ID, respond(w.pending(got)[0]))), a2a.TaskStateCompleted)
		w.idle(t, got.ID)
	})
}

// The deadline of a question is over with the question: it neither cancels a task
// whose call has been resumed by its timer, nor is it tried forever.
func TestDeadlineOfOpenQuestion(t *testing.T) {
	t.Parallel()
	for _, on := range []approval.OnExpiry{approval.ExpiryCancels, approval.ExpiryRejects, approval.ExpiryKeeps} {
		for _, runs := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s runs %t", on, runs), func(t *testing.T) {
				t.Parallel()
				eachDisk(t, func(t *testing.T, w *world) {
					p, err := approval.NewPolicy(approval.PolicyConfig{Defaults: approval.Terms{Expires: 2 * time.Hour, OnExpiry: on}})
					if err != nil {
						t.Fatal(err)
					}
					e := newEither(0)
					t.Cleanup(e.runs.open)
					if !runs {
						e.runs.open()
					}
					w.tools.extra = []tool.Tool{&e.fake}
					w.cfg.Policy = p
					w.cfg.Limits = task.Limits{ToolTimeout: 1000 * time.Hour}
					w.start()
					id := w.begin(w.calls("either", args{}))
					time.Sleep(time.Hour + time.Minute)
					if n := e.runs.count(); n != 2 {
						t.Fatalf("the tool was entered %d times, want 2", n)
					}
					time.Sleep(2 * time.Hour)
					if runs {
						if n := e.runs.count(); n != 2 || w.header(id).Phase == store.Final {
							t.Errorf("the tool was entered %d times, and the task is %s, want its second run to continue", n, w.get(id).Status.State)
						}
						e.runs.open()
					}
					w.wantState(w.ended(id), a2a.TaskStateCompleted)
					w.idle(t, id)
				})
			})
		}
	}
}

// Of a suspension that is refused nothing is asked.
func TestRefusedSuspensionAsksNothing(t *testing.T) {
	t.Parallel()
	good := tool.Ask{Kind: tool.AskQuestion, Hint: "which one?"}
	for name, bad := range map[string]tool.Ask{
		"form without schema": {Kind: tool.AskForm, Hint: "fill this in"},
		"no such kind":        {Kind: "riddle", Hint: "what walks on four legs?"},
		"no JSON":             {Kind: tool.AskQuestion, Hint: "what is it?", Payload: func() {}},
		"bad schema":          {Kind: tool.AskForm, Hint: "fill this in", Schema: map[string]any{"type": "objekt"}},
	} {
		for order, asks := range map[string][]tool.Ask{"last": {good, good, bad}, "first": {bad, good}, "between": {good, bad, good}} {
			t.Run(name+" "+order, func(t *testing.T) {
				t.Parallel()
				eachDisk(t, func(t *testing.T, w *world) {
					p, err := approval.NewPolicy(approval.PolicyConfig{Defaults: approval.Terms{Expires: 2 * time.Hour}})
					if err != nil {
						t.Fatal(err)
					}
					w.cfg.Policy = p
					w.tools.extra = []tool.Tool{&fake{name: "asks", call: func(tool.Context, map[string]any) (map[string]any, error) {
						return nil, &tool.Suspension{Asks: asks, Wake: time.Now().Add(time.Hour)}
					}}}
					w.start()
					id := w.begin(w.calls("asks", args{}))
					w.wantState(w.ended(id), a2a.TaskStateFailed)
					w.idle(t, id)
				})
			})
		}
	}
}
