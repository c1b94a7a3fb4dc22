package confirm_test

import (
	stdcontext "context"
	"testing"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/tool/confirm"
)

// late is a UI whose person answers after the approval has been rejected elsewhere.
type late struct {
	confirm.UI
	end   func()
	asked int
}

func (u *late) GetUserConfirmation(context, confirm.Call) (confirm.UIResult, error) {
	u.asked++
	u.end()
	return confirm.UIResult{Action: confirm.Confirm}, nil
}

// AskOnce remembers confirmations that counted. An answer that comes after the approval was decided (its
// context has ended, somebody has rejected the call) lets no later call run unasked.
func TestAttackLateConfirmationIsRemembered(t *testing.T) {
	t.Parallel()
	ctx, end := stdcontext.WithCancel(t.Context())
	ui := &late{end: end}
	s, err := confirm.NewStrategies(confirm.Entry{Tools: []string{confirm.Any}, Strategy: &confirm.BlockingStrategy{Policy: confirm.AskOnce(nil), UI: ui}})
	if err != nil {
		t.Fatal(err)
	}
	a := approval.Approval{Kind: approval.KindCall, Tool: "transfer", Context: "ctx", Args: []byte(`{"amount":7}`), Requester: auth.Principal{Subject: "alice"}}
	decide := s.Decider(nil)
	_, _ = decide(ctx, a) // its answer is dropped: the approval is rejected
	if got, err := decide(t.Context(), a); ui.asked != 2 {
		t.Errorf("Decider() = %s, %v without asking, because of an answer that came too late", got.Type, err)
	}
}
