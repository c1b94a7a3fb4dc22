package rules_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/output"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// keeps says that the run of a call has kept a state.
func (k *desk) keeps(call, state string) {
	k.t.Helper()
	f := k.fold()
	chunk, err := f.Publisher(presents, 1<<20).Checkpoint(k.now, call, json.RawMessage(state))
	if err != nil {
		k.t.Fatalf("Checkpoint() = %v", err)
	}
	b := &store.Batch{Scope: store.System(), Task: deskTask, Fence: &k.header.Fence, Events: []store.Event{chunk.Event}}
	if err := b.Validate(); err != nil {
		k.t.Fatalf("the batch is no batch: %v", err)
	}
	h, r, err := store.Next(&k.header, b, 1)
	if err != nil {
		k.t.Fatalf("the batch is refused: %v", err)
	}
	k.header = h
	k.log = append(k.log, b.Number(r)...)
	f.Publish([]output.RunEvent{chunk})
	if diff := cmp.Diff(k.whole(k.fold()), k.whole(f)); diff != "" {
		k.t.Fatalf("the fold of the turn is not what the log says (-log +turn):\n%s", diff)
	}
}

// What a turn knows of a checkpoint that it has queued is what its log says: before and
// after a suspension, whose answers a checkpoint takes the place of.
func TestCheckpointIsFoldedAsItIsRead(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "job"})
	k.begin(task.PlannedCall{Tool: "job"})
	k.keeps("c1.1", `{"a": "<b>"}`)
	k.pauses("c1.1", tool.Suspension{Asks: []tool.Question{{Kind: tool.AskQuestion, Hint: "?"}}, State: json.RawMessage(`2`)})
	k.decide(id(1), "respond")
	if r := k.entered[1].Resumption; string(r.State) != "2" || len(r.Answers) != 1 {
		t.Errorf("the call was resumed with %s and %d answers", r.State, len(r.Answers))
	}
	k.keeps("c1.1", `[3]`)
	k.dies()
	k.wantEntries(3)
	if r := k.entered[2].Resumption; string(r.State) != "[3]" || len(r.Answers) != 0 {
		t.Errorf("the call was entered again with %s and %d answers", r.State, len(r.Answers))
	}
	k.returns("c1.1", `1`)
	k.wantState(a2a.TaskStateCompleted)
}

// What a call that has kept something has running elsewhere is told of a cancel, also
// while the log says that the call runs: its process may be gone. A call that has ended
// has nothing elsewhere.
func TestCancelTellsWhatWasKept(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		then func(k *desk)
		told bool
	}{
		"it runs": {func(k *desk) {
			k.keeps("c1.1", `"job 7"`)
			k.mustPut(rules.Cancel{})
		}, true},
		"its process is gone": {func(k *desk) {
			k.keeps("c1.1", `"job 7"`)
			clear(k.running)
			k.mustPut(rules.Cancel{})
		}, true},
		"nobody knows, and it is given up": {func(k *desk) {
			k.keeps("c1.1", `"job 7"`)
			k.ends("c1.1", rules.RunEnded{Err: tool.ErrOutcomeUnknown, Unknown: true})
			k.decide(id(1), "reject")
		}, true},
		"it has failed": {func(k *desk) {
			k.keeps("c1.1", `"job 7"`)
			k.ends("c1.1", rules.RunEnded{Err: errors.New("no")})
		}, false},
		"it has ended": {func(k *desk) {
			k.keeps("c1.1", `"job 7"`)
			k.returns("c1.1", `1`)
		}, false},
	} {
		k := newDesk(t, nil)
		k.rules.Tools = tool.NewRegistry(tool.NewToolset("agents", &parent{fake{name: "ask"}}))
		k.begin(task.PlannedCall{Tool: "ask"})
		tc.then(k)
		if !tc.told {
			k.wantNoDue()
			continue
		}
		var p rules.ChildCancel
		err := json.Unmarshal(k.dueRow(record.DueChildCancel, "c1.1").Payload, &p)
		if p.Kept {
			p.State, _ = k.fold().Kept("c1.1")
		}
		if err != nil || string(p.State) != `"job 7"` || len(k.due) != 1 {
			t.Errorf("%s: %s is told, of %d rows: %v", name, p.State, len(k.due), err)
		}
	}
}

// A call that may be repeated, whose process has died, and whose tool has changed
// meanwhile, is asked about again: the question says that the call may have run, and so
// does its result if it is not run again.
func TestQuestionAboutACallThatDiedSaysSo(t *testing.T) {
	t.Parallel()
	const died = "the server stopped while it ran"
	for name, gated := range map[string]bool{"it was approved": true, "nobody was asked": false} {
		for _, verb := range []approval.DecisionType{approval.Approve, approval.Reject} {
			t.Run(name+", then "+string(verb), func(t *testing.T) {
				t.Parallel()
				job := &fake{name: "job", gated: gated, schema: amounts("one"), is: tool.Annotations{Idempotent: true}}
				k := newDesk(t, nil, job)
				k.begin(call("job", 1))
				if gated {
					k.decide(id(1), approval.Approve)
				}
				k.keeps("c1.1", `"job 7"`)
				job.schema, job.gated = amounts("another"), true
				k.dies()
				if a := k.one(); a.Kind != approval.KindCall || !strings.Contains(a.Question(), died) {
					t.Errorf("the question is %q, of kind %s; want one about the call which says that %s", a.Question(), a.Kind, died)
				}
				n := len(k.entered)
				k.decide(k.one().ID, verb)
				if verb == approval.Approve {
					if len(k.entered) != n+1 || string(k.entered[n].Resumption.State) != `"job 7"` {
						t.Error("the call is not entered with what it had kept")
					}
					return
				}
				if outcome, says := k.outcome("c1.1"); outcome != task.OutcomeUnknown || !strings.Contains(says, died) {
					t.Errorf("the call ends %s, %q, want that %s", outcome, says, died)
				}
			})
		}
	}
}

// A call with effects that has kept something and whose process has died is not one that
// has never run: if it may not simply continue, a person is asked what came of it.
func TestCheckpointThatMayNotContinue(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		gates  []approval.Gate // at first
		change func(k *desk)
	}{
		"its tool has changed": {[]approval.Gate{{Tool: "job", Action: approval.ActionAsk}}, func(k *desk) {
			k.shelf.tools = []*fake{{name: "job", schema: map[string]any{"type": "object", "description": "another"}}}
		}},
		"its approval is needed now": {nil, func(k *desk) {
			k.rules.Policy = policy(t, approval.Gate{Tool: "job", Action: approval.ActionAsk})
		}},
	} {
		for _, verb := range []approval.DecisionType{approval.Approve, approval.Reject} {
			k := newDesk(t, nil, &fake{name: "job"})
			k.rules.Policy = policy(t, tc.gates...)
			k.begin(task.PlannedCall{Tool: "job"})
			if tc.gates != nil {
				k.decide(k.one().ID, approval.Approve)
			}
			k.wantEntries(1)
			k.keeps("c1.1", `"half"`)
			tc.change(k)
			k.dies()
			k.wantEntries(1)
			asked := k.one()
			if asked.Kind != approval.KindOutcome {
				t.Errorf("%s: the %s is asked, want the outcome", name, asked.Kind)
			}
			k.decide(asked.ID, verb)
			if verb == approval.Reject {
				k.wantEntries(1)
				if outcome, problem := k.outcome("c1.1"); outcome != task.OutcomeUnknown || !strings.Contains(problem, "the result of the call is unknown") {
					t.Errorf("%s: the call ended %q, %q", name, outcome, problem)
				}
				continue
			}
			k.wantEntries(2)
			if e := k.entered[1]; e.Attempt != 2 || string(e.Resumption.State) != `"half"` {
				t.Errorf("%s: attempt %d begins with %s", name, e.Attempt, e.Resumption.State)
			}
		}
	}
}

// What a tool was when its call started counts after a crash: one that calls itself safe to repeat only since then
// is asked about, and so is one with a checkpoint that has changed since. Nobody was asked before, or somebody was.
func TestToolThatChangesAfterTheStart(t *testing.T) {
	t.Parallel()
	for _, gated := range []bool{true, false} {
		for name, change := range map[string]func(k *desk, job *fake){
			"calls itself safe": func(_ *desk, job *fake) { job.is = tool.Annotations{Idempotent: true} },
			"is another":        func(k *desk, job *fake) { k.keeps("c1.1", `"step 7"`); job.schema = amounts("another") },
		} {
			t.Run(fmt.Sprintf("%s, gated %t", name, gated), func(t *testing.T) {
				t.Parallel()
				job := &fake{name: "job", gated: gated, schema: amounts("one")}
				k := newDesk(t, nil, job)
				k.begin(call("job", 1))
				if gated {
					k.decide(id(1), approval.Approve)
				}
				change(k, job)
				k.dies()
				all := k.pending()
				if n := k.entries("c1.1"); n != 1 || len(all) != 1 || k.fold().Approval(all[0]).Kind != approval.KindOutcome {
					t.Errorf("it was entered %d times, and %v waits; want a question about its outcome", n, all)
				}
			})
		}
	}
}

// What a tool was at each later entry counts, too: a call is asked about after a crash, although its tool calls
// itself safe to repeat again, or is again the one that had started before another kept a checkpoint.
func TestToolThatIsPutBack(t *testing.T) {
	t.Parallel()
	for _, safe := range []bool{true, false} {
		is := tool.Annotations{Idempotent: safe}
		job := &fake{name: "job", schema: amounts("one"), is: is}
		k := newDesk(t, nil, job)
		k.begin(call("job", 1))
		wake := k.now.Add(time.Minute)
		k.pauses("c1.1", tool.Suspension{Wake: wake})
		if job.is, k.now = (tool.Annotations{}), wake; !safe {
			job.schema = amounts("two")
		}
		k.step()
		k.wantEntries(2)
		if !safe {
			k.keeps("c1.1", `"step 7"`)
		}
		job.is, job.schema = is, amounts("one")
		k.dies()
		k.wantEntries(2)
		if a := k.one(); a.Kind != approval.KindOutcome || strings.Contains(a.Question(), "has changed") == safe {
			t.Errorf("safe %t: the question is %q", safe, a.Question())
		}
	}
}
