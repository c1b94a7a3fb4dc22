package approval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/auth"
)

// regional are approvers of finance, each for the regions whose role they have.
func regional() *Approvers {
	return &Approvers{Roles: []string{"finance"}, When: "args.region in decider.roles"}
}

func approver(name string, roles ...string) Decider {
	return Decider{By: auth.Principal{Tenant: "acme", Subject: name, Roles: append(roles, auth.RoleApprover), Method: "test"}, Via: ViaAPI}
}

// payment returns the approval of a payment as the policy of gates asks for it.
func payment(t *testing.T, args string, gates ...Gate) *Approval {
	t.Helper()
	var decoded map[string]any
	if err := json.Unmarshal([]byte(args), &decoded); err != nil {
		t.Fatal(err)
	}
	v := newPolicy(t, PolicyConfig{Gates: gates}).Judge(nil, &fakeTool{name: "pay"}, decoded)
	return &Approval{ID: "t.a1", Kind: KindCall, State: Pending, Tool: "pay", Agent: "desk", Digest: "d", Args: json.RawMessage(args), Terms: v.Terms, Requester: alice(), Asked: asked()}
}

// Whether a person may decide depends on the arguments of the call; a condition that fails is not
// true, and is told to nobody.
func TestApproversWhen(t *testing.T) {
	t.Parallel()
	const emea, apac, where = `{"region":"emea"}`, `{"region":"apac"}`, "args.region in decider.roles"
	const refused, edited = `it (gate "gate:pay") is for its approvers (role finance for whom ` + where + "); have one of them answer", `the edited call (gate "gate:pay") is for`
	bob, carl := approver("bob", "finance", "emea"), approver("carl", "finance", "apac")
	for name, tt := range map[string]struct {
		when, args string
		by         Decider
		edit       string // arguments; "": approve
		want       string // words of the refusal; "": none
	}{
		"true":                         {where, emea, bob, "", ""},
		"false":                        {where, emea, carl, "", refused},
		"true, without the role":       {where, emea, approver("dora", "emea"), "", refused},
		"fails":                        {where, `{}`, bob, "", refused},
		"fails for the type":           {where, `{"region":["emea"]}`, bob, "", refused},
		"fails for the type, in ?:":    {`args.region == "emea" ? "legal" in decider.roles : true`, `{"region":["emea"]}`, bob, "", "for whom"},
		"the call cannot be read":      {where, `{"region":"emea","region":"apac"}`, bob, "", refused},
		"too long":                     {"args.list.all(x, x == 'z')", `{"list":["` + strings.Repeat(`z","`, 6000) + `z"]}`, bob, "", "for whom"},
		"it cannot be compiled":        {"args.new()", emea, bob, "", "for whom"},
		"without arguments":            {"decider.subject == 'bob' && caller.subject == 'alice' && agent == 'desk' && tool == 'pay'", ` `, bob, "", ""},
		"edit, in the region":          {where, emea, bob, `{"region":"emea","amount":5}`, ""},
		"edit, to another":             {where, emea, bob, apac, edited},
		"edit, so that it fails":       {where, emea, bob, `{}`, edited},
		"edit, to the own region":      {where, emea, carl, apac, refused},
		"edit, by one for all of them": {where, emea, approver("fay", "finance", "emea", "apac"), apac, ""},
	} {
		a := payment(t, emea, Gate{Tool: "pay", Terms: Terms{Approvers: regional()}})
		a.Terms.Approvers.When, a.Args = tt.when, json.RawMessage(tt.args)
		ans := Decision{Type: Approve}
		if tt.edit != "" {
			ans = Decision{Type: Edit, Args: json.RawMessage(tt.edit)}
		} else if permitted := a.Permits(tt.by, asked()); (permitted == nil) != (tt.want == "") {
			t.Errorf("%s: Permits() = %v, want as Check", name, permitted)
		}
		if err := a.Check(ans, tt.by, asked()); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Check() = %v, want %q", name, err, tt.want)
		}
	}
	if own := payment(t, emea, Gate{Tool: "pay", Terms: Terms{Approvers: regional()}}); !own.Elsewhere() {
		t.Error("the requester may not decide, and the client is asked all the same")
	} else if own.Requester.Roles = []string{"finance", "emea", auth.RoleRequester}; own.Elsewhere() {
		t.Error("the requester may decide, and the client is not asked")
	}
}

// Each gate keeps its condition with its need, also after an escalation, and a vote counts for the
// needs whose condition is true about the arguments that it is for.
func TestVotesWhen(t *testing.T) {
	t.Parallel()
	other, anybody := &Approvers{Roles: []string{"finance"}, When: "decider.subject != 'bob'"}, &Approvers{Roles: []string{"finance"}, When: "true"}
	a := payment(t, `{"region":"emea"}`, Gate{Tool: "pay", Name: "region", Terms: Terms{Approvers: regional(), Escalate: Escalation{After: time.Hour, AddRoles: []string{"treasury"}}}},
		Gate{Tool: "*", Name: "other", Terms: Terms{Approvers: other}}, Gate{Tool: "p*", Name: "any", Terms: Terms{Approvers: anybody}})
	first := regional()
	first.Escalated = []string{"treasury"}
	if diff := cmp.Diff([]Need{{"region", 1, first}, {"other", 1, other}, {"any", 1, anybody}}, a.Terms.Needs); diff != "" {
		t.Fatalf("needs (-want +got):\n%s", diff)
	}
	meets := func(name, region string, roles ...string) string {
		return fmt.Sprint(a.NewVote(approver(name, roles...), "d", json.RawMessage(`{"region":"`+region+`"}`), "", asked()).Meets)
	}
	bob, fay, gone := meets("bob", "emea", "finance", "emea"), meets("fay", "emea", "finance", "emea"), meets("fay", "apac", "finance", "emea")
	if bob != "[0 2]" || fay != "[0 1 2]" || gone != "[1 2]" {
		t.Errorf("the votes meet %s of bob, %s of fay, %s of fay for the edited call", bob, fay, gone)
	}
	a.Votes = []Vote{a.NewVote(approver("bob", "finance", "emea"), "d", a.Args, "", asked())}
	if got := a.Tally().String(); got != "1 of 2: bob; missing: 1 of role finance for whom decider.subject != 'bob'" {
		t.Errorf("Tally() = %q", got)
	}
	wantError(t, a.Check(Decision{Type: Approve}, approver("tara", "treasury", "emea"), asked()), ReasonNotAllowed)
	wantError(t, a.Check(Decision{Type: Approve}, approver("gus", "finance"), asked()), "") // for the other need
	now := asked()
	if a.Escalated = &now; meets("tara", "emea", "treasury", "emea") != "[0]" || meets("tara", "apac", "treasury", "emea") != "[]" {
		t.Error("an escalation adds a role without the condition, or not at all")
	}
}

// A condition is a part of the terms: a grant is for the calls of the same condition.
func TestTermsWhen(t *testing.T) {
	t.Parallel()
	terms := func(when string) Terms {
		return payment(t, `{}`, Gate{Tool: "pay", Terms: Terms{Approvers: &Approvers{Roles: []string{"finance"}, When: when}, Grants: &GrantTerms{Scopes: GrantScopes()}}}).Terms
	}
	key := func(when string) string {
		k, err := (&Verdict{Action: ActionAsk, Terms: terms(when)}).GrantKey(&Approval{Tool: "pay"}, nil, nil)
		if err != nil || k == "" {
			t.Fatalf("GrantKey() = %q, %v", k, err)
		}
		return k
	}
	granting := Terms{Grants: &GrantTerms{Scopes: []GrantScope{GrantContext}, Uses: 5, Vary: []string{"/to"}}}
	if all := granting.Words(); !slices.Contains(all, "grants: context for at most 24h, 5 uses, any /to") {
		t.Errorf("grants in words: %q", all)
	}
	if one := terms("true"); one.Same(terms("false")) || key("true") == key("false") || !slices.Contains(one.Words(), "approvers: role finance for whom true") {
		t.Errorf("the terms are %+v: %q", one, one.Words())
	}
}
