package rules_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/task"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// A call stands after its first run, and its world has changed when it is entered
// again. What somebody approved is entered when it is what was shown and nothing denies
// it; what nobody approved, when nobody would be asked about it now.
func TestEntryOfACallThatStood(t *testing.T) {
	t.Parallel()
	const entered, asked, unknown, waits = "entered", "asked", "unknown", "waits"
	changes := map[string]func(t *testing.T, k *desk, pay *fake){
		"nothing":        func(*testing.T, *desk, *fake) {},
		"the definition": func(_ *testing.T, _ *desk, pay *fake) { pay.schema = amounts("to anybody") },
		"what it takes": func(_ *testing.T, _ *desk, pay *fake) {
			pay.schema = map[string]any{"type": "object", "required": []any{"iban"}}
		},
		"it asks now":         func(_ *testing.T, _ *desk, pay *fake) { pay.gated = true },
		"it asks no more":     func(_ *testing.T, _ *desk, pay *fake) { pay.gated = false },
		"it is gone":          func(_ *testing.T, k *desk, _ *fake) { k.shelf.tools = nil },
		"its toolset is down": func(_ *testing.T, k *desk, _ *fake) { k.shelf.down = errors.New("down") },
		"it is denied": func(t *testing.T, k *desk, _ *fake) {
			k.rules.Policy = policy(t, approval.Gate{Tool: "pay", Action: approval.ActionDeny})
		},
		"another rule asks": func(t *testing.T, k *desk, _ *fake) {
			k.rules.Policy = policy(t, approval.Gate{Tool: "*", Name: "all"})
		},
	}
	for name, by := range map[string]struct {
		approved bool // before its first run
		confirms bool // its tool asks, and somebody says yes; else it waits for a time
		want     map[string]string
	}{
		"approved": {approved: true, want: map[string]string{
			"the definition": asked, "what it takes": unknown, "it is gone": unknown, "its toolset is down": waits, "it is denied": unknown,
		}},
		"approved and confirmed": {approved: true, confirms: true, want: map[string]string{
			"the definition": asked, "what it takes": unknown, "it is gone": unknown, "its toolset is down": waits, "it is denied": unknown,
		}},
		"nobody approved": {want: map[string]string{
			"what it takes": unknown, "it is gone": unknown, "its toolset is down": waits, "it is denied": unknown, "it asks now": asked, "another rule asks": asked,
		}},
		"nobody approved, confirmed": {confirms: true, want: map[string]string{
			"what it takes": unknown, "it is gone": unknown, "its toolset is down": waits, "it is denied": unknown, "it asks now": asked, "another rule asks": asked,
		}},
	} {
		for what, change := range changes {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				pay := &fake{name: "pay", gated: by.approved, schema: amounts("")}
				k := newDesk(t, nil, pay)
				k.begin(call("pay", 1))
				if by.approved {
					k.decide(id(1), approval.Approve)
				}
				k.wantEntries(1)
				if by.confirms {
					k.confirms("c1.1", "really")
				} else {
					k.pauses("c1.1", tool.Suspension{Wake: k.now.Add(time.Hour)})
				}
				change(t, k, pay)
				if by.confirms {
					k.decide(k.one().ID, approval.Approve)
				} else {
					k.now = k.now.Add(time.Hour)
					k.mustPut(rules.Wake{Row: k.dueRow(record.DueWake, "c1.1")})
				}
				got := entered
				switch outcome, _ := k.outcome("c1.1"); {
				case k.entries("c1.1") == 2:
				case outcome != "":
					got = string(outcome)
				case len(k.pending()) > 0:
					got = asked
				default:
					got = waits
				}
				want := by.want[what]
				if want == "" {
					want = entered
				}
				if got != want {
					t.Fatalf("the call is %s, want %s; the task is %s, %s", got, want, k.state(), k.text())
				}
				if want == asked {
					if a := k.one(); a.Kind != approval.KindCall || a.Ask != "" {
						t.Errorf("what is asked is %s %q, want the call", a.Kind, a.Ask)
					}
					k.decide(k.one().ID, approval.Approve)
					k.wantEntries(2)
				}
			})
		}
	}
}

// A yes that was given to one definition of a tool does not count for another: the tool
// has to ask again.
func TestConfirmationOfAChangedTool(t *testing.T) {
	t.Parallel()
	for _, changed := range []bool{false, true} {
		for _, verb := range []approval.DecisionType{approval.Approve, approval.Reject} {
			look := &fake{name: "look", is: tool.Annotations{ReadOnly: true}, schema: amounts("")}
			k := newDesk(t, nil, look)
			k.begin(call("look", 1))
			k.confirms("c1.1", "really")
			if changed {
				look.schema = amounts("at anything")
			}
			k.decide(id(1), verb)
			k.wantEntries(2)
			e := k.entered[1]
			yes, decided := e.Decided["really"]
			if decided == changed || yes != (!changed && verb == approval.Approve) {
				t.Errorf("changed %t, %s: decided %t, yes %t", changed, verb, decided, yes)
			}
			if (e.Confirmation != nil) == changed {
				t.Errorf("changed %t, %s: the tool reads the decision %v", changed, verb, e.Confirmation)
			}
		}
	}
}

// An approval that a gate asked for is no decision that the tool reads, unless it has
// said that it takes a payload, and one came.
func TestGateApprovalIsNotTheTools(t *testing.T) {
	t.Parallel()
	for _, takes := range []bool{false, true} {
		k := newDesk(t, nil, &fake{name: "pay", gated: true, payload: takes})
		k.begin(task.PlannedCall{Tool: "pay"})
		a := approval.Decision{ID: id(1), Type: approval.Approve}
		if takes {
			a.Payload = json.RawMessage(`{"max":5}`)
		}
		if err := k.answer(a); err != nil {
			t.Fatal(err)
		}
		k.wantEntries(1)
		if d := k.entered[0].Confirmation; (d != nil) != takes {
			t.Errorf("takes a payload %t: the tool reads %v", takes, d)
		}
	}
}

// What a hook has made of the arguments is what the log says was started, so that the
// call continues with it.
func TestHookedArgumentsStay(t *testing.T) {
	t.Parallel()
	k := newDesk(t, func(r *rules.Rules) {
		r.Hooks = []task.Hook{func(_ agent.ReadonlyContext, c tool.ToolCall) (task.HookResult, error) {
			if c.Args["amount"] == 1.0 {
				return task.HookResult{Args: json.RawMessage(`{"amount":2}`)}, nil
			}
			return task.HookResult{}, nil
		}}
	}, &fake{name: "pay", schema: amounts("")})
	k.begin(call("pay", 1))
	k.pauses("c1.1", tool.Suspension{Wake: k.now.Add(time.Hour)})
	k.now = k.now.Add(time.Hour)
	k.mustPut(rules.Wake{Row: k.dueRow(record.DueWake, "c1.1")})
	k.wantEntries(2)
	for i, e := range k.entered {
		if raw, err := json.Marshal(e.Args); err != nil || string(raw) != `{"amount":2}` {
			t.Errorf("entry %d has the arguments %s, %v, want those of the hook", i+1, raw, err)
		}
	}
}

// A call that may have run says so when it ends without having been run again.
func TestCallThatMayHaveRunSaysSo(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, k *desk){
		"its tool is gone": func(_ *testing.T, k *desk) {
			k.shelf.tools = nil
			k.dies()
		},
		"it is denied": func(t *testing.T, k *desk) {
			k.dies()
			k.rules.Policy = policy(t, approval.Gate{Tool: "pay", Action: approval.ActionDeny})
			k.decide(k.one().ID, approval.Approve)
		},
		"its tool does not take it": func(_ *testing.T, k *desk) {
			k.dies()
			k.shelf.tools[0].schema = map[string]any{"type": "object", "required": []any{"iban"}}
			k.mustPut(rules.Refresh{})
		},
	} {
		k := newPayDesk(t)
		k.decide(id(1), approval.Approve)
		end(t, k)
		k.wantEntries(1)
		outcome, problem := k.outcome("c1.1")
		if outcome != task.OutcomeUnknown || !strings.Contains(problem, "the result of the call is unknown: the server stopped while it ran") {
			t.Errorf("%s: the call ended %q, %q, want that its result is unknown", name, outcome, problem)
		}
		k.wantState(a2a.TaskStateCompleted) // of the planner, which saw it
	}
}

// A call is asked about again on the terms of its approval, and with its question if no rule asks about it any
// longer, whether the tool changes before or after it was approved. A laxer gate takes nothing off the terms.
func TestAskedAgainOnTheSameTerms(t *testing.T) {
	t.Parallel()
	terms := approval.Terms{FourEyes: true, NoText: true, Expires: time.Hour, Approvers: &approval.Approvers{Roles: []string{auth.RoleApprover}}}
	for _, tc := range []struct {
		before bool
		gates  []approval.Gate
		gate   string
	}{{true, nil, "two"}, {false, nil, "two"}, {true, []approval.Gate{{Name: "lax", Tool: "pay", Hint: "pay {amount}?"}}, "lax"}, {false, []approval.Gate{{Name: "lax", Tool: "pay", Hint: "pay {amount}?"}}, "lax"}} {
		k := newDesk(t, func(r *rules.Rules) {
			r.HoldSiblings = true
			r.Policy = policy(t, approval.Gate{Name: "two", Tool: "pay", Hint: "pay {amount}?", Terms: terms})
		}, &fake{name: "pay", schema: amounts("")}, &fake{name: "wait", gated: true})
		k.begin(call("pay", 1), task.PlannedCall{Tool: "wait"})
		old := *k.approval(1)
		if !tc.before {
			k.decide(id(1), approval.Approve)
		}
		k.rules.Policy = policy(t, tc.gates...)
		k.shelf.tools[0] = &fake{name: "pay", schema: amounts("other")}
		if tc.before {
			k.mustPut(rules.Refresh{})
		}
		old.Terms.Gate = tc.gate
		k.decide(id(2), approval.Approve)
		k.wantEntries(0)
		if a := k.one(); a.Kind != approval.KindCall || !a.Terms.Same(old.Terms) || a.Hint != old.Hint || a.Supersedes != old.ID || a.Definition == old.Definition {
			t.Errorf("%+v: %q is asked on the terms %+v, want %q on %+v", tc, a.Hint, a.Terms, old.Hint, old.Terms)
		}
	}
}

// Whether anybody has approved a call, or only said nothing about what came of it, is told as
// it is.
func TestExpiryIsToldAsItIs(t *testing.T) {
	t.Parallel()
	for _, ran := range []bool{false, true} {
		k := newDesk(t, func(r *rules.Rules) {
			r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: approval.Terms{Expires: time.Hour}})
		}, &fake{name: "pay", schema: amounts("")})
		k.begin(call("pay", 1))
		ends, want := task.OutcomeExpired, "nobody approved the call in time"
		if ran {
			ends = task.OutcomeUnknown
			k.decide(id(1), approval.Approve)
			k.dies()
			want = "the result of the call is unknown and nobody decided in time"
		}
		a := k.one()
		k.now = *a.Deadline
		k.mustPut(rules.Expiry{Row: k.dueRow(record.DueExpiry, a.ID)})
		if outcome, problem := k.outcome("c1.1"); outcome != ends || problem != want {
			t.Errorf("the call ends %s: %q, want %s: %q", outcome, problem, ends, want)
		}
	}
}
