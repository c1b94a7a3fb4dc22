package rules_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// What a tool wants confirmed while it runs is decided on the terms of its call: those on which
// the call was approved or, if it ran unasked, those on which it would be asked now.
func TestConfirmationHasTheTermsOfItsCall(t *testing.T) {
	t.Parallel()
	strict := approval.Terms{FourEyes: true, NoText: true, Approvers: &approval.Approvers{Roles: []string{"sre"}}}
	sam := bob
	sam.Subject, sam.Roles = "sam", []string{auth.RoleApprover, "sre"}
	for name, tc := range map[string]struct {
		approved bool
		when     func(asked *bool) approval.Predicate
	}{
		"approved": {true, nil},
		"ran unasked": {false, func(asked *bool) approval.Predicate {
			return func(agent.ReadonlyContext, tool.Tool, map[string]any) (bool, error) { return *asked, nil }
		}},
	} {
		asked := false
		gate := approval.Gate{Tool: "pay", Terms: strict}
		if tc.when != nil {
			gate.When = tc.when(&asked)
		}
		k := newDesk(t, func(r *rules.Rules) { r.Policy = policy(t, gate) },
			&fake{name: "pay", is: tool.Annotations{Destructive: true}, schema: amounts("")})
		k.begin(call("pay", 5))
		if tc.approved {
			k.mustPut(by(sam, approval.Decision{ID: id(1), Type: approval.Approve}))
		}
		asked = true
		k.confirms("c1.1", "q")
		q := k.one().ID
		if err := k.put(k.says("m", "yes", alice)); err == nil && len(k.pending()) == 0 {
			t.Errorf("%s: the requester confirms with a word", name)
		}
		for _, who := range []auth.Principal{alice, bob} {
			if err := k.put(by(who, approval.Decision{ID: q, Type: approval.Approve})); err == nil {
				t.Fatalf("%s: %s, who is none of the approvers, confirms", name, who.Subject)
			}
		}
		asked = false
		k.mustPut(by(sam, approval.Decision{ID: q, Type: approval.Approve}))
		k.wantEntries(2)
	}
}

// A question of the call, in words, is answered by one of the people who approve the call, and by no
// text if the gate takes none.
func TestQuestionOfTheCallIsForItsPeople(t *testing.T) {
	t.Parallel()
	sam := bob
	sam.Subject, sam.Roles = "sam", []string{auth.RoleApprover, "sre"}
	sue := sam
	sue.Subject = "sue"
	terms := approval.Terms{People: 2, NoText: true, Approvers: &approval.Approvers{Roles: []string{"sre"}}}
	k := newDesk(t, func(r *rules.Rules) { r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: terms}) }, &fake{name: "pay", schema: amounts("")})
	k.begin(call("pay", 5))
	k.mustPut(by(sam, approval.Decision{ID: id(1), Type: approval.Approve}))
	k.mustPut(by(sue, approval.Decision{ID: id(1), Type: approval.Approve}))
	k.ends("c1.1", rules.RunEnded{Asks: []rules.ToolQuestion{{ID: "q", Question: tool.Question{Kind: tool.AskQuestion, Hint: "May I?", OfCall: true}}}})
	q := k.one()
	if !q.Terms.NoText || q.Tally() != nil {
		t.Errorf("the question takes text, or counts votes: %+v", q.Terms)
	}
	answer := approval.Decision{ID: q.ID, Type: approval.Respond, Response: json.RawMessage(`"yes"`)}
	for _, who := range []auth.Principal{alice, bob} {
		if err := k.put(by(who, answer)); err == nil {
			t.Fatalf("%s, who is none of the approvers, answers", who.Subject)
		}
	}
	k.mustPut(by(sam, answer))
	k.wantEntries(2)
}

// What a running tool asks has the risk, the masked places and the names of its call, whatever it asks.
func TestQuestionsKeepTheMaskOfTheirCall(t *testing.T) {
	t.Parallel()
	terms := approval.Terms{Risk: approval.RiskHigh, Mask: []string{"/amount"}, Notify: []string{"ops"}}
	k := newDesk(t, func(r *rules.Rules) { r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: terms}) }, &fake{name: "pay", schema: amounts("")})
	k.begin(call("pay", 5))
	k.mustPut(by(bob, approval.Decision{ID: id(1), Type: approval.Approve}))
	k.ends("c1.1", rules.RunEnded{Asks: []rules.ToolQuestion{{ID: "q", Question: tool.Question{Kind: tool.AskQuestion, Hint: "Which bank?"}}}})
	got := k.one()
	if got.Kind != approval.KindQuestion || got.Terms.Risk != terms.Risk || !slices.Equal(got.Terms.Mask, terms.Mask) || !slices.Equal(got.Terms.Notify, terms.Notify) {
		t.Errorf("the question has the terms %+v, want those of its call, %+v", got.Terms, terms)
	}
	if listed := string(approval.MaskJSON(got.Args, got.Terms.Mask)); strings.Contains(listed, "5") {
		t.Errorf("MaskJSON() of the question = %s, want no amount", listed)
	}
}

// A tool that is declared destructive is not confirmed with a word alone, though its call ran unasked.
func TestConfirmationOfDestructiveNeedsCode(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "pay", is: tool.Annotations{Destructive: true}, schema: amounts("")})
	k.begin(call("pay", 5))
	k.confirms("c1.1", "q")
	if a := k.one(); !a.Terms.Destructive || a.Code == "" {
		t.Errorf("the confirmation has the terms %+v and the code %q, want a code", a.Terms, a.Code)
	}
}

// Whoever has edited a call asks for it, also if its tool changes before the call is entered.
func TestEditorAsksAfterToolChanged(t *testing.T) {
	t.Parallel()
	changed := func(_ agent.ReadonlyContext, x tool.Tool, _ map[string]any) (bool, error) {
		return !tool.AnnotationsOf(x).Idempotent, nil
	}
	k := newDesk(t, func(r *rules.Rules) {
		r.Policy = policy(t, approval.Gate{Tool: "pay", Name: "any"},
			approval.Gate{Tool: "pay", Name: "changed", When: changed, Terms: approval.Terms{FourEyes: true}})
	}, &fake{name: "pay", is: tool.Annotations{Idempotent: true}, schema: amounts("")})
	k.begin(call("pay", 1))
	looks := 0
	k.shelf.asked = func() {
		if looks++; looks == 2 { // after the decision, before the entry
			k.shelf.tools = []*fake{{name: "pay", schema: amounts("other")}}
		}
	}
	if err := k.answer(edit(id(1), `{"amount":5000}`)); err != nil {
		t.Fatal(err)
	}
	again := approval.Decision{ID: k.one().ID, Type: approval.Approve}
	if err := k.answer(again); err == nil {
		t.Fatal("under four eyes, the editor approves their own arguments alone")
	}
	dora := bob
	dora.Subject = "dora"
	k.mustPut(by(dora, again))
	k.wantEntries(1)
}

func by(who auth.Principal, a ...approval.Decision) rules.Decisions {
	return rules.Decisions{By: who, Via: approval.ViaAPI, List: a}
}

// The people that the defaults of the policy ask for decide also what a running tool asks to have
// confirmed, and what became of a call, if no gate is about it.
func TestDefaultPeopleOfQuestions(t *testing.T) {
	t.Parallel()
	k := newDesk(t, func(r *rules.Rules) {
		p, err := approval.NewPolicy(approval.PolicyConfig{Defaults: approval.Terms{People: 2}})
		if err != nil {
			t.Fatal(err)
		}
		r.Policy = p
	}, &fake{name: "pay", schema: amounts("")})
	k.begin(call("pay", 1))
	k.confirms("c1.1", "large")
	k.vote(1, voter("bob"), approval.Approve, "")
	if a := k.approval(1); a.State != approval.Pending {
		t.Errorf("after one of two persons the confirmation is %s", a.State)
	}
}
