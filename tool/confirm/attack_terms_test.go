package confirm_test

import (
	"testing"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/tool/confirm"
)

// AskOnce is the grant {context, exact}: a call that is asked about on other terms, or that a rule now calls
// destructive, is asked about again.
func TestAttackAskOnceUnderStricterTerms(t *testing.T) {
	t.Parallel()
	a := approval.Approval{Kind: approval.KindCall, Tool: "transfer", Context: "ctx", Args: []byte(`{"amount":7}`), Requester: auth.Principal{Subject: "alice"}, Terms: approval.Terms{Gate: "transfers"}}
	for name, terms := range map[string]approval.Terms{
		"another rule":  {Gate: "managed"},
		"destructive":   {Gate: "transfers", Destructive: true},
		"a higher risk": {Gate: "transfers", Risk: approval.RiskHigh},
		"no text":       {Gate: "transfers", NoText: true},
	} {
		ui := &said{answers: []confirm.UIResult{{Action: confirm.Confirm}, {Action: confirm.Reject}}}
		s, err := confirm.NewStrategies(confirm.Entry{Tools: []string{confirm.Any}, Strategy: &confirm.BlockingStrategy{Policy: confirm.AskOnce(nil), UI: ui}})
		if err != nil {
			t.Fatal(err)
		}
		decide := s.Decider(nil)
		if got, err := decide(t.Context(), a); err != nil || got.Type != approval.Approve {
			t.Fatalf("Decider() = %v, %v", got, err)
		}
		b := a
		b.Terms = terms
		if got, err := decide(t.Context(), b); len(ui.asked) != 2 {
			t.Errorf("%s: Decider() = %s, %v without asking", name, got.Type, err)
		}
	}
}
