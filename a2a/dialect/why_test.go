package dialect_test

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2a/dialect"
	"a2a-server/approval"
)

// A message that decides nothing is told why, and what does decide (C3).
func TestWhyAMessageDecidesNothing(t *testing.T) {
	t.Parallel()
	one := []*approval.Approval{transfer()}
	terms := func(change func(*approval.Terms)) []*approval.Approval {
		return []*approval.Approval{with(transfer(), func(a *approval.Approval) { change(&a.Terms) })}
	}
	destructive := terms(func(t *approval.Terms) { t.Destructive = true })
	const how = `Answer with JSON such as {"decisions":[{"decision":"approve","digest":"sha256:d1","id":"t1.a1"}],"type":"approval_response"} in a data part, or as the whole text of a message`
	for _, tt := range []struct {
		name    string
		no      *a2a.Message
		pending []*approval.Approval
		off     bool
		want    []string
		not     string
	}{
		{"prose", text(t, "yes please"), one, false, []string{"This message was not understood as a decision. " + how, "The whole text approve or reject counts too."}, ""},
		{"yes to a destructive call", text(t, "Yes"), destructive, false, []string{"The word Yes does not count: the call is marked as destructive, and a word never approves such a call. " + how, "The whole text reject counts too."}, "approve or"},
		{"yes to two", text(t, "yes"), append(destructive, restarts()), false, []string{"The word yes does not count: more than one question is open, and a word does not say which one it answers.", "it may have an entry for each id"}, "counts too"},
		{"no to a question", text(t, "no"), []*approval.Approval{database()}, false, []string{"The word no does not count: a tool asks a question, and a word is not an answer to it.", `"response":"..."`}, "counts too"},
		{"no to a form", text(t, "no"), []*approval.Approval{formQuestion(`{"type":"object","properties":{"when":{"type":"string"},"city":{}}}`)}, false, []string{`"response":{"city":"...","when":"..."}`}, "counts too"},
		{"no to a form with required fields", text(t, "no"), []*approval.Approval{formQuestion(`{"type":"object","required":["when"],"properties":{"when":{"type":"string"},"city":{}}}`)}, false, []string{`"response":{"when":"..."}`}, "counts too"},
		{"no to a form of many fields", text(t, "no"), []*approval.Approval{formQuestion(`{"type":"object","required":["a","b","c","d","e","f","g","h","i"]}`)}, false, []string{`"h":"..."}`}, `"i"`},
		{"yes to an outcome", text(t, "yes"), []*approval.Approval{deletion()}, false, []string{"The word yes does not count: the question is what happened to a call"}, "counts too"},
		{"yes where no word counts", text(t, "yes"), terms(func(t *approval.Terms) { t.NoText = true }), false, []string{`The word yes does not count: the rule "money" does not accept keywords.`}, "counts too"},
		{"yes to what others decide", text(t, "yes"), terms(func(t *approval.Terms) { t.Elsewhere = true }), false, []string{"The word yes does not count: somebody outside this conversation decides. Nothing in this task waits for an answer from this conversation."}, "JSON"},
		{"yes where the server takes no words", text(t, "yes"), one, true, []string{"The word yes does not count: this server does not accept keywords. " + how}, "counts too"},
		{"JSON that is none", text(t, `{"type":"approval_response",}`), one, false, []string{"not understood as a decision: invalid JSON: found '}', expected a name in quotes (at byte 28). " + how}, ""},
		{"JSON with a name that occurs twice", text(t, `{"type":"approval_response","decisions":[{"id":"x","id":"y"}]}`), one, false, []string{"not understood as a decision: invalid JSON at /decisions/0/id: duplicate name in an object. " + how}, ""},
		{"the JSON of a decision beside more text", text(t, typedApproval, "ok"), one, false, []string{"not understood as a decision: a decision sent as text must be the only part of its message. " + how}, ""},
		{"data", parts(t, `{"a":1}`), one, false, []string{"not understood as a decision. "}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := dialect.New(dialect.Config{Keywords: !tt.off})
			if answers, err := p.Answers(tt.no, tt.pending); err != nil || answers != nil {
				t.Fatalf("Answers() = %v, %v, want nothing", answers, err)
			}
			m, err := p.Question(tt.pending, tt.no)
			if err != nil {
				t.Fatalf("Question() = %v", err)
			}
			last := m.Parts[len(m.Parts)-1]
			if last.Metadata["validation_error"] != true {
				t.Errorf("the last part is not marked: %v", last)
			}
			for _, want := range tt.want {
				if !strings.Contains(last.Text(), want) {
					t.Errorf("why = %q, want %q in it", last.Text(), want)
				}
			}
			if tt.not != "" && strings.Contains(last.Text(), tt.not) {
				t.Errorf("why = %q, want no %q in it", last.Text(), tt.not)
			}
		})
	}
}
