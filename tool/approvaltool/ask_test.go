package approvaltool_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/a2aservertest"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/testserver"
	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/approvaltool"
)

var (
	alice = auth.Principal{Tenant: "acme", Subject: "alice", Roles: []string{auth.RoleRequester}, Method: "test"}
	bob   = auth.Principal{Tenant: "acme", Subject: "bob", Roles: []string{auth.RoleApprover}, Method: "test"}
	carl  = auth.Principal{Tenant: "acme", Subject: "carl", Roles: []string{auth.RoleApprover}, Method: "test"}
)

// newRefund returns a tool that asks about a refund.
func newRefund(t *testing.T) tool.CallableTool {
	t.Helper()
	refund, err := approvaltool.New(approvaltool.Config{
		Name: "refund", Description: "Refunds money",
		Parameters: map[string]any{
			"type": "object", "additionalProperties": false, "required": []any{"amount"},
			"properties": map[string]any{"amount": map[string]any{"type": "number", "minimum": 0}, "iban": map[string]any{"type": "string"}},
		},
		Hint: func(_ agent.ReadonlyContext, args map[string]any) (string, error) {
			return fmt.Sprint("Refund ", args["amount"], " to ", args["iban"]), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return refund
}

// serveRefund returns a server with the tool refund, for callers if gates are about people.
func serveRefund(t *testing.T, c approval.PolicyConfig, set map[string]string) *a2aservertest.Server {
	t.Helper()
	policy, err := approval.NewPolicy(c)
	if err != nil {
		t.Fatal(err)
	}
	return a2aservertest.New(t, testserver.Config{
		Tools: []tool.Toolset{tool.NewToolset("shop", newRefund(t))}, Policy: policy, Authenticator: a2aservertest.Callers{}, Set: set,
	}.Must(t))
}

// decide decides the only pending approval of a task.
func decide(t *testing.T, s *a2aservertest.Server, asked *a2a.Task, by auth.Principal, d approval.Decision) error {
	t.Helper()
	pending := s.As(bob).Pending(asked)
	if len(pending) != 1 {
		t.Fatalf("%d approvals are pending, want 1", len(pending))
	}
	d.ID, d.Digest = pending[0].ID, pending[0].Digest
	return s.Approvals().Decide(t.Context(), by, d)
}

// decision returns the data of the result of a task's newest call.
func decision(t *testing.T, done *a2a.Task) map[string]any {
	t.Helper()
	for _, artifact := range done.Artifacts[max(len(done.Artifacts)-1, 0):] {
		for _, part := range artifact.Parts {
			if data, ok := part.Content.(a2a.Data); ok {
				object, _ := data.Value.(map[string]any)
				return object
			}
		}
	}
	t.Fatalf("the task has no data: %+v", done)
	return nil
}

func TestAsk(t *testing.T) {
	t.Parallel()
	args := map[string]any{"amount": 50.0, "iban": "DE02"}
	ask := func(terms approval.Terms) approval.PolicyConfig {
		return approval.PolicyConfig{Gates: []approval.Gate{{Tool: "refund", Action: approval.ActionAsk, Terms: terms}}}
	}
	edit := approval.Decision{Type: approval.Edit, Args: json.RawMessage(`{"amount":40}`)}
	type vote struct {
		by auth.Principal
		d  approval.Decision
	}
	approve := func(by ...auth.Principal) (all []vote) {
		for _, p := range by {
			all = append(all, vote{p, approval.Decision{Type: approval.Approve}})
		}
		return all
	}
	for name, tt := range map[string]struct {
		policy approval.PolicyConfig
		votes  []vote
		want   map[string]any // approval is a suffix of the task's id
	}{
		"no gate":                   {approval.PolicyConfig{}, approve(alice), map[string]any{"approved": true, "arguments": args, "by": []any{"alice"}, "approval": ".a1"}},
		"declared gates ignored":    {approval.PolicyConfig{IgnoreDeclared: true}, approve(bob), map[string]any{"approved": true, "arguments": args, "by": []any{"bob"}, "approval": ".a1"}},
		"a gate asks, too":          {ask(approval.Terms{}), approve(bob), map[string]any{"approved": true, "arguments": args, "by": []any{"bob"}, "approval": ".a1"}},
		"two people":                {ask(approval.Terms{People: 2}), approve(bob, carl), map[string]any{"approved": true, "arguments": args, "by": []any{"bob", "carl"}, "approval": ".a1"}},
		"edited":                    {ask(approval.Terms{}), []vote{{bob, edit}}, map[string]any{"approved": true, "arguments": map[string]any{"amount": 40.0}, "by": []any{"bob"}, "approval": ".a1"}},
		"edited under four eyes":    {ask(approval.Terms{FourEyes: true}), append([]vote{{bob, edit}}, approve(carl)...), map[string]any{"approved": true, "arguments": map[string]any{"amount": 40.0}, "by": []any{"carl"}, "approval": ".a2"}},
		"rejected":                  {ask(approval.Terms{}), []vote{{bob, approval.Decision{Type: approval.Reject, Reason: "too much"}}}, map[string]any{"approved": false, "reason": "too much"}},
		"rejected without a reason": {ask(approval.Terms{}), []vote{{bob, approval.Decision{Type: approval.Reject}}}, map[string]any{"approved": false}},
		"rejected after a vote":     {ask(approval.Terms{People: 2}), append(approve(bob), vote{carl, approval.Decision{Type: approval.Reject, Reason: "no"}}), map[string]any{"approved": false, "reason": "no"}},
		"allowed by its name": {
			approval.PolicyConfig{Gates: []approval.Gate{{Tool: "refund", Action: approval.ActionAllow}}}, nil,
			map[string]any{"approved": true, "arguments": args, "by": []any{tool.ByPolicy}, "approval": ".c1.1"},
		},
		"allowed by a pattern": {
			approval.PolicyConfig{IgnoreDeclared: true, Gates: []approval.Gate{{Tool: "*", Action: approval.ActionAllow}}}, approve(bob),
			map[string]any{"approved": true, "arguments": args, "by": []any{"bob"}, "approval": ".a1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveRefund(t, tt.policy, nil)
			sent := s.As(alice).SendMessage(call("refund", args))
			for i, v := range tt.votes {
				if state := s.As(alice).Get(sent.ID).Status.State; state.Terminal() {
					t.Fatalf("the task is %s before decision %d", state, i+1)
				}
				if err := decide(t, s, sent, v.by, v.d); err != nil {
					t.Fatal(err)
				}
			}
			got := decision(t, s.As(alice).Wait(sent.ID, a2a.TaskStateCompleted))
			if id, has := tt.want["approval"]; has {
				tt.want["approval"] = fmt.Sprint(sent.ID, id)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAskNeedsADecision: an excluded person, a wrong edit and a denying gate approve nothing.
func TestAskNeedsADecision(t *testing.T) {
	t.Parallel()
	eyes := approval.PolicyConfig{Gates: []approval.Gate{{Tool: "refund", Action: approval.ActionAsk, Terms: approval.Terms{FourEyes: true, Mask: []string{"/iban"}}}}}
	s := serveRefund(t, eyes, nil)
	sent := s.As(alice).SendMessage(call("refund", map[string]any{"amount": 50.0, "iban": "DE02"}))
	for _, d := range []struct {
		by auth.Principal
		approval.Decision
	}{
		{alice, approval.Decision{Type: approval.Approve}},
		{bob, approval.Decision{Type: approval.Edit, Args: json.RawMessage(`{"amount":-1}`)}},
	} {
		if err := decide(t, s, sent, d.by, d.Decision); err == nil {
			t.Errorf("%s: %s counts, want an error", d.by.Subject, d.Type)
		}
	}
	if pending := s.As(bob).Pending(sent); pending[0].Hint != "Refund 50 to •••" {
		t.Errorf("hint = %q, want the account masked", pending[0].Hint)
	}
	if got := s.As(alice).Get(sent.ID); got.Status.State.Terminal() || len(got.Artifacts) > 0 {
		t.Errorf("the task is %s with %d artifacts, want it to wait", got.Status.State, len(got.Artifacts))
	}
	denied := serveRefund(t, approval.PolicyConfig{Gates: []approval.Gate{{Tool: "refund", Action: approval.ActionDeny}}}, nil)
	if got := denied.As(alice).SendMessage(call("refund", map[string]any{"amount": 1.0})); got.Status.State != a2a.TaskStateFailed || len(got.Artifacts) > 0 {
		t.Errorf("a denied call is %s with %d artifacts, want failed", got.Status.State, len(got.Artifacts))
	}
}

func TestAskExpires(t *testing.T) {
	t.Parallel()
	for end, want := range map[approval.OnExpiry]a2a.TaskState{approval.ExpiryRejects: a2a.TaskStateCompleted, approval.ExpiryCancels: a2a.TaskStateCanceled} {
		t.Run(string(end), func(t *testing.T) {
			t.Parallel()
			s := serveRefund(t, approval.PolicyConfig{Defaults: approval.Terms{Expires: time.Hour, OnExpiry: end}}, nil)
			sent := s.As(alice).SendMessage(call("refund", map[string]any{"amount": 50.0}))
			s.Advance(2 * time.Hour)
			done := s.As(alice).Wait(sent.ID, want)
			if want == a2a.TaskStateCompleted {
				if diff := cmp.Diff(map[string]any{"approved": false, "reason": "expired"}, decision(t, done)); diff != "" {
					t.Errorf("result (-want +got):\n%s", diff)
				}
			} else if len(done.Artifacts) > 0 {
				t.Errorf("a canceled task has %d artifacts", len(done.Artifacts))
			}
		})
	}
}

// TestRequestApproval: the tool asks once, also with a gate, and two words settle it.
func TestRequestApproval(t *testing.T) {
	t.Parallel()
	args := map[string]any{"action": "Delete the cluster", "reason": "It is not used.", "arguments": map[string]any{"nodes": 3.0}}
	request, err := approvaltool.NewRequest()
	if err != nil {
		t.Fatal(err)
	}
	for name, gates := range map[string][]approval.Gate{"no gate": nil, "a gate": {{Tool: "request_approval", Action: approval.ActionAsk, Hint: "Sure?"}}} {
		for word, want := range map[string]map[string]any{
			"yes":        {"approved": true, "arguments": args, "by": []any{"anonymous"}},
			"no: Friday": {"approved": false, "reason": "Friday"},
		} {
			t.Run(name+", "+word, func(t *testing.T) {
				t.Parallel()
				policy, err := approval.NewPolicy(approval.PolicyConfig{Gates: gates})
				if err != nil {
					t.Fatal(err)
				}
				s := a2aservertest.New(t, testserver.Config{Tools: []tool.Toolset{tool.NewToolset("people", request)}, Policy: policy}.Must(t))
				sent := s.SendMessage(call("request_approval", args))
				if pending := s.Pending(sent); len(pending) != 1 || pending[0].Kind != approval.KindCall || gates == nil && pending[0].Hint != "Delete the cluster\nReason: It is not used." {
					t.Fatalf("pending = %+v, want one approval of the call", pending)
				}
				m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(word))
				m.TaskID = sent.ID
				s.SendMessage(m)
				got := decision(t, s.Wait(sent.ID, a2a.TaskStateCompleted))
				delete(got, "approval")
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("result (-want +got):\n%s", diff)
				}
			})
		}
	}
	t.Run("wrong arguments", func(t *testing.T) {
		t.Parallel()
		for _, args := range []map[string]any{{}, {"action": ""}, {"action": "x", "details": 1.0}, {"action": "x", "arguments": "y"}} {
			s := serve(t, nil)
			if failed := s.SendMessage(call("request_approval", args)); failed.Status.State != a2a.TaskStateFailed {
				t.Errorf("with %v the task is %s, want failed", args, failed.Status.State)
			}
		}
	})
}

// TestAskOutsideAServer: without an approval the tool approves nothing.
func TestAskOutsideAServer(t *testing.T) {
	t.Parallel()
	refund := newRefund(t)
	if ask, err := tool.NeedsApproval(nil, refund, nil); !ask || err != nil {
		t.Errorf("NeedsApproval() = %t, %v, want true", ask, err)
	}
	if result, err := refund.Call(bare{Context: nil}, map[string]any{"amount": 1.0}); err == nil {
		t.Errorf("Call() = %v, want an error", result)
	}
	for _, c := range []approvaltool.Config{{Description: "x"}, {Name: "x"}, {Name: "x", Description: "x", Parameters: map[string]any{"type": "thing"}}} {
		if _, err := approvaltool.New(c); err == nil {
			t.Errorf("New(%+v) = nil, want an error", c)
		}
	}
}

// bare is the context of a call that no server makes.
type bare struct{ tool.Context }

func (bare) Value(any) any { return nil }
