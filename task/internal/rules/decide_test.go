package rules_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// wantError checks that an error is one of approvals, for a reason.
func wantError(t *testing.T, err error, reason approval.Reason) {
	t.Helper()
	var said *approval.Error
	if !errors.As(err, &said) || said.Reason != reason {
		t.Fatalf("the answer = %v, want %s", err, reason)
	}
}

// over is a condition of a rule: more than so much.
func over(limit float64) approval.Predicate {
	return func(_ agent.ReadonlyContext, _ tool.Tool, args map[string]any) (bool, error) {
		n, _ := args["amount"].(float64)
		return n > limit, nil
	}
}

func edit(id, args string) approval.Decision {
	return approval.Decision{ID: id, Type: approval.Edit, Args: json.RawMessage(args)}
}

// Everybody who has sent a message for the owner counts as one who asked: under four eyes an
// agent that has done so does not decide what came of it, also after a restart.
func TestFourEyesOfLaterMessages(t *testing.T) {
	t.Parallel()
	k := newDesk(t, func(r *rules.Rules) {
		r.Delegated = true
		r.Policy = policy(t,
			approval.Gate{Tool: "pay", Name: "large", When: over(1000), Terms: approval.Terms{FourEyes: true}},
			approval.Gate{Tool: "pay", Name: "any"})
	}, &fake{name: "pay", schema: amounts("")})
	k.begin(call("pay", 1))
	agent, named := alice, alice
	agent.Chain, named.Person = []string{bob.Subject}, "dora@example.com"
	k.mustPut(k.says("m1", "what is this?", agent))
	k.mustPut(k.says("m2", "what is this?", named))
	large := rules.Decisions{By: alice, Via: approval.ViaAPI, List: []approval.Decision{edit(id(1), `{"amount":5000}`)}}
	chain := []string{bob.Subject, "dora@example.com"}
	d, err := rules.On(k.rules, k.at(), k.restored(), large) // a snapshot has everybody, too
	if err != nil {
		t.Fatal(err)
	}
	if asked := d.Asked(); len(asked) != 1 || !slices.Equal(asked[0].Requester.Chain, chain) {
		t.Errorf("after a snapshot, it is asked for %+v, want one by alice and %v", asked, chain)
	}
	const form = `"requester":{"tenant":"acme","subject":"alice","roles":["requester"],"chain":["bob","dora@example.com"],"method":"test"}`
	if saved := k.whole(k.fold())[1]; !strings.Contains(saved, form) {
		t.Errorf("no %s, in %s", form, saved)
	}
	k.mustPut(large)
	k.dies()
	a := k.one()
	if a.Requester.Subject != alice.Subject || !slices.Equal(a.Requester.Chain, chain) {
		t.Errorf("requested by %+v", a.Requester)
	}
	dora := auth.Principal{Tenant: "acme", Subject: "key:7", Person: "dora@example.com", Roles: []string{auth.RoleApprover}, Method: "test"}
	eve := auth.Principal{Tenant: "acme", Subject: "eve", Roles: []string{auth.RoleApprover}, Method: "test"}
	for _, by := range []auth.Principal{alice, agent, bob, dora} {
		if err := k.put(rules.Decisions{By: by, Via: approval.ViaAPI, List: []approval.Decision{{ID: a.ID, Type: approval.Approve}}}); err == nil {
			t.Fatalf("%s approves what they have asked for", by.Subject)
		}
	}
	k.mustPut(rules.Decisions{By: eve, Via: approval.ViaAPI, List: []approval.Decision{{ID: a.ID, Type: approval.Approve}}})
	k.wantEntries(1)
}

// Whoever may approve a small amount edits it into a large one: that is asked again, on
// the terms of the rules for large ones, whichever of them comes first. An edit under the same
// terms runs.
func TestEditUnderAnotherRuleIsAskedAnew(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ amount, large, rule string }{{"5", "pay", "any"}, {"5000", "pay", "large"}, {"5", "*", "any"}, {"5000", "*", "any"}} {
		amount := tc.amount
		k := newDesk(t, func(r *rules.Rules) {
			r.Policy = policy(t,
				approval.Gate{Tool: tc.large, Name: "large", When: over(1000), Terms: approval.Terms{FourEyes: true}},
				approval.Gate{Tool: "pay", Name: "any"})
		}, &fake{name: "pay", schema: amounts("")})
		k.begin(call("pay", 1))
		if rule := k.one().Terms.Gate; rule != "any" {
			t.Fatalf("rule %s asks, want any", rule)
		}
		if err := k.answer(edit(id(1), `{"amount":`+amount+`}`)); err != nil {
			t.Fatal(err)
		}
		if amount == "5" {
			k.wantEntries(1)
			if raw, err := json.Marshal(k.entered[0].Args); err != nil || string(raw) != `{"amount":5}` {
				t.Errorf("the call was entered with %s, %v", raw, err)
			}
			continue
		}
		k.wantEntries(0)
		a := k.one()
		if a.Terms.Gate != tc.rule || !a.Terms.FourEyes || a.Supersedes != id(1) || string(a.Args) != `{"amount":5000}` {
			t.Errorf("%s is asked for %s under %+v, in place of %q", a.ID, a.Args, a.Terms, a.Supersedes)
		}
		if old := k.approval(1); old.State != approval.Superseded || old.Resolution.By.Subject != bob.Subject {
			t.Errorf("the first approval is %s by %+v, want it replaced by what bob said", old.State, old.Resolution)
		}
		if err := k.answer(approval.Decision{ID: a.ID, Type: approval.Approve}); err == nil {
			t.Fatal("bob approves alone what bob has asked for by an edit, under four eyes")
		}
		dora := auth.Principal{Tenant: "acme", Subject: "dora", Roles: []string{auth.RoleApprover}, Method: "test"}
		k.mustPut(rules.Decisions{By: dora, Via: approval.ViaAPI, List: []approval.Decision{{ID: a.ID, Type: approval.Approve}}})
		k.wantEntries(1)
		if raw, err := json.Marshal(k.entered[0].Args); err != nil || string(raw) != `{"amount":5000}` {
			t.Errorf("the call was entered with %s, %v", raw, err)
		}
	}
}

// Nothing that is asked of an edit changes it: what a hook would change, a schema or a
// rule refuses, is refused, and the approval stays pending.
func TestEditIsWhatRuns(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args   string
		change func(t *testing.T, k *desk)
		reason approval.Reason
	}{
		"a hook would change it":   {args: `{"amount":7}`, reason: approval.ReasonNotAllowed},
		"a hook denies it":         {args: `{"amount":8}`, reason: approval.ReasonNotAllowed},
		"it does not fit":          {args: `{"amount":"all"}`, reason: approval.ReasonMalformed},
		"a rule denies it":         {args: `{"amount":9000}`, reason: approval.ReasonNotAllowed},
		"it cannot be checked now": {args: `{"amount":2}`, reason: approval.ReasonNotAllowed, change: func(_ *testing.T, k *desk) { k.shelf.down = errors.New("down") }},
	} {
		k := newDesk(t, func(r *rules.Rules) {
			r.Policy = policy(t, approval.Gate{Tool: "pay", When: over(8999), Action: approval.ActionDeny})
			r.Hooks = []task.Hook{func(_ agent.ReadonlyContext, c tool.ToolCall) (task.HookResult, error) {
				switch c.Args["amount"] {
				case 7.0:
					return task.HookResult{Args: json.RawMessage(`{"amount":70}`)}, nil
				case 8.0:
					return task.HookResult{Deny: "eight is not paid"}, nil
				}
				return task.HookResult{}, nil
			}}
		}, &fake{name: "pay", gated: true, schema: amounts("")})
		k.begin(call("pay", 1))
		if tc.change != nil {
			tc.change(t, k)
		}
		before := len(k.log)
		wantError(t, k.answer(edit(id(1), tc.args)), tc.reason)
		if a := k.one(); a.ID != id(1) || len(k.log) != before {
			t.Errorf("%s: %s waits, and %d events were written", name, a.ID, len(k.log)-before)
		}
		k.wantEntries(0)
	}
}

// Of the decisions of one message all count, or none.
func TestDecisionsCountTogether(t *testing.T) {
	t.Parallel()
	yes := approval.Decision{ID: id(1), Type: approval.Approve}
	for name, tc := range map[string]struct {
		other  approval.Decision
		reason approval.Reason
	}{
		"one of another digest": {approval.Decision{ID: id(2), Type: approval.Approve, Digest: "sha256:0"}, approval.ReasonChanged},
		"one that is no verb":   {approval.Decision{ID: id(2), Type: "perhaps"}, approval.ReasonMalformed},
		"one that is not asked": {approval.Decision{ID: id(9), Type: approval.Approve}, approval.ReasonUnknown},
		"an edit that is wrong": {edit(id(2), `{"amount":"all"}`), approval.ReasonMalformed},
	} {
		for _, list := range [][]approval.Decision{{yes, tc.other}, {tc.other, yes}} {
			k := newDesk(t, nil, &fake{name: "pay", gated: true, schema: amounts("")})
			k.begin(call("pay", 1), call("pay", 2))
			before := len(k.log)
			wantError(t, k.answer(list...), tc.reason)
			if len(k.pending()) != 2 || len(k.log) != before || len(k.entered) != 0 {
				t.Errorf("%s: %v are pending, %d events were written, and %d calls entered", name, k.pending(), len(k.log)-before, len(k.entered))
			}
		}
	}
}

// A decision that ends the task does not come before others of its message that were
// checked with it.
func TestDecisionsCountBeforeTheTaskEnds(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "pay", gated: true, schema: amounts("")})
	k.begin(call("pay", 1), call("pay", 2))
	if err := k.answer(approval.Decision{ID: id(1), Type: approval.Cancel}, approval.Decision{ID: id(2), Type: approval.Reject}); err != nil {
		t.Fatal(err)
	}
	k.wantState(a2a.TaskStateCanceled)
	if one, two := k.approval(1).State, k.approval(2).State; one != approval.Canceled || two != approval.Rejected {
		t.Errorf("the approvals are %s and %s, want what was decided", one, two)
	}
}

// The digest of a call, or of another attempt, does not say what came of this one; the
// question's own does.
func TestOutcomeHasADigestOfItsOwn(t *testing.T) {
	t.Parallel()
	k := newPayDesk(t)
	k.decide(id(1), approval.Approve)
	k.dies()
	first := *k.one()
	of := k.approval(1).Digest
	if first.Digest == of {
		t.Error("the question what came of a call has the digest of the call")
	}
	wantError(t, k.answer(approval.Decision{ID: first.ID, Type: approval.Approve, Digest: of}), approval.ReasonChanged)
	if err := k.answer(approval.Decision{ID: first.ID, Type: approval.Approve, Digest: first.Digest}); err != nil {
		t.Fatal(err)
	}
	k.wantEntries(2)
	k.dies()
	if second := k.one(); second.Digest == first.Digest || second.Attempt != 2 {
		t.Errorf("attempt %d is asked about with the digest of the first", second.Attempt)
	}
}

// A question whose digest is not that of what it shows, as another version of the server has asked it,
// decides nothing: it is asked again. An approval with such a digest lets nothing run.
func TestQuestionOfAnotherVersion(t *testing.T) {
	t.Parallel()
	asked := map[string]func(k *desk){
		"call":    func(*desk) {},
		"outcome": func(k *desk) { k.decide(id(1), approval.Approve); k.dies() },
	}
	for name, ask := range asked {
		for _, when := range []string{"pending", "its tool is away", "approved"} {
			k := newPayDesk(t)
			ask(k)
			old := k.one()
			entries := len(k.entered)
			if when == "approved" {
				k.shelf.down = errors.New("down")
				k.decide(old.ID, approval.Approve)
			}
			for i := range k.log {
				k.log[i].Data = []byte(strings.ReplaceAll(string(k.log[i].Data), old.Digest, strings.Repeat("0", 64)))
			}
			answer := approval.Decision{ID: old.ID, Type: approval.Approve}
			switch when {
			case "approved":
				k.shelf.down = nil
				k.retry()
			case "its tool is away":
				k.shelf.down = errors.New("down")
				wantError(t, k.answer(answer), approval.ReasonNotAllowed)
				if err := k.put(rules.Refresh{}); !errors.Is(err, rules.ErrNoChange) {
					t.Errorf("%s: Refresh = %v, want no change", name, err)
				}
				k.shelf.down = nil
				fallthrough
			default:
				if err := k.answer(answer); !errors.Is(err, rules.ErrStale) {
					t.Errorf("%s, %s: a decision = %v, want ErrStale", name, when, err)
				}
				k.mustPut(rules.Refresh{})
				wantError(t, k.answer(answer), approval.ReasonChanged)
			}
			k.wantEntries(entries)
			a := k.one()
			if a.Supersedes != old.ID || when != "approved" && (a.Digest != old.Digest || strings.Contains(a.Hint, "changed")) {
				t.Errorf("%s, %s: %s is asked with the digest %s and %q in place of %q", name, when, a.ID, a.Digest, a.Hint, a.Supersedes)
			}
			k.decide(a.ID, approval.Approve)
			k.wantEntries(entries + 1)
		}
	}
}

// The question of a tool that another version of the server has asked is asked again by the tool.
func TestToolQuestionOfAnotherVersion(t *testing.T) {
	t.Parallel()
	for _, kind := range []tool.QuestionKind{tool.AskConfirm, tool.AskOutcome, tool.AskQuestion} {
		ask := tool.Question{ID: "a", Kind: kind, Hint: "really?"}
		k := waker(t, ask)
		digest := k.one().Digest
		for i := range k.log {
			k.log[i].Data = []byte(strings.ReplaceAll(string(k.log[i].Data), digest, strings.Repeat("0", 64)))
		}
		if err := k.answer(approval.Decision{ID: id(1), Type: approval.Reject}); !errors.Is(err, rules.ErrStale) {
			t.Errorf("%s: a decision = %v, want ErrStale", kind, err)
		}
		k.mustPut(rules.Refresh{})
		k.wantEntries(2)
		k.wantGiven("map[]")
		k.waits(ask)
		k.wantPending(id(2))
		if a := k.one(); a.Digest != digest {
			t.Errorf("%s: it is asked again with another digest", kind)
		}
	}
}

// What is overdue, or about a tool that has changed, is brought up to date before a
// decision is looked at.
func TestStaleApprovalsAreNotDecided(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(k *desk){
		"overdue":          func(k *desk) { k.now = k.now.Add(time.Hour) },
		"another tool":     func(k *desk) { k.shelf.tools[0].schema = amounts("to anybody") },
		"the tool is gone": func(k *desk) { k.shelf.tools = nil },
	} {
		k := newDesk(t, func(r *rules.Rules) {
			r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: approval.Terms{Expires: time.Hour}})
		}, &fake{name: "pay", schema: amounts("")})
		k.begin(call("pay", 1))
		change(k)
		if err := k.answer(approval.Decision{ID: id(1), Type: approval.Approve}); !errors.Is(err, rules.ErrStale) {
			t.Fatalf("%s: the decision = %v, want ErrStale", name, err)
		}
		k.mustPut(rules.Refresh{})
		if a := k.approval(1); a.State == approval.Pending {
			t.Errorf("%s: the approval is still pending", name)
		}
		k.wantEntries(0)
	}
	k := newPayDesk(t)
	k.shelf.down = errors.New("down") // which says nothing about the tool
	k.decide(id(1), approval.Approve)
	k.wantEntries(0)
	if _, problem := k.outcome("c1.1"); problem != "" {
		t.Errorf("the call ended with %q because its toolset is down", problem)
	}
}

// A follow-up that was sent before changes nothing; the same text in another message is another
// one. Only the owner of the task sends any.
func TestFollowUpCountsOnce(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "pay", gated: true})
	k.begin(task.PlannedCall{Tool: "pay"})
	k.mustPut(k.says("m1", "what is this?", alice))
	seq := k.header.Seq
	if err := k.put(k.says("m1", "what is this?", alice)); !errors.Is(err, rules.ErrDuplicate) || k.header.Seq != seq {
		t.Errorf("the same message again = %v, and wrote %d events", err, k.header.Seq-seq)
	}
	k.mustPut(k.says("m2", "what is this?", alice))
	if err := k.put(k.says("m1", "what is this?", bob)); !errors.Is(err, task.ErrTaskNotFound) {
		t.Errorf("a message of another sender = %v, want %v", err, task.ErrTaskNotFound)
	}
	k.mustPut(k.says("m1", "what is that?", alice))
	k.rules.NoIdempotency = true
	k.mustPut(k.says("m1", "what is this?", alice))
}

func TestMessageHash(t *testing.T) {
	t.Parallel()
	seen := map[[16]byte]string{}
	for _, by := range []auth.Principal{{Subject: "ab"}, {Tenant: "a", Subject: "b"}, {Tenant: "ab"}, {Tenant: "b", Subject: "a"}} {
		for _, raw := range []string{`{}`, `{"a":1}`, `b{}`} {
			h := rules.MessageHash(by, []byte(raw))
			if was := seen[h]; was != "" {
				t.Errorf("%+v %s has the hash of %s", by, raw, was)
			}
			seen[h] = by.Tenant + "/" + by.Subject + " " + raw
			if again := rules.MessageHash(by, []byte(raw)); again != h {
				t.Errorf("%+v %s has two hashes", by, raw)
			}
		}
	}
}

// A message of another context is refused, and one that decides nothing is kept for the
// history while the question is asked again.
func TestFollowUpThatDecidesNothing(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "pay", gated: true})
	k.begin(task.PlannedCall{Tool: "pay"})
	in := k.says("m1", "why?", alice)
	in.Message.ContextID = "another"
	var wrong *task.InvalidError
	if err := k.put(in); !errors.As(err, &wrong) || wrong.Field != "message.contextId" {
		t.Errorf("a message of another context = %v", err)
	}
	k.mustPut(k.says("m1", "why?", alice))
	if !strings.Contains(k.text(), `"why?" decides nothing`) || len(k.pending()) != 1 {
		t.Errorf("the status says %q, and %v are pending", k.text(), k.pending())
	}
}

// result returns the event with which a call has ended.
func (k *desk) result(call string) string {
	k.t.Helper()
	for _, e := range k.log {
		if e.Kind == "call.finished.v1" && strings.Contains(string(e.Data), `"call":"`+call+`"`) {
			return string(e.Data)
		}
	}
	return ""
}

// What each decision does about a call that waits to run, and about one of which nobody
// knows what came.
func TestWhatADecisionDoes(t *testing.T) {
	t.Parallel()
	for _, outcome := range []bool{false, true} {
		for verb, want := range map[approval.DecisionType]string{
			approval.Approve: "", approval.Reject: `"outcome":"rejected"`, approval.Respond: `"result":"it is paid"`, approval.Cancel: `"outcome":"canceled"`,
		} {
			switch {
			case !outcome && verb == approval.Respond:
				continue
			case outcome && (verb == approval.Reject || verb == approval.Cancel):
				want = `"outcome":"unknown"` // it was started, whatever is decided now
			}
			k := newPayDesk(t)
			entered := 0
			if outcome {
				k.decide(id(1), approval.Approve)
				k.dies()
				entered = 1
			}
			a := approval.Decision{ID: k.one().ID, Type: verb}
			switch verb { //nolint:exhaustive // the others have nothing to say
			case approval.Reject:
				a.Reason = "too much"
			case approval.Respond:
				a.Response = json.RawMessage(`"it is paid"`)
			}
			if err := k.answer(a); err != nil {
				t.Fatal(err)
			}
			if verb == approval.Approve {
				k.wantEntries(entered + 1)
				if n := k.entered[entered].Attempt; n != entered+1 {
					t.Errorf("outcome %t: attempt %d runs, want %d", outcome, n, entered+1)
				}
				continue
			}
			k.wantEntries(entered)
			got := k.result("c1.1")
			if !strings.Contains(got, want) || verb == approval.Reject && !strings.Contains(got, "too much") {
				t.Errorf("outcome %t, %s: the call ended with %s", outcome, verb, got)
			}
			shown := string(k.fold().View.AppendTask(nil, task.ViewOptions{}))
			if verb == approval.Respond && !strings.Contains(shown, `{"text":"it is paid"}`) {
				t.Errorf("the task is %s, want the result in it", shown)
			}
			if ended := k.state() == a2a.TaskStateCanceled; ended != (verb == approval.Cancel) {
				t.Errorf("outcome %t, %s: the task is %s", outcome, verb, k.state())
			}
		}
	}
}

// A result that a person supplies is kept as a tool's is: without spaces, and with the escapes of
// encoding/json. The task can be read and decided about after it.
func TestResponseInAnyForm(t *testing.T) {
	t.Parallel()
	for response, want := range map[string]string{
		`{"paid": true}`:             `{"paid":true}`,
		`{"a":"x<y>&"}`:              `{"a":"x\u003cy\u003e\u0026"}`,
		"{\"a\":\"x\u2028y\u2029\"}": `{"a":"x\u2028y\u2029"}`,
		"[1,\r\n\t2]":                `[1,2]`,
	} {
		k := newDesk(t, nil, &fake{name: "pay", gated: true, schema: amounts("")})
		k.begin(call("pay", 1), call("pay", 2))
		k.decide(id(1), approval.Approve)
		k.dies()
		if err := k.answer(approval.Decision{ID: id(3), Type: approval.Respond, Response: json.RawMessage(response)}); err != nil {
			t.Fatal(err)
		}
		if got := k.result("c1.1"); !strings.Contains(got, `"result":`+want) {
			t.Errorf("to respond %s ends the call with %s", response, got)
		}
		if shown := string(k.fold().View.AppendTask(nil, task.ViewOptions{})); !strings.Contains(shown, `{"data":`+want+`}`) {
			t.Errorf("to respond %s: the task is %s, want the result in it", response, shown)
		}
		k.decide(id(2), approval.Reject)
		k.wantPending()
	}
}

// The same decision once more changes nothing, in whatever message; another one is in
// conflict with it.
func TestDecisionThatIsRepeated(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "pay", gated: true, schema: amounts("")})
	k.begin(call("pay", 1), call("pay", 2))
	k.decide(id(1), approval.Approve)
	seq := k.header.Seq
	again := k.says("m1", "", alice)
	again.Message.Parts = a2a.ContentParts{a2a.NewDataPart(map[string]any{"type": "approval_response", "decisions": []any{map[string]any{"id": id(1), "decision": "approve"}}})}
	for _, in := range []rules.Input{again, rules.Decisions{By: bob, Via: approval.ViaAPI, List: []approval.Decision{{ID: id(1), Type: approval.Approve}}}} {
		if err := k.put(in); !errors.Is(err, rules.ErrNoChange) || k.header.Seq != seq {
			t.Errorf("the same decision by %T = %v, and %d events were written", in, err, k.header.Seq-seq)
		}
	}
	wantError(t, k.answer(approval.Decision{ID: id(1), Type: approval.Reject}), approval.ReasonConflict)
	k.wantEntries(1)
}

// When a part of what is asked has been decided, the rest is put again, alone.
func TestQuestionIsPutAgain(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "pay", gated: true, schema: amounts("")})
	k.begin(call("pay", 1), call("pay", 2))
	if text := k.text(); !strings.Contains(text, id(1)) || !strings.Contains(text, id(2)) {
		t.Errorf("the status asks %q, want both", text)
	}
	k.decide(id(1), approval.Reject)
	k.wantState(a2a.TaskStateInputRequired)
	if text := k.text(); strings.Contains(text, id(1)) || !strings.Contains(text, id(2)) {
		t.Errorf("the status asks %q, want the second alone", text)
	}
}

// Under four eyes the author of an edit does not decide it alone, whether the gates demand the same of
// the edited call, more, less or nothing: another person is asked.
func TestFourEyesOfAnEdit(t *testing.T) {
	t.Parallel()
	for name, gates := range map[string][]approval.Gate{
		"the same":                {{Tool: "pay", Terms: approval.Terms{FourEyes: true}}},
		"nothing":                 {{Tool: "pay", When: over(0), Terms: approval.Terms{FourEyes: true}}},
		"less":                    {{Tool: "pay", Name: "large", When: over(0), Terms: approval.Terms{FourEyes: true}}, {Tool: "pay", Name: "all"}},
		"votes that one can give": {{Tool: "pay", Name: "a", Terms: approval.Terms{FourEyes: true, Approvers: &approval.Approvers{Roles: []string{"finance"}}}}, {Tool: "pay", Name: "b", Terms: approval.Terms{Approvers: &approval.Approvers{Roles: []string{"legal"}}}}},
	} {
		k := voteDesk(t, gates...)
		k.vote(1, voter("bob", "finance", "legal"), approval.Edit, `{"amount":-7}`)
		k.wantEntries(0)
		wantBarred(t, k.votes(2, voter("bob", "finance", "legal"), approval.Approve, ""), approval.BarredFourEyes)
		k.vote(2, voter("carl", "finance", "legal"), approval.Approve, "")
		k.wantEntries(1)
		if a := k.approval(2); string(a.Args) != `{"amount":-7}` || len(a.Editors) != 1 || a.Editors[0].Subject != "bob" {
			t.Errorf("%s: the edited call is asked about as %+v", name, a)
		}
	}
}
