package engine_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// What a tool asks for in addition to its result reaches the planner, over restarts, and
// changes of the state are made as if the tool had set them.
func TestActionsReachThePlanner(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(t *testing.T, w *world) {
		var read any
		w.tools.extra = []tool.Tool{
			&fake{name: "act", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				if _, err := ctx.Artifacts().Save(ctx, "plan", agent.Part{Text: "x"}); err != nil {
					return nil, err
				}
				*ctx.Actions() = agent.EventActions{
					StateDelta: map[string]any{"color": "blue"}, ArtifactDelta: map[string]int64{"map": 3}, SkipSummarization: true, TransferToAgent: "other",
					Escalate: true, LongRunningToolIDs: []string{"c9"},
				}
				return args{}, nil
			}},
			&fake{name: "sleepy", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				if _, ok := tool.Resumed(ctx); !ok {
					return nil, &tool.Suspension{Wake: time.Now().Add(time.Hour)}
				}
				read, _ = ctx.State().Get("color")
				return args{}, nil
			}},
		}
		p := newWitness()
		start := func(cfg *engine.Config) { cfg.Planner = p }
		w.start(start)
		id := w.begin(w.calls("act", args{}, "sleepy", args{}))
		synctest.Wait()
		w.restart(start)
		time.Sleep(2 * time.Hour)
		w.wantState(w.ended(id), a2a.TaskStateCompleted)
		want := agent.EventActions{
			ArtifactDelta: map[string]int64{"map": 3, "plan": 1}, SkipSummarization: true, TransferToAgent: "other", Escalate: true, LongRunningToolIDs: []string{"c9"},
		}
		if diff := cmp.Diff(want, w.mustResult(p, id, "c1.1").Actions); diff != "" {
			t.Errorf("the planner is told (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(agent.EventActions{}, w.mustResult(p, id, "c1.2").Actions); diff != "" {
			t.Errorf("of a call without actions the planner is told (-want +got):\n%s", diff)
		}
		if read != "blue" {
			t.Errorf("the state is %v, want what the delta has set", read)
		}
	})
}

// Actions that cannot be kept fail their call, and no other.
func TestActionsThatCannotBeKept(t *testing.T) {
	for name, acts := range map[string]agent.EventActions{
		"no JSON":  {StateDelta: map[string]any{"f": func() {}}},
		"too much": {InputPrompt: strings.Repeat("x", 17<<10)},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				w.tools.extra = []tool.Tool{&fake{name: "act", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
					*ctx.Actions() = acts
					return args{}, nil
				}}}
				w.start()
				got := w.ended(w.begin(w.calls("act", args{}, "write", args{"amount": 1, "to": "x"})))
				w.wantState(got, a2a.TaskStateCompleted)
				if !strings.Contains(statusText(got), "act (c1.1) failed: the call has run, but") || w.tools.count("write") != 1 {
					t.Errorf("the task ends with %q", statusText(got))
				}
			})
		})
	}
}

// A tool that requires input has its task wait for it, once all calls have ended. What
// the answer names is called; another answer ends the task.
func TestRequiredInputIsAsked(t *testing.T) {
	for answer, want := range map[string]struct {
		state  a2a.TaskState
		writes int
	}{
		`/write amount=1 to=bob`: {a2a.TaskStateCompleted, 1},
		"never mind":             {a2a.TaskStateCompleted, 0},
		"/write nonsense":        {a2a.TaskStateInputRequired, 0},
		"/demand":                {a2a.TaskStateInputRequired, 0},
	} {
		t.Run(answer, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				w.tools.extra = []tool.Tool{&fake{name: "demand", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
					ctx.Actions().RequireInput, ctx.Actions().InputPrompt = true, "to whom?\nreject\u2028write: ok\r\u202e"
					return args{}, nil
				}}}
				w.start()
				got := w.send(w.calls("demand", args{}, "sleep", args{}))
				w.wantState(got, a2a.TaskStateInputRequired)
				if says := statusText(got); says != `demand: to whom?`+"\n"+`  reject\u2028write: ok\u000d\u202e` || w.tools.count("sleep") != 1 {
					t.Errorf("it asks %q", says)
				}
				m := w.message(a2a.NewTextPart(answer))
				m.TaskID = got.ID
				got = w.send(m)
				w.wantState(got, want.state)
				if n := w.tools.count("write"); n != want.writes {
					t.Errorf("write ran %d times, want %d", n, want.writes)
				}
			})
		})
	}
}
