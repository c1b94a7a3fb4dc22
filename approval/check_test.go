package approval

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/auth"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	now := asked().Add(time.Hour)
	approve := Decision{Type: Approve}
	fourEyes := terms(Terms{Gate: "big", FourEyes: true})
	requester := func(p auth.Principal) func(*Approval) { return func(a *Approval) { a.Requester = p } }
	schema := func(s string) func(*Approval) { return func(a *Approval) { a.Schema = json.RawMessage(s) } }
	const name = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
	acts := func(subject string, chain ...string) auth.Principal {
		return auth.Principal{Tenant: "acme", Subject: subject, Roles: []string{auth.RoleRequester, auth.RoleApprover}, Chain: chain}
	}
	as := func(roles ...string) auth.Principal {
		return auth.Principal{Tenant: "acme", Subject: "carol", Roles: roles}
	}
	service := func(p auth.Principal) auth.Principal {
		p.Kind = auth.KindService
		return p
	}
	only := func(s Approvers) func(*Approval) { return terms(Terms{Gate: "big", Approvers: &s}) }
	tests := []struct {
		name   string
		edits  []func(*Approval)
		answer Decision
		by     auth.Principal
		via    string // "": a2a
		reason Reason
		words  []string
		direct bool // only a person may answer, directly
	}{
		{name: "approve", answer: approve, by: alice()},
		{name: "reject with a reason", answer: Decision{Type: Reject, Reason: "no"}, by: alice()},
		{name: "cancel", answer: Decision{Type: Cancel}, by: alice()},
		{name: "edit", answer: Decision{Type: Edit, Args: json.RawMessage(`{"to":"y"}`)}, by: alice()},

		{name: "payload for a tool that takes one", edits: []func(*Approval){takesPayload}, answer: Decision{Type: Approve, Payload: json.RawMessage(`[1]`)}, by: alice()},
		{name: "payload for a tool that asked with one", edits: []func(*Approval){payload(`{"max":5}`)}, answer: Decision{Type: Approve, Payload: json.RawMessage(`{"max":3}`)}, by: alice()},
		{name: "payload with a rejection for a tool that takes one", edits: []func(*Approval){takesPayload}, answer: Decision{Type: Reject, Payload: json.RawMessage(`[1]`)}, by: alice()},
		{name: "payload that nobody reads", answer: Decision{Type: Approve, Payload: json.RawMessage(`{"to":"y"}`)}, by: alice(), reason: ReasonMalformed,
			words: []string{"payload", `"send"`, "use edit to change the arguments"}},
		{name: "null as the payload that nobody reads", answer: Decision{Type: Approve, Payload: json.RawMessage(`null`)}, by: alice(), reason: ReasonMalformed},
		{name: "payload of a rejection that nobody reads", answer: Decision{Type: Reject, Payload: json.RawMessage(`{"to":"y"}`)}, by: alice(), reason: ReasonMalformed,
			words: []string{"payload"}},
		{name: "payload of a running call that asked with none", edits: []func(*Approval){askKind(askConfirm)}, answer: Decision{Type: Approve, Payload: json.RawMessage(`1`)}, by: alice(), reason: ReasonMalformed,
			words: []string{"leave it out"}},
		{name: "payload of an answer to a question that has none", edits: []func(*Approval){kind(KindQuestion)}, answer: Decision{Type: Respond, Response: json.RawMessage(`1`), Payload: json.RawMessage(`1`)},
			by: alice(), reason: ReasonMalformed},

		{name: "F18 nobody is known, whatever the body claims", answer: Decision{Type: Approve, Payload: json.RawMessage(`{"by":"alice"}`)},
			reason: ReasonNotAllowed, words: []string{"authenticate"}},

		{name: "before the deadline", edits: []func(*Approval){deadline(now.Add(1))}, answer: approve, by: alice()},
		{name: "at the deadline", edits: []func(*Approval){deadline(now)}, answer: approve, by: alice(), reason: ReasonExpired,
			words: []string{"2026-03-01T13:00:00.000Z", "ask for it again"}},
		{name: "a rejection after the deadline", edits: []func(*Approval){deadline(asked())}, answer: Decision{Type: Reject}, by: alice(), reason: ReasonExpired},

		{name: "F7 approved twice", edits: []func(*Approval){endedAs(Approved, Resolution{Decision: Approve})}, answer: approve, by: alice(),
			reason: ReasonDecided, words: []string{"already approved", "bob"}},
		{name: "approved after it was rejected", edits: []func(*Approval){endedAs(Rejected, Resolution{Decision: Reject})}, answer: approve, by: alice(),
			reason: ReasonConflict, words: []string{`already rejected by "bob" at 2026-03-01T12:01:00.000Z`}},
		{name: "expired before", edits: []func(*Approval){endedAs(Expired, Resolution{})}, answer: approve, by: alice(), reason: ReasonExpired},

		{name: "no such verb", answer: Decision{Type: "maybe"}, by: alice(), reason: ReasonMalformed, words: []string{`"maybe"`, "approve, edit, reject, cancel"}},
		{name: "no verb", by: alice(), reason: ReasonMalformed},
		{name: "verb of another kind", answer: Decision{Type: Respond, Response: json.RawMessage(`1`)}, by: alice(), reason: ReasonNotAllowed,
			words: []string{"approve, edit, reject, cancel"}},
		{name: "F23 a question is not approved", edits: []func(*Approval){kind(KindQuestion)}, answer: approve, by: alice(), reason: ReasonNotAllowed,
			words: []string{"cannot be approved", "respond, reject, cancel"}},
		{name: "verb that the rule leaves out", edits: []func(*Approval){terms(Terms{Gate: "r", Allowed: []DecisionType{Approve, Reject}})},
			answer: Decision{Type: Edit, Args: json.RawMessage(`{}`)}, by: alice(), reason: ReasonNotAllowed, words: []string{"approve, reject"}},
		{name: "a running call is not edited", edits: []func(*Approval){askKind(askConfirm)}, answer: Decision{Type: Edit, Args: json.RawMessage(`{}`)},
			by: alice(), reason: ReasonNotAllowed},
		{name: "terms are those of the asking, not of today", edits: []func(*Approval){terms(Terms{Gate: "gone", FourEyes: true})},
			answer: approve, by: alice(), via: ViaAPI, reason: ReasonNotAllowed, words: []string{`"gone"`}},

		{name: "digest as shown", answer: Decision{Type: Approve, Digest: "d1"}, by: alice()},
		{name: "another digest", answer: Decision{Type: Approve, Digest: "d0"}, by: alice(), reason: ReasonChanged, words: []string{"d1"}},

		{name: "four eyes, another", edits: []func(*Approval){fourEyes}, answer: approve, by: bob(), via: ViaAPI},
		{name: "four eyes, the requester", edits: []func(*Approval){fourEyes}, answer: approve, by: alice(), via: ViaAPI, reason: ReasonNotAllowed,
			words: []string{`"big"`, "another person"}},
		{name: "four eyes, the requester rejects", edits: []func(*Approval){fourEyes}, answer: Decision{Type: Reject}, by: alice(), via: ViaAPI, reason: ReasonNotAllowed},
		{name: "four eyes, on behalf of the requester", edits: []func(*Approval){fourEyes}, answer: approve, by: acts("agent", "alice"), via: ViaAPI, reason: ReasonNotAllowed},
		{name: "four eyes, the agent asked for somebody", edits: []func(*Approval){fourEyes, requester(acts("agent", "bob"))}, answer: approve, by: bob(), via: ViaAPI, reason: ReasonNotAllowed},
		{name: "four eyes, the same agent for another", edits: []func(*Approval){fourEyes, requester(acts("agent", "alice"))}, answer: approve, by: acts("agent", "bob"), via: ViaAPI, reason: ReasonNotAllowed},
		{name: "four eyes, chains that meet", edits: []func(*Approval){fourEyes, requester(acts("x", "y", "carol"))}, answer: approve, by: acts("z", "carol"), via: ViaAPI, reason: ReasonNotAllowed},
		{name: "four eyes, anonymous", edits: []func(*Approval){fourEyes, requester(auth.Anonymous())}, answer: approve, by: auth.Anonymous(), via: ViaAPI, reason: ReasonNotAllowed},
		{name: "four eyes, requester not known", edits: []func(*Approval){fourEyes, requester(auth.Principal{})}, answer: approve, by: bob(), via: ViaProvider, reason: ReasonNotAllowed, words: []string{"a decider other"}},
		{name: "four eyes, namesake of another tenant", edits: []func(*Approval){fourEyes}, answer: approve, by: auth.Principal{Tenant: "other", Subject: "alice"}, via: ViaProvider, reason: ReasonNotAllowed},
		{name: "four eyes, a key and a login of one person", edits: []func(*Approval){fourEyes, requester(auth.Principal{Tenant: "acme", Subject: "keys:1", Person: "a@x"})}, answer: approve,
			by: auth.Principal{Tenant: "acme", Subject: "oidc:7", Person: "a@x", Roles: bob().Roles}, via: ViaAPI, reason: ReasonNotAllowed},
		{name: "four eyes, somebody without authentication", edits: []func(*Approval){fourEyes, requester(auth.Anonymous())}, answer: approve, by: as(auth.RoleAdmin), via: ViaAPI, reason: ReasonNotAllowed,
			words: []string{"a decider other"}},

		{name: "no role", answer: approve, by: auth.Principal{Tenant: "acme", Subject: "alice"}, reason: ReasonNotAllowed, words: []string{"no role"}},
		{name: "a role for something else", answer: approve, by: as("ops"), via: ViaAPI, reason: ReasonNotAllowed, words: []string{"no role"}},
		{name: "another requester", answer: approve, by: as(auth.RoleRequester), via: ViaAPI, reason: ReasonNotAllowed, words: []string{"no role"}},
		{name: "a viewer", answer: approve, by: as(auth.RoleViewer), via: ViaAPI, reason: ReasonNotAllowed},
		{name: "an operator", answer: approve, by: as(auth.RoleOperator), via: ViaAPI, reason: ReasonNotAllowed},
		{name: "an admin", answer: approve, by: as(auth.RoleAdmin), via: ViaAPI, reason: ReasonNotAllowed},
		{name: "an approver", answer: approve, by: as(auth.RoleApprover), via: ViaAPI},
		{name: "an approver of another tenant", answer: approve, by: auth.Principal{Tenant: "other", Subject: "carol", Roles: auth.Roles()}, via: ViaAPI, reason: ReasonNotAllowed},
		{name: "an approver without a tenant", edits: []func(*Approval){requester(auth.Principal{Subject: "x"})}, answer: approve, by: auth.Principal{Subject: "carol", Roles: auth.Roles()}, via: ViaAPI, reason: ReasonNotAllowed},
		{name: "the requester's own, without a tenant", edits: []func(*Approval){requester(auth.Principal{Subject: "x"})}, answer: approve, by: auth.Principal{Subject: "x", Roles: []string{auth.RoleRequester}}},
		{name: "anonymous, its own", edits: []func(*Approval){requester(auth.Anonymous())}, answer: approve, by: auth.Anonymous(), direct: true},
		{name: "an admin, of anonymous", edits: []func(*Approval){requester(auth.Anonymous())}, answer: approve, by: as(auth.RoleAdmin), via: ViaAPI, direct: true},
		{name: "an approver, of anonymous", edits: []func(*Approval){requester(auth.Anonymous())}, answer: approve, by: auth.Principal{Subject: "carol", Roles: []string{auth.RoleApprover, auth.RoleRequester}}, via: ViaAPI, reason: ReasonNotAllowed},
		{name: "not UTF-8", answer: approve, by: auth.Principal{Tenant: "acme", Subject: "\xff", Roles: auth.Roles()}, via: ViaAPI, reason: ReasonNotAllowed},
		{name: "a provider has no role", answer: approve, by: auth.Principal{Tenant: "acme", Subject: "program"}, via: ViaProvider, direct: true},

		{name: "a person", answer: approve, by: alice(), direct: true},
		{name: "a service", answer: approve, by: service(alice()), direct: true, reason: ReasonNotAllowed, words: []string{"delegated_decisions", "person"}},
		{name: "a service, over the API", answer: approve, by: service(bob()), via: ViaAPI, direct: true, reason: ReasonNotAllowed, words: []string{"delegated_decisions"}},
		{name: "a service rejects", answer: Decision{Type: Reject}, by: service(alice()), direct: true, reason: ReasonNotAllowed},
		{name: "a service that may", answer: approve, by: service(alice())},
		{name: "an agent for the requester", answer: approve, by: acts("alice", "agent"), direct: true, reason: ReasonNotAllowed, words: []string{"delegated_decisions"}},
		{name: "an agent that may", answer: approve, by: acts("alice", "agent")},

		{name: "approvers, by role", edits: []func(*Approval){only(Approvers{Roles: []string{"legal", "sre"}})}, answer: approve, by: as(auth.RoleApprover, "sre"), via: ViaAPI},
		{name: "approvers, by subject", edits: []func(*Approval){only(Approvers{Subjects: []string{"bob"}})}, answer: approve, by: bob(), via: ViaAPI},
		{name: "approvers, by tenant and subject", edits: []func(*Approval){only(Approvers{Subjects: []string{"acme/bob"}})}, answer: approve, by: bob(), via: ViaAPI},
		{name: "approvers, of another tenant", edits: []func(*Approval){only(Approvers{Subjects: []string{"evil/bob"}})}, answer: approve, by: bob(), via: ViaAPI, reason: ReasonNotAllowed},
		{name: "approvers, neither", edits: []func(*Approval){only(Approvers{Roles: []string{"sre"}, Subjects: []string{"carol"}})}, answer: approve, by: bob(), via: ViaAPI, reason: ReasonNotAllowed,
			words: []string{`"big"`, "approvers"}},
		{name: "approvers, nobody", edits: []func(*Approval){only(Approvers{})}, answer: approve, by: bob(), via: ViaAPI, reason: ReasonNotAllowed},
		{name: "approvers still need the right to decide", edits: []func(*Approval){only(Approvers{Roles: []string{"sre"}})}, answer: approve, by: as("sre"), via: ViaAPI, reason: ReasonNotAllowed, words: []string{"no role"}},
		{name: "approvers, the requester is none", edits: []func(*Approval){only(Approvers{Roles: []string{"sre"}})}, answer: approve, by: alice(), reason: ReasonNotAllowed, words: []string{"a2a-server approvals"}},
		{name: "approvers, the requester is one", edits: []func(*Approval){only(Approvers{Subjects: []string{"alice"}})}, answer: approve, by: alice()},
		{name: "approvers, the requester has lost the role since", edits: []func(*Approval){only(Approvers{Roles: []string{"sre"}}), requester(auth.Principal{Tenant: "acme", Subject: "alice", Roles: []string{"sre"}})}, answer: approve, by: alice(), reason: ReasonNotAllowed,
			words: []string{"approvers"}},
		{name: "approvers and four eyes", edits: []func(*Approval){terms(Terms{Gate: "big", FourEyes: true, Approvers: &Approvers{Subjects: []string{"alice"}}})}, answer: approve, by: alice(), via: ViaAPI, reason: ReasonNotAllowed, words: []string{"a decider other"}},
		{name: "approvers, a provider", edits: []func(*Approval){only(Approvers{Roles: []string{"sre"}})}, answer: approve, by: auth.Principal{Tenant: "acme", Subject: "program"}, via: ViaProvider, reason: ReasonNotAllowed},
		{name: "four eyes are not the client's", edits: []func(*Approval){fourEyes}, answer: approve, by: bob(), reason: ReasonNotAllowed, words: []string{"a2a-server approvals"}},
		{name: "elsewhere over A2A", edits: []func(*Approval){terms(Terms{Gate: "r", Elsewhere: true})}, answer: approve, by: bob(), reason: ReasonNotAllowed},
		{name: "elsewhere over the API", edits: []func(*Approval){terms(Terms{Gate: "r", Elsewhere: true})}, answer: approve, by: bob(), via: ViaAPI},
		{name: "auth is answered elsewhere", edits: []func(*Approval){kind(KindQuestion), askKind("auth")}, answer: Decision{Type: Respond, Response: json.RawMessage(`1`)}, by: bob(), reason: ReasonNotAllowed},
		{name: "no way to answer", answer: approve, by: alice(), via: ViaSystem, reason: ReasonNotAllowed, words: []string{"system"}},

		{name: "edit without arguments", answer: Decision{Type: Edit}, by: alice(), reason: ReasonMalformed, words: []string{"args", "missing"}},
		{name: "edit with a list", answer: Decision{Type: Edit, Args: json.RawMessage(`[]`)}, by: alice(), reason: ReasonMalformed, words: []string{"want an object"}},
		{name: "edit with nothing but space", answer: Decision{Type: Edit, Args: json.RawMessage(` `)}, by: alice(), reason: ReasonMalformed},
		{name: "edit with a name twice", answer: Decision{Type: Edit, Args: json.RawMessage(`{"a":{"b":1,"b":2}}`)}, by: alice(), reason: ReasonMalformed, words: []string{"args/a/b"}},
		{name: "edit beyond the limit", answer: Decision{Type: Edit, Args: json.RawMessage(`{"a":"` + strings.Repeat("x", MaxJSON) + `"}`)}, by: alice(), reason: ReasonMalformed},
		{name: "approve with arguments that would not run", answer: Decision{Type: Approve, Args: json.RawMessage(`{"to":"y"}`)}, by: alice(), reason: ReasonMalformed,
			words: []string{"belongs to edit"}},
		{name: "reject with a response", answer: Decision{Type: Reject, Response: json.RawMessage(`1`)}, by: alice(), reason: ReasonMalformed},

		{name: "respond to a question", edits: []func(*Approval){kind(KindQuestion)}, answer: Decision{Type: Respond, Response: json.RawMessage(`"blue"`)}, by: alice()},
		{name: "respond with a result", edits: []func(*Approval){kind(KindOutcome)}, answer: Decision{Type: Respond, Response: json.RawMessage(`{"ok":true}`)}, by: alice()},
		{name: "respond with nothing", edits: []func(*Approval){kind(KindQuestion)}, answer: Decision{Type: Respond}, by: alice(), reason: ReasonMalformed},
		{name: "respond with broken JSON", edits: []func(*Approval){kind(KindQuestion)}, answer: Decision{Type: Respond, Response: json.RawMessage(`{`)}, by: alice(), reason: ReasonMalformed},
		{name: "respond as the schema wants", edits: []func(*Approval){kind(KindQuestion), schema(name)}, answer: Decision{Type: Respond, Response: json.RawMessage(`{"name":"n"}`)}, by: alice()},
		{name: "respond against the schema", edits: []func(*Approval){kind(KindQuestion), schema(name)}, answer: Decision{Type: Respond, Response: json.RawMessage(`{"name":1}`)}, by: alice(),
			reason: ReasonMalformed, words: []string{"response/name"}},
		{name: "schema that is no object", edits: []func(*Approval){kind(KindQuestion), schema(`[]`)}, answer: Decision{Type: Respond, Response: json.RawMessage(`1`)}, by: alice(), reason: ReasonMalformed},
		{name: "schema that is none", edits: []func(*Approval){kind(KindQuestion), schema(`{"type":7}`)}, answer: Decision{Type: Respond, Response: json.RawMessage(`1`)}, by: alice(), reason: ReasonMalformed},

		{name: "longest reason", answer: Decision{Type: Reject, Reason: strings.Repeat("x", MaxReason)}, by: alice()},
		{name: "reason too long", answer: Decision{Type: Reject, Reason: strings.Repeat("x", MaxReason+1)}, by: alice(), reason: ReasonMalformed, words: []string{"4097", "4096"}},
		{name: "reason that is no text", answer: Decision{Type: Reject, Reason: "\xff"}, by: alice(), reason: ReasonMalformed},
		{name: "payload that is no JSON", edits: []func(*Approval){takesPayload}, answer: Decision{Type: Approve, Payload: json.RawMessage(`{]`)}, by: alice(), reason: ReasonMalformed, words: []string{"payload"}},
		{name: "payload too long", edits: []func(*Approval){takesPayload}, answer: Decision{Type: Approve, Payload: json.RawMessage(`"` + strings.Repeat("x", MaxJSON) + `"`)}, by: alice(), reason: ReasonMalformed},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			via := tc.via
			if via == "" {
				via = ViaA2A
			}
			a := pending("t.a1", tc.edits...)
			wantError(t, a.Check(tc.answer, Decider{By: tc.by, Via: via, Delegated: !tc.direct}, now), tc.reason, tc.words...)
		})
	}
}

func TestCheckListsAllViolations(t *testing.T) {
	t.Parallel()
	err := pending("t.a1").Check(Decision{Type: Edit, Response: json.RawMessage(`1`), Reason: "\xff"}, Decider{By: alice(), Via: ViaA2A}, asked())
	e, ok := err.(*Error) //nolint:errorlint // the contract is this very type
	if !ok {
		t.Fatalf("Check() = %v, want an *Error", err)
	}
	var fields []string
	for _, v := range e.Violations {
		fields = append(fields, v.Field)
	}
	if diff := cmp.Diff([]string{"reason", "args", "response"}, fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestAllowedDecisions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		edits []func(*Approval)
		want  []DecisionType
	}{
		{"call", nil, []DecisionType{Approve, Edit, Reject, Cancel}},
		{"outcome", []func(*Approval){kind(KindOutcome)}, []DecisionType{Approve, Respond, Reject, Cancel}},
		{"question", []func(*Approval){kind(KindQuestion)}, []DecisionType{Respond, Reject, Cancel}},
		{"confirm", []func(*Approval){askKind(askConfirm)}, []DecisionType{Approve, Reject, Cancel}},
		{"narrowed", []func(*Approval){terms(Terms{Allowed: []DecisionType{Cancel, Edit, Respond}})}, []DecisionType{Edit, Cancel}},
		{"narrowed to none", []func(*Approval){terms(Terms{Allowed: []DecisionType{}})}, []DecisionType{}},
		{"no such kind", []func(*Approval){kind("")}, nil},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, pending("t.a1", tc.edits...).Decisions()); diff != "" {
				t.Errorf("Verbs() (-want +got):\n%s", diff)
			}
		})
	}
}

// An escalation adds deciders to the gates that set it: not to other gates, not another way to
// decide, and no right to decide.
func TestEscalation(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, PolicyConfig{Gates: []Gate{
		{Tool: "pay", Terms: Terms{Approvers: &Approvers{Roles: []string{"finance"}}, Escalate: Escalation{After: time.Hour, AddRoles: []string{"treasury"}}}},
		{Tool: "*", Name: "law", Terms: Terms{Approvers: &Approvers{Roles: []string{"legal"}}}},
	}})
	f := fakeTool{name: "pay", static: true}
	person := func(name string, roles ...string) auth.Principal {
		return auth.Principal{Tenant: "acme", Subject: name, Roles: roles, Method: "test"}
	}
	a := &Approval{V: 2, ID: "t.a1", Kind: KindCall, State: Pending, Digest: "d", Terms: p.Judge(nil, &f, nil).Terms, Requester: person("alice", auth.RoleRequester, "treasury"), Asked: asked()}
	barred := func(by auth.Principal, via string) string {
		if err := a.Check(Decision{Type: Approve}, Decider{By: by, Via: via}, asked()); err != nil {
			var as *Error
			if !errors.As(err, &as) {
				t.Fatal(err)
			}
			return as.Barred
		}
		return ""
	}
	tara := person("tara", auth.RoleApprover, "treasury")
	if got := barred(tara, ViaAPI); got != BarredApprovers {
		t.Errorf("before the escalation, tara is barred as %q", got)
	}
	at := a.EscalateAt()
	if a.Escalated = &at; !a.EscalateAt().IsZero() || !at.Equal(asked().Add(time.Hour)) {
		t.Errorf("the escalation is due at %s, and then at %s", at, a.EscalateAt())
	}
	for name, tt := range map[string]struct {
		by        auth.Principal
		via, want string
	}{
		"an added role":                  {tara, ViaAPI, ""},
		"without the right":              {person("tim", auth.RoleRequester, "treasury"), ViaAPI, BarredRole},
		"another role":                   {person("otto", auth.RoleApprover, "sales"), ViaAPI, BarredApprovers},
		"the approvers":                  {person("fay", auth.RoleApprover, "finance"), ViaAPI, ""},
		"the client, with an added role": {a.Requester, ViaA2A, ""},
	} {
		if got := barred(tt.by, tt.via); got != tt.want {
			t.Errorf("%s: barred as %q, want %q", name, got, tt.want)
		}
	}
	if v := a.NewVote(Decider{By: tara, Via: ViaAPI}, "d", nil, "", asked()); !slices.Equal(v.Meets, []int{0}) {
		t.Errorf("the vote of tara meets the needs %v, want that of the gate that adds the role", v.Meets)
	}
	a.Votes = []Vote{a.NewVote(Decider{By: tara, Via: ViaAPI}, "d", nil, "", asked())}
	if got := a.Tally().String(); got != "1 of 2: tara; missing: 1 of role legal" {
		t.Errorf("Tally() = %q", got)
	}
}

// The author of an edit is known by all that their credential says: with another login, of which
// nothing says whose it is, nobody approves it.
func TestEditorWithAnotherLogin(t *testing.T) {
	t.Parallel()
	requester := auth.Principal{Tenant: "acme", Subject: "corp:alice", Person: "alice", Method: "oidc"}
	editor := auth.Principal{Tenant: "acme", Subject: "key:bob", Person: "bob", Method: "api_key"}
	again := auth.Principal{Tenant: "acme", Subject: "corp:b0b", Roles: []string{auth.RoleApprover}, Method: "oidc"} // of bob, too, perhaps
	a := pending("t.a2", terms(Terms{Gate: "big", FourEyes: true}))
	a.Requester, a.Editors = requester.With(editor), []auth.Principal{editor}
	err := a.Check(Decision{Type: Approve}, Decider{By: again, Via: ViaAPI}, asked())
	if said, is := errors.AsType[*Error](err); !is || said.Barred != BarredPerson {
		t.Errorf("a login that may be the editor's approves the edit: %v", err)
	}
}
