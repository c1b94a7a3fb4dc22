package dialect_test

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/approval/dialect"
)

// A message that decides nothing is told why, and what does decide (C3).
func TestWhyAMessageDecidesNothing(t *testing.T) {
	t.Parallel()
	one := []*approval.Approval{transfer()}
	terms := func(change func(*approval.Terms)) []*approval.Approval {
		return []*approval.Approval{with(transfer(), func(a *approval.Approval) { change(&a.Terms) })}
	}
	destructive := terms(func(t *approval.Terms) { t.Destructive = true })
	wrong := func(n int) []*approval.Approval {
		return []*approval.Approval{with(coded(), func(a *approval.Approval) { a.WrongCodes = n })}
	}
	later := []*approval.Approval{with(restarts(), func(a *approval.Approval) { a.Code = "k7m2qzxd" })}
	const coded4 = "\n\nTo approve, type \"approve k7m2qzxd\"; to reject, type \"no k7m2qzxd\" or \"no k7m2qzxd: reason\".\n\nApproval t1.a4"
	const (
		words = "\n\nTo approve, type \"yes\"; to reject, type \"no\" or \"no: reason\".\n\nApproval t1.a1"
		code  = "\n\nTo approve, type \"approve k7m2qzxd\"; to reject, type \"no\" or \"no: reason\".\n\nApproval t1.a1"
		json  = "\n\nTo answer, send JSON as at the end of this text; no word counts: "
		no    = "\n\nTo reject, type \"no\" or \"no: reason\"; "
		none  = "\n\nNothing can be typed here: "
	)
	for _, tt := range []struct {
		name    string
		no      *a2a.Message
		pending []*approval.Approval
		off     bool
		want    string // how the question begins
	}{
		{"prose", text(t, "yes please"), one, false, `"yes please" decides nothing: it is not exactly one of the answers.` + words},
		{"cancel", text(t, "Cancel."), one, false, `"Cancel." decides nothing: it would end the whole task; to do that, cancel the task, or send JSON with the decision "cancel".` + words},
		{"edit", text(t, "edit"), one, false, `"edit" decides nothing: it needs the new arguments; send JSON with the decision "edit" and all "arguments".` + words},
		{"respond", text(t, "respond"), []*approval.Approval{database()}, false, `"respond" decides nothing: it needs the response; send JSON with the decision "respond" and the "response".` + json},
		{"yes to a destructive call", text(t, "Yes"), wrong(0), false, `"Yes" decides nothing: the call is marked as destructive, and only the word with the code of this question approves it.` + code},
		{"a wrong code", text(t, "Approve aaaaaaa2"), wrong(1), false, "The code aaaaaaa2 is wrong, so nothing is decided; 1 of 5 wrong codes have been typed." + code},
		{"a wrong code of ADK for Python", marked(t, "t1.a1", "adk_request_confirmation", `{"result":"yes aaaaaaa2"}`), wrong(4), false, "The code aaaaaaa2 is wrong, so nothing is decided; 4 of 5 wrong codes have been typed." + code},
		{"a code after too many", text(t, "approve k7m2qzxd"), wrong(5), false, `"approve k7m2qzxd" decides nothing: the call is marked as destructive, and after 5 wrong codes no word approves it any longer.` + no + "the call is marked"},
		{"yes to a destructive call without a code", text(t, "yes"), destructive, false, `"yes" decides nothing: the call is marked as destructive, and this question has no code.` + no + "the call is marked"},
		{"yes to a later question", text(t, "yes"), later, false, `"yes" decides nothing: a word may be about another question of this task, and only the word with the code of this question approves it.` + coded4},
		{"no to a later question", text(t, "no: why?"), later, false, `"no: why?" decides nothing: a word may be about another question of this task, and only the word with the code of this question rejects it.` + coded4},
		{"a code where there is none", text(t, "yes k7m2qzxd"), one, false, `"yes k7m2qzxd" decides nothing: this question has no code.` + words},
		{"yes to two", text(t, "yes"), append(destructive, restarts()), false, `"yes" decides nothing: more than one question is open, and a word does not say which one it answers.` + json + "more than one"},
		{"no to a question", text(t, "no"), []*approval.Approval{database()}, false, `"no" decides nothing: a tool asks a question, and a word is not an answer to it.` + json + "a tool asks"},
		{"yes to an outcome", text(t, "yes"), []*approval.Approval{deletion()}, false, `"yes" decides nothing: the question is what happened to a call, and a word cannot answer that.` + json},
		{"yes where no word counts", text(t, "yes"), terms(func(t *approval.Terms) { t.NoText = true }), false, `"yes" decides nothing: the gate "money" does not accept text.` + none + `the gate "money" does`},
		{"yes to what may only be rejected", text(t, "yes"), terms(func(t *approval.Terms) { t.Allowed = []approval.DecisionType{approval.Reject} }), false, `"yes" decides nothing: approve is not among the decisions that the gate "money" allows.` + no},
		{"no to what may only be approved", text(t, "no"), terms(func(t *approval.Terms) { t.Allowed = []approval.DecisionType{approval.Approve} }), false, `"no" decides nothing: reject is not among the decisions that the gate "money" allows.` + "\n\nTo approve, type \"yes\"; reject is not"},
		{"yes to what others decide", text(t, "yes"), terms(func(t *approval.Terms) { t.Elsewhere = true }), false, `"yes" decides nothing: somebody outside this conversation decides.` + "\n\nWaiting for approval by a person elsewhere until"},
		{"yes where the server takes no words", text(t, "yes"), one, true, `"yes" decides nothing: this server does not accept words.` + json + "this server"},
		{"JSON that is none", text(t, `{"type":"approval_response",}`), one, false, `"{"type":"approval_response",}" decides nothing: invalid JSON: invalid character ',' at start of value (at byte 27).` + words},
		{"JSON with a name that occurs twice", text(t, `{"type":"approval_response","decisions":[{"id":"x","id":"y"}]}`), one, false, `"{"type":"approval_response","decisions"… (64 characters) decides nothing: invalid JSON at /decisions/0/id: duplicate name in an object.` + words},
		{"the JSON of a decision beside more text", text(t, typedApproval, "ok"), one, false, `"{"type":"approval_response","decisions"… (109 characters) decides nothing: a decision in JSON must be all that its message says.` + words},
		{"the JSON of a decision in a fence below words", text(t, "No, do not!\n```\n"+typedApproval+"\n```"), one, false, "\"No, do not!\\u000a```\\u000a{\"type\":\"appr… (136 characters) decides nothing: a decision in JSON must be all that its message says." + words},
		{"more is to come", parts(t, `{"adk:functionResponse":{"id":"c1.1","name":"adk_request_confirmation","response":{"confirmed":true},"will_continue":true}}`), one, false, "This message decides nothing yet: it says will_continue. Send the whole decision, without it." + words},
		{"data", parts(t, `{"a":1}`), one, false, "This message decides nothing: no part of it is a decision in a known shape." + words},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := dialect.New(dialect.Config{Keywords: !tt.off})
			m, err := p.Question(tt.pending, tt.no)
			if err != nil {
				t.Fatalf("Question() = %v", err)
			}
			if m.Parts[0].Metadata["validation_error"] != true {
				t.Errorf("the text is not marked: %v", m.Parts[0])
			}
			if got := m.Parts[0].Text(); !strings.HasPrefix(got, tt.want) {
				t.Errorf("the question begins with %q, want %q", got[:min(len(got), len(tt.want)+20)], tt.want)
			}
		})
	}
}

// A question shows what its answer to a form looks like.
func TestExampleOfAForm(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, schema, want, not string }{
		{"fields", `{"type":"object","properties":{"when":{"type":"string"},"city":{}}}`, `"response":{"city":"...","when":"..."}`, "!"},
		{"required fields", `{"type":"object","required":["when"],"properties":{"when":{"type":"string"},"city":{}}}`, `"response":{"when":"..."}`, "!"},
		{"many fields", `{"type":"object","required":["a","b","c","d","e","f","g","h","i"]}`, `"h":"..."}`, `"i":`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, err := presenter().Question([]*approval.Approval{formQuestion(tt.schema)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Parts[0].Text(); !strings.Contains(got, tt.want) || strings.Contains(got, tt.not) {
				t.Errorf("question = %q, want %q in it, and no %q", got, tt.want, tt.not)
			}
		})
	}
}
