package rules_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// nervous is a planner and a presenter that panics where it is told to.
type nervous struct {
	steps
	task.Presenter
	at string
}

func (n *nervous) breakAt(at string) {
	if n.at == at {
		panic(at + " broke")
	}
}

func (n *nervous) Accept(agent.ReadonlyContext, *task.Request) (*a2a.Message, error) {
	n.breakAt("Accept")
	return nil, nil
}

func (n *nervous) Inline() bool {
	n.breakAt("Inline")
	return n.steps.Inline()
}

func (n *nervous) Plan(ctx context.Context, p *task.Progress) (*task.Step, error) {
	n.breakAt("Plan")
	return n.steps.Plan(ctx, p)
}

func (n *nervous) Answers(m *a2a.Message, all []*approval.Approval) ([]approval.Decision, error) {
	n.breakAt("Answers")
	return n.Presenter.Answers(m, all)
}

// Code that is handed in may panic: the rule that has called it returns an error which
// says who, and the log what.
func TestPanicsAreErrors(t *testing.T) {
	t.Parallel()
	for at, ask := range map[string]func(k *desk, n *nervous) error{
		"Accept": func(k *desk, _ *nervous) error {
			_, _, err := k.rules.Accept(k.rules.Readonly(t.Context(), alice), &a2a.Message{}, nil)
			return err
		},
		"Inline": func(k *desk, _ *nervous) error {
			d, err := rules.On(k.rules, k.at(), k.fold(), rules.Decisions{By: bob, Via: approval.ViaAPI, List: []approval.Decision{{ID: id(1), Type: approval.Reject}}})
			if err == nil {
				_, err = d.Advance()
			}
			return err
		},
		"Plan": func(k *desk, n *nervous) error {
			n.slow = true
			_, err := rules.Plan(t.Context(), k.rules, k.fold(), func(*task.Progress) {})()
			return err
		},
		"Answers": func(k *desk, _ *nervous) error { return k.put(k.says("m", "yes", alice)) },
	} {
		var said []rules.Problem
		n := &nervous{}
		k := newDesk(t, func(r *rules.Rules) {
			n.Presenter, r.Presenter = r.Presenter, n
			r.Planner = n
			r.Report = func(x rules.Problem) { said = append(said, x) }
		}, &fake{name: "pay", gated: true})
		n.list = []*task.Step{{Calls: []task.PlannedCall{{Tool: "pay"}}}}
		k.beginAs()
		n.at = at
		var panicked *rules.PanicError
		if err := ask(k, n); !errors.As(err, &panicked) || strings.Contains(err.Error(), "broke") {
			t.Errorf("%s: the error is %v, want one that says who has panicked, and no more", at, err)
		}
		if len(said) != 1 || said[0].Panic != at+" broke" || len(said[0].Stack) == 0 {
			t.Errorf("%s: the log is told %+v", at, said)
		}
	}
}

// A planner that panics ends its task, as one that fails.
func TestPlannerThatPanics(t *testing.T) {
	t.Parallel()
	n := &nervous{at: "Plan"}
	k := newDesk(t, func(r *rules.Rules) {
		n.Presenter, r.Planner = r.Presenter, n
	})
	k.beginAs()
	if k.wantState(a2a.TaskStateFailed); strings.Contains(k.text(), "broke") {
		t.Errorf("the status says %q, want nothing of what the panic said", k.text())
	}
}

// A hook that fails or panics makes its call ask; one that denies later on is heard all
// the same.
func TestHookThatFails(t *testing.T) {
	t.Parallel()
	fails := func(agent.ReadonlyContext, tool.ToolCall) (task.HookResult, error) {
		return task.HookResult{}, errors.New("no connection")
	}
	panics := func(agent.ReadonlyContext, tool.ToolCall) (task.HookResult, error) { panic("hook broke") }
	denies := func(agent.ReadonlyContext, tool.ToolCall) (task.HookResult, error) {
		return task.HookResult{Deny: "the bank is closed"}, nil
	}
	for name, hooks := range map[string][]task.Hook{"fails": {fails}, "panics": {panics}, "denied": {panics, fails, denies}} {
		k := newDesk(t, func(r *rules.Rules) { r.Hooks = hooks }, &fake{name: "run"})
		k.begin(task.PlannedCall{Tool: "run"})
		k.wantEntries(0)
		if outcome, _ := k.outcome("c1.1"); (outcome == task.OutcomeDenied) != (name == "denied") {
			t.Errorf("%s: the call ended %q", name, outcome)
		} else if outcome == "" && !k.one().Terms.Destructive {
			t.Errorf("%s: a text may answer the question", name)
		}
	}
}

// A hook may change what is planned, and nothing that somebody has been shown.
func TestHookChangesNothingThatWasShown(t *testing.T) {
	t.Parallel()
	n := 0
	k := newDesk(t, func(r *rules.Rules) {
		r.Hooks = []task.Hook{func(agent.ReadonlyContext, tool.ToolCall) (task.HookResult, error) {
			n++
			return task.HookResult{Args: json.RawMessage(`{"amount":1` + strings.Repeat("0", n) + `}`)}, nil
		}}
	}, &fake{name: "pay", gated: true, schema: amounts("")})
	k.begin(call("pay", 1))
	shown := string(k.one().Args)
	k.decide(id(1), approval.Approve)
	k.wantEntries(1)
	if raw, err := json.Marshal(k.entered[0].Args); err != nil || string(raw) != shown {
		t.Errorf("the call was entered with %s, %v, and %s was shown", raw, err, shown)
	}
}
