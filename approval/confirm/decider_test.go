package confirm_test

import (
	stdcontext "context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/approval/confirm"
	"a2a-server/auth"
)

// An approval becomes a call, and the answer to it the approval's decision.
func TestDecider(t *testing.T) {
	t.Parallel()
	asked := approval.Approval{
		Kind: approval.KindCall, Tool: "transfer", Call: "c1.1", Context: "ctx", Definition: "d1", Args: []byte(`{"to": "bob", "amount": 7}`), Hint: "why",
		Payload: []byte(`[1]`), About: &approval.About{Description: "Pays"}, Requester: auth.Principal{Tenant: "acme", Subject: "alice", Chain: []string{"agent"}},
	}
	for _, tt := range []struct {
		name   string
		policy confirm.Policy
		answer confirm.UIResult
		change func(a *approval.Approval)
		want   approval.Decision
		err    string
	}{
		{name: "never ask", policy: confirm.NeverAsk(), want: approval.Decision{Type: approval.Approve}},
		{name: "confirm", answer: confirm.UIResult{Action: confirm.Confirm}, want: approval.Decision{Type: approval.Approve}},
		{name: "reject", answer: confirm.UIResult{Action: confirm.Reject, Feedback: "too much"}, want: approval.Decision{Type: approval.Reject, Reason: "too much"}},
		{
			name: "modify", answer: confirm.UIResult{Action: confirm.Modify, Feedback: "less", NewToolParams: map[string]any{"amount": 5, "to": "bob"}},
			want: approval.Decision{Type: approval.Edit, Args: []byte(`{"amount":5,"to":"bob"}`), Reason: "less"},
		},
		{name: "modify to the same", answer: confirm.UIResult{Action: confirm.Modify, NewToolParams: map[string]any{"amount": 7, "to": "bob"}}, want: approval.Decision{Type: approval.Approve}},
		{name: "modify where nothing can be edited", answer: confirm.UIResult{Action: confirm.Modify, NewToolParams: map[string]any{}}, change: func(a *approval.Approval) { a.AskKind = "confirm" }, err: `"modify"`},
		{name: "another tool", change: func(a *approval.Approval) { a.Tool = "refund" }},
		{name: "an unknown outcome", change: func(a *approval.Approval) { a.Kind = approval.KindOutcome }},
		{name: "long feedback", answer: confirm.UIResult{Action: confirm.Reject, Feedback: strings.Repeat("é", approval.MaxReason)}, want: approval.Decision{Type: approval.Reject, Reason: strings.Repeat("é", approval.MaxReason/2)}},
		{name: "not JSON", answer: confirm.UIResult{Action: confirm.Confirm}, change: func(a *approval.Approval) { a.Args = []byte(`[]`) }, err: "arguments"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ui := &said{answers: []confirm.UIResult{tt.answer}}
			if tt.policy == nil {
				tt.policy = confirm.AlwaysAsk()
			}
			s, err := confirm.NewStrategies(confirm.Entry{Tools: []string{"transfer"}, Strategy: &confirm.BlockingStrategy{Policy: tt.policy, UI: ui}})
			if err != nil {
				t.Fatal(err)
			}
			a := asked
			if tt.change != nil {
				tt.change(&a)
			}
			got, err := s.Decider(nil)(t.Context(), a)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || got.Type != "" {
					t.Errorf("Decider = %v, %v, want an error with %s", got, err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			want := confirm.Call{
				ToolName: "transfer", Description: "Pays", ToolCallID: "c1.1", Params: map[string]any{"amount": 7.0, "to": "bob"}, Hint: "why",
				Payload: []any{1.0}, Requester: `["acme","alice","agent"]`, Context: "ctx", Definition: "d1", Terms: `{"gate":""}`,
			}
			if len(ui.asked) > 0 {
				if diff := cmp.Diff(want, ui.asked[0]); diff != "" {
					t.Errorf("the UI is asked (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// A UI that changes the arguments that it was shown changes nothing: they do not run unseen.
func TestUIsOwnArguments(t *testing.T) {
	t.Parallel()
	s, err := confirm.NewStrategies(confirm.Entry{Tools: []string{confirm.Any}, Strategy: &confirm.BlockingStrategy{Policy: confirm.AlwaysAsk(), UI: scribbles{}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Decider(nil)(t.Context(), approval.Approval{Kind: approval.KindCall, Tool: "transfer", Args: []byte(`{"amount":7}`)})
	if err != nil || got.Type != approval.Approve {
		t.Errorf("Decider = %v, %v, want an approval of the arguments that were asked about", got, err)
	}
}

type scribbles struct{ confirm.UI }

func (scribbles) GetUserConfirmation(_ context, c confirm.Call) (confirm.UIResult, error) {
	c.Params["amount"] = 1e6
	return confirm.UIResult{Action: confirm.Confirm}, nil
}

// A strategy of a program gets the values of the request; its feedback is the reason, and it decides
// no other call.
func TestDeciderWithOwnStrategy(t *testing.T) {
	t.Parallel()
	s, err := confirm.NewStrategies(confirm.Entry{Tools: []string{"transfer"}, Strategy: named{name: "mine"}}, confirm.Entry{Tools: []string{confirm.Any}, Strategy: elsewhere{}})
	if err != nil {
		t.Fatal(err)
	}
	decide := s.Decider(func(_ stdcontext.Context, a approval.Approval) map[string]any {
		return map[string]any{"channel": a.Task}
	})
	got, err := decide(t.Context(), approval.Approval{Kind: approval.KindCall, Tool: "transfer", Task: "t1", Args: []byte(`{}`)})
	if want := (approval.Decision{Type: approval.Reject, Reason: "mine: t1"}); err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("Decider = %v, %v, want %v", got, err, want)
	}
	if got, err := decide(t.Context(), approval.Approval{Kind: approval.KindCall, Tool: "refund", Args: []byte(`{}`)}); err == nil {
		t.Errorf("Decider = %v, want an error: the strategy has decided another call", got)
	}
}

type elsewhere struct{ confirm.Strategy }

func (elsewhere) Run(context, confirm.Call) (confirm.Decision, error) {
	return confirm.Decision{ToolName: "transfer", Execute: true, FinalToolParams: map[string]any{}}, nil
}

// A call that is asked about on other terms, or that a rule now calls destructive, is asked about again.
func TestAskOnceIsBoundToTheTerms(t *testing.T) {
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
func TestLateConfirmationCountsForNothing(t *testing.T) {
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
