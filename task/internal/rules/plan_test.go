package rules_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
)

// aliases returns what the log calls each call, by id.
func (k *desk) aliases() map[string]string {
	k.t.Helper()
	all := map[string]string{}
	for _, e := range k.log {
		var p struct{ Calls []struct{ ID, Alias string } }
		if e.Kind != "step.planned.v1" {
			continue
		}
		if err := json.Unmarshal(e.Data, &p); err != nil {
			k.t.Fatal(err)
		}
		for _, c := range p.Calls {
			all[c.ID] = c.Alias
		}
	}
	return all
}

// A caller's name for a call is kept when nobody can take it for another call: not for
// one of the same step, of an earlier one, or of this server's own making.
func TestAliasThatCouldBeAnotherIsDropped(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "run"})
	named := func(alias string) task.PlannedCall { return task.PlannedCall{Tool: "run", Alias: alias} }
	k.planner.list = []*task.Step{
		{Calls: []task.PlannedCall{named("x"), named("x"), named("c1.4"), named("y"), named(deskTask.String() + ".a1"), named("")}},
		{Calls: []task.PlannedCall{named("y"), named("z"), named("c2.1")}},
	}
	k.beginAs()
	for i := range 6 {
		k.returns(fmt.Sprintf("c1.%d", i+1), `1`)
	}
	want := map[string]string{"c1.1": "x", "c1.2": "", "c1.3": "", "c1.4": "y", "c1.5": "", "c1.6": "", "c2.1": "", "c2.2": "z", "c2.3": ""}
	if diff := cmp.Diff(want, k.aliases()); diff != "" {
		t.Errorf("aliases (-want +got):\n%s", diff)
	}
}

// Names are counted over all calls of a task, those too that nobody was asked about: a
// name of two calls reaches neither.
func TestNameOfTwoCallsReachesNeither(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "run", schema: amounts("")}, &fake{name: "pay", gated: true, schema: amounts("")})
	small, large := call("run", 1), call("pay", 1_000_000)
	small.Alias, large.Alias = "x", "only"
	k.begin(small, large)
	by := func(name string) error {
		return k.answer(approval.Decision{ID: name, ByCall: true, Type: approval.Approve})
	}
	log := make([]store.Event, len(k.log))
	copy(log, k.log)
	for i := range k.log { // as if every alias were kept
		k.log[i].Data = []byte(strings.ReplaceAll(string(k.log[i].Data), `"only"`, `"x"`))
	}
	wantError(t, by("x"), approval.ReasonMalformed)
	var invalid *task.InvalidError
	if err := k.put(rules.CancelCall{By: alice, Via: approval.ViaAPI, Call: "x"}); !errors.As(err, &invalid) || !strings.Contains(err.Error(), "c1.1, c1.2") {
		t.Fatalf("a cancel of the name of two calls = %v, want an error that names both", err)
	}
	if n := k.entries("c1.2"); n != 0 {
		t.Fatalf("the call was entered %d times by the name of another", n)
	}
	k.log = log
	if err := by("only"); err != nil {
		t.Fatal(err)
	}
	if n := k.entries("c1.2"); n != 1 {
		t.Errorf("the call was entered %d times by its own name, want 1", n)
	}
}

// A planner ends its task in an end, whoever asked it.
func TestOnlyAnEndEndsATask(t *testing.T) {
	t.Parallel()
	for _, state := range []a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateSubmitted, a2a.TaskStateInputRequired, ""} {
		k := newDesk(t, nil)
		k.planner.list = []*task.Step{{End: &task.End{State: state}}}
		k.beginAs()
		k.wantState(a2a.TaskStateFailed)

		k = newDesk(t, nil)
		k.planner.slow = true
		k.beginAs()
		if d, err := rules.On(k.rules, k.at(), k.fold(), rules.Planned{Step: &task.Step{End: &task.End{State: state}}}); err == nil {
			t.Errorf("a plan that ends in %q is taken: the task is in phase %d", state, d.Phase())
		}
	}
}

// A planner that goes from step to step without a call is asked again only when what it has said
// so far has been committed.
func TestLargeDraftIsCommittedFirst(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil)
	text := strings.Repeat("x", 300<<10)
	for range 20 {
		k.planner.list = append(k.planner.list, &task.Step{Output: []task.Output{{Status: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))}}})
	}
	most := 0
	batches := 0
	d, err := k.create(), error(nil)
	for next := rules.NextAgain; next == rules.NextAgain; batches++ {
		if err != nil {
			t.Fatal(err)
		}
		if next, err = d.Advance(); err != nil {
			t.Fatal(err)
		}
		if err := d.GoLive(); err != nil {
			t.Fatal(err)
		}
		k.commit(d)
		most = max(most, k.batch.Size())
		d, err = rules.On(k.rules, k.at(), k.fold())
	}
	k.wantState(a2a.TaskStateCompleted)
	if most > 2<<20 || batches < 5 {
		t.Errorf("6 MiB were written in %d batches, the largest of %d KiB", batches, most>>10)
	}
}

// What a planner wants beyond its limits ends its task, and says why.
func TestPlansAreBounded(t *testing.T) {
	t.Parallel()
	many := make([]task.PlannedCall, 65)
	for i := range many {
		many[i].Tool = "run"
	}
	for name, s := range map[string]*task.Step{
		"too many calls": {Calls: many},
		"a large state":  {State: json.RawMessage(`"` + strings.Repeat("x", 256<<10) + `"`)},
		"a large status": {Output: []task.Output{{Status: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(strings.Repeat("x", 1<<20)))}}},
		"a large piece":  {Output: []task.Output{{Artifact: &task.ArtifactPiece{ID: "a", Parts: []*a2a.Part{a2a.NewTextPart(strings.Repeat("x", 1<<20))}}}}},
		"large metadata": {Output: []task.Output{{Metadata: map[string]any{"a": strings.Repeat("x", 1<<20)}}}},
		"large metadata of a piece": {Output: []task.Output{{Artifact: &task.ArtifactPiece{
			ID: "a", Parts: []*a2a.Part{a2a.NewTextPart("x")}, Metadata: map[string]any{"a": strings.Repeat("x", 1<<20)},
		}}}},
		"metadata that are no JSON": {Output: []task.Output{{Metadata: map[string]any{"a": func() {}}}}},
		"no id":                     {Output: []task.Output{{Artifact: &task.ArtifactPiece{Parts: []*a2a.Part{a2a.NewTextPart("x")}}}}},
	} {
		k := newDesk(t, nil, &fake{name: "run"})
		k.planner.list = []*task.Step{s}
		k.beginAs()
		if k.wantState(a2a.TaskStateFailed); !strings.Contains(k.text(), "The task failed: ") {
			t.Errorf("%s: the status says %q", name, k.text())
		}
	}
	k := newDesk(t, func(r *rules.Rules) { r.Limits.Steps = 3 }, &fake{name: "run"})
	for range 4 {
		k.planner.list = append(k.planner.list, &task.Step{State: json.RawMessage(`1`)})
	}
	k.beginAs()
	k.wantState(a2a.TaskStateFailed)
}

// A planner that fails ends its task, and what it said is for the log and the client.
func TestPlannerThatFails(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil)
	k.planner.slow = true
	k.beginAs()
	k.step(rules.Planned{Err: errors.New("no idea")})
	if k.wantState(a2a.TaskStateFailed); !strings.Contains(k.text(), "no idea") {
		t.Errorf("the status says %q", k.text())
	}
}
