package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/tool"
)

// A tool that ignores its time-out is entered once, whatever it declares. When a
// repetition would do no harm its call has failed, and says so; else a person says
// what came of it.
func TestIgnoredTimeoutIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, is := range []tool.Annotations{
		{}, {ReadOnly: true}, {Idempotent: true}, {ReadOnly: true, Idempotent: true},
		{Destructive: true}, {Idempotent: true, Destructive: true},
	} {
		for _, gated := range []bool{false, true} {
			t.Run(fmt.Sprintf("%+v gated %t", is, gated), func(t *testing.T) {
				t.Parallel()
				eachDisk(t, func(t *testing.T, w *world) {
					runs := newCounted()
					t.Cleanup(runs.open)
					w.tools.extra = []tool.Tool{&fake{name: "deaf", gated: gated, is: is, call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
						runs.enter(ctx)
						runs.hold()
						return map[string]any{"late": true}, nil
					}}}
					seen := newWitness()
					w.cfg.Planner = seen
					w.cfg.Limits = task.Limits{ToolTimeout: 20 * time.Millisecond, ToolGrace: 20 * time.Millisecond}
					w.start()
					id := w.begin(w.calls("deaf", args{}))
					if gated {
						if err := w.decide(alice, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Approve}); err != nil {
							t.Fatal(err)
						}
					}
					if !w.rested(id) {
						t.Fatalf("the task is at work forever; the tool was entered %d times", runs.count())
					}
					if n := runs.count(); n != 1 {
						t.Errorf("the tool was entered %d times, want 1", n)
					}
					if is.ReadOnly || is.Idempotent {
						w.wantState(w.get(id), a2a.TaskStateFailed)
						if r := w.mustResult(seen, id, "c1.1"); r.Outcome != task.OutcomeError || !strings.Contains(r.Error, "did not end in time") {
							t.Errorf("the planner was told %s, %q; want an error that says that the tool did not end in time", r.Outcome, r.Error)
						}
					} else {
						w.wantState(w.get(id), a2a.TaskStateInputRequired)
						if a := w.onlyOne(id); a.Kind != approval.KindOutcome {
							t.Errorf("a person is asked about the %s, want the outcome", a.Kind)
						}
					}
					runs.open()
					w.until("the late result is recorded", func() bool { return w.audit("finished_late") > 0 })
					if n := runs.count(); n != 1 {
						t.Errorf("the tool was entered %d times in the end, want 1", n)
					}
				})
			})
		}
	}
}

// Runs that do not end are counted by tool: one that has too many of them is not
// entered any more, and all others are. When its runs end, it is entered again.
func TestAbandonedRunsAreCountedByTool(t *testing.T) {
	t.Parallel()
	for _, is := range []tool.Annotations{{}, {ReadOnly: true}, {Idempotent: true}} {
		t.Run(fmt.Sprintf("%+v", is), func(t *testing.T) {
			t.Parallel()
			eachDisk(t, func(t *testing.T, w *world) {
				runs := newCounted()
				t.Cleanup(runs.open)
				w.tools.extra = []tool.Tool{&fake{name: "deaf", is: is, call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
					runs.enter(ctx)
					runs.hold()
					return map[string]any{"late": true}, nil
				}}}
				const limit = 8
				seen := newWitness()
				w.cfg.Planner = seen
				w.cfg.Limits = task.Limits{ToolTimeout: 10 * time.Millisecond, ToolGrace: 10 * time.Millisecond, Abandoned: limit}
				w.start()
				for n := range limit {
					id := w.begin(w.calls("deaf", args{}))
					if !w.rested(id) || runs.count() != n+1 {
						t.Fatalf("after task %d the tool was entered %d times, and the task is %s", n+1, runs.count(), w.get(id).Status.State)
					}
				}
				id := w.send(w.calls("deaf", args{})).ID
				w.wantState(w.get(id), a2a.TaskStateFailed)
				if r := w.mustResult(seen, id, "c1.1"); r.Outcome != task.OutcomeError || !strings.Contains(r.Error, "deaf") {
					t.Errorf("the planner was told %s, %q; want an error that names the tool", r.Outcome, r.Error)
				}
				if n := runs.count(); n != limit {
					t.Errorf("the tool was entered %d times, want %d", n, limit)
				}
				w.wantState(w.send(w.calls("write", args{"amount": 1, "to": "x"})), a2a.TaskStateCompleted)
				w.wantState(w.send(w.calls("echo", args{})), a2a.TaskStateCompleted)
				runs.open()
				w.until("the tool is entered again", func() bool {
					return w.send(w.calls("deaf", args{})).Status.State == a2a.TaskStateCompleted
				})
			})
		})
	}
}
