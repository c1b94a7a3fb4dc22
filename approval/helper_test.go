package approval

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"a2a-server/auth"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// fakeTool is a tool that can be gated, annotated, and broken in each place.
type fakeTool struct {
	name    string
	static  bool
	gate    tool.GateFunc
	hint    tool.HintFunc
	notes   func() tool.Annotations
	namePan bool
}

func (f *fakeTool) Name() string {
	if f.namePan {
		panic("no name")
	}
	return f.name
}
func (f *fakeTool) Description() string    { return "" }
func (f *fakeTool) IsLongRunning() bool    { return false }
func (f *fakeTool) RequiresApproval() bool { return f.static }

func (f *fakeTool) Gate(ctx agent.ReadonlyContext, args map[string]any) (bool, error) {
	if f.gate == nil {
		return false, nil
	}
	return f.gate(ctx, args)
}

func (f *fakeTool) Hint(ctx agent.ReadonlyContext, args map[string]any) (string, error) {
	if f.hint == nil {
		return "", nil
	}
	return f.hint(ctx, args)
}

func (f *fakeTool) Annotations() tool.Annotations {
	if f.notes == nil {
		return tool.Annotations{}
	}
	return f.notes()
}

func asked() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func alice() auth.Principal {
	return auth.Principal{Tenant: "acme", Subject: "alice", Roles: []string{auth.RoleRequester}}
}

func bob() auth.Principal {
	return auth.Principal{Tenant: "acme", Subject: "bob", Roles: []string{auth.RoleApprover}}
}

// pending returns a pending approval of a call, changed by each of edits.
func pending(id string, edits ...func(*Approval)) *Approval {
	a := &Approval{
		V: 1, ID: id, Kind: KindCall, State: Pending, Task: "t", Call: "c1." + strings.TrimPrefix(id, "t.a"),
		Tool: "send", Args: json.RawMessage(`{"to":"x"}`), Digest: "d1", Terms: Terms{Gate: "r"},
		Requester: alice(), Asked: asked(),
	}
	for _, edit := range edits {
		edit(a)
	}
	return a
}

// ended gives an approval a final state, as bob decided it.
func endedAs(s State, r Resolution) func(*Approval) {
	return func(a *Approval) {
		a.State = s
		r.By, r.Via, r.At = bob(), ViaAPI, asked().Add(time.Minute)
		a.Resolution = &r
	}
}

func kind(k Kind) func(*Approval)           { return func(a *Approval) { a.Kind = k } }
func terms(t Terms) func(*Approval)         { return func(a *Approval) { a.Terms = t } }
func askKind(k string) func(*Approval)      { return func(a *Approval) { a.AskKind = k } }
func call(id, alias string) func(*Approval) { return func(a *Approval) { a.Call, a.Alias = id, alias } }
func takesPayload(a *Approval)              { a.TakesPayload = true }
func payload(raw string) func(*Approval) {
	return func(a *Approval) { a.Payload = json.RawMessage(raw) }
}
func replaces(id string) func(*Approval)    { return func(a *Approval) { a.Supersedes = id } }
func deadline(at time.Time) func(*Approval) { return func(a *Approval) { a.Deadline = &at } }

// wantError checks the reason of err, "" for none, and words of its message.
func wantError(t *testing.T, err error, reason Reason, words ...string) {
	t.Helper()
	if reason == "" {
		if err != nil {
			t.Errorf("error = %v, want none", err)
		}
		return
	}
	e, ok := err.(*Error) //nolint:errorlint // the contract is this very type
	if !ok {
		t.Fatalf("error = %v, want an *Error with %s", err, reason)
	}
	if e.Reason != reason {
		t.Errorf("reason = %s, want %s (%v)", e.Reason, reason, e)
	}
	for _, w := range words {
		if !strings.Contains(e.Message, w) {
			t.Errorf("message %q lacks %q", e.Message, w)
		}
	}
}
