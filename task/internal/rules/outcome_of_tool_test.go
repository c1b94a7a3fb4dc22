package rules_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// A tool that asks for the outcome of what it has running elsewhere gets the decision of the people who
// approve its call. No word, no edit and no program answers.
func TestToolAsksForAnOutcome(t *testing.T) {
	t.Parallel()
	all := []approval.DecisionType{approval.Approve, approval.Respond, approval.Reject, approval.Cancel}
	for verb, want := range map[approval.DecisionType]string{
		approval.Approve: tool.AnswerApproved, approval.Reject: tool.AnswerRejected, approval.Respond: tool.AnswerResponded,
	} {
		for _, takes := range []bool{true, false} {
			k := newDesk(t, func(r *rules.Rules) {
				r.Policy = policy(t, approval.Gate{Tool: "agent", Name: "far", Terms: approval.Terms{Human: true, Allowed: []approval.DecisionType{approval.Approve, approval.Reject}}})
			}, &fake{name: "agent", schema: amounts("")})
			k.begin(call("agent", 1))
			k.decide(id(1), approval.Approve)
			k.pauses("c1.1", tool.Suspension{Asks: []tool.Question{{
				ID: "child:a2", Kind: tool.AskOutcome, Hint: "what came of it?", Payload: map[string]any{"kind": "outcome"}, TakesResponse: takes,
			}}})
			a := k.one()
			offers := slices.DeleteFunc(slices.Clone(all), func(v approval.DecisionType) bool { return v == approval.Respond && !takes })
			if a.Kind != approval.KindOutcome || !a.Terms.Human || a.Terms.Gate != "gate:far:outcome" && a.Terms.Gate != "far:outcome" || a.Code != "" || a.Digest == k.approval(1).Digest || rules.ProviderMayAnswer(a) {
				t.Errorf("asked %+v", a)
			}
			if got := a.Decisions(); !slices.Equal(got, offers) {
				t.Errorf("it takes %v, want %v", got, offers)
			}
			for i, text := range []string{"yes", "no", "approve k7m2qzxd"} {
				k.mustPut(k.says(fmt.Sprint("m", i), text, alice))
			}
			wantError(t, k.answer(approval.Decision{ID: a.ID, Type: approval.Edit, Args: json.RawMessage(`{"amount":2}`)}), approval.ReasonNotAllowed)
			if verb == approval.Respond && !takes {
				wantError(t, k.answer(approval.Decision{ID: a.ID, Type: verb, Response: json.RawMessage(`"this"`)}), approval.ReasonNotAllowed)
				continue
			}
			k.wantPending(a.ID)
			k.wantEntries(1)
			k.decide(a.ID, verb)
			k.wantEntries(2)
			k.wantGiven("map[child:a2:" + want + "]")
			e := k.entered[1]
			if e.Confirmation != nil || len(e.Decided) > 0 || e.Attempt != 1 {
				t.Errorf("after %s, attempt %d reads the confirmation %+v", verb, e.Attempt, e.Confirmation)
			}
			k.returns("c1.1", `{}`)
			if outcome, _ := k.outcome("c1.1"); outcome != task.OutcomeOK {
				t.Errorf("after %s the call ends %s", verb, outcome)
			}
		}
	}
}

// An approval for the outcome of what another tool had running is none: the tool has to ask again.
func TestOutcomeOfAChangedToolIsNotTold(t *testing.T) {
	t.Parallel()
	ask := tool.Question{ID: "child:a2", Kind: tool.AskOutcome, Hint: "what came of it?", TakesResponse: true}
	k := waker(t, ask)
	k.shelf.tools = []*fake{{name: "ask", schema: map[string]any{"type": "object"}}}
	k.decide(id(1), approval.Approve)
	k.wantEntries(2)
	k.wantGiven("map[]")
	k.waits(ask)
	k.wantPending(id(2))
}

// What a running tool wants confirmed has another digest than the gate's question about its call, and than
// what the tool wants confirmed next: an answer to one of them is none to another.
func TestConfirmationHasADigestOfItsOwn(t *testing.T) {
	t.Parallel()
	k := newPayDesk(t)
	k.decide(id(1), approval.Approve)
	digests := []string{k.approval(1).Digest}
	for i, payload := range []string{`{"fee":1}`, `{"fee":2}`} {
		k.pauses("c1.1", tool.Suspension{Wake: k.now.Add(time.Minute), Asks: []tool.Question{{ID: "fee", Kind: tool.AskConfirm, Hint: "sure?", Payload: json.RawMessage(payload)}}})
		a := k.one()
		for _, digest := range digests {
			wantError(t, k.answer(approval.Decision{ID: a.ID, Type: approval.Approve, Digest: digest}), approval.ReasonChanged)
		}
		digests = append(digests, a.Digest)
		if i == 0 {
			k.wakes()
		}
	}
}

// A question of a tool that takes no text takes none here, whatever the gate of its call says.
func TestToolQuestionTakesNoText(t *testing.T) {
	t.Parallel()
	for _, kind := range []tool.QuestionKind{tool.AskConfirm, tool.AskQuestion} {
		ask := tool.Question{ID: "a", Kind: kind, Hint: "really?"}
		k := waker(t, ask)
		k.wakes()
		ask.NoText = true
		k.waits(ask)
		k.wantPending(id(2))
		k.mustPut(k.says("m1", "yes", alice))
		k.wantPending(id(2))
		k.wakes()
		if open := k.entered[len(k.entered)-1].Resumption.Open; len(open) != 1 || !open[0].NoText {
			t.Errorf("%s: the tool is told of the open questions %+v", kind, open)
		}
	}
}
