package approval

import (
	"encoding/json"
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
	long := `{"region":"emea","list":["` + strings.Repeat(`z","`, 6000) + `z"]}`
	const refusal = `it (rule "gate:pay") is for its approvers (role finance for whom `
	for name, tt := range map[string]struct {
		when, args string // "": those of regional
		by         Decider
		edit       string // arguments; "": approve
		want       string // words of the refusal; "": none
	}{
		"true":                         {by: approver("bob", "finance", "emea")},
		"false":                        {by: approver("carl", "finance", "apac"), want: refusal + "args.region in decider.roles); have one of them answer"},
		"true, without the role":       {by: approver("dora", "emea"), want: refusal},
		"true, without the right":      {by: Decider{By: auth.Principal{Tenant: "acme", Subject: "eve", Roles: []string{"finance", "emea"}}, Via: ViaAPI}, want: "no role"},
		"fails":                        {args: `{}`, by: approver("bob", "finance", "emea"), want: refusal + "args.region in decider.roles); have one of them answer"},
		"fails for the type":           {args: `{"region":["emea"]}`, by: approver("bob", "finance", "emea"), want: refusal},
		"too long":                     {when: "args.list.all(x, x == 'z')", args: long, by: approver("bob", "finance"), want: refusal},
		"the call cannot be read":      {args: `{"region":"emea","region":"apac"}`, by: approver("bob", "finance", "emea"), want: refusal},
		"without arguments":            {when: "decider.subject == 'bob' && caller.subject == 'alice' && agent == 'desk' && tool == 'pay'", args: ` `, by: approver("bob", "finance")},
		"edit, in the region":          {by: approver("bob", "finance", "emea"), edit: `{"region":"emea","amount":5}`},
		"edit, to another":             {by: approver("bob", "finance", "emea"), edit: `{"region":"apac"}`, want: `the edited call (rule "gate:pay") is for its approvers`},
		"edit, so that it fails":       {by: approver("bob", "finance", "emea"), edit: `{}`, want: "the edited call"},
		"edit, to the own region":      {by: approver("carl", "finance", "apac"), edit: `{"region":"apac"}`, want: refusal},
		"edit, by one for all of them": {by: approver("fay", "finance", "emea", "apac"), edit: `{"region":"apac"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			who := regional()
			if tt.when != "" {
				who.When = tt.when
			}
			a := payment(t, `{"region":"emea"}`, Gate{Tool: "pay", Terms: Terms{Approvers: who}})
			if tt.args != "" {
				a.Args = json.RawMessage(tt.args)
			}
			ans, permitted := Decision{Type: Approve}, a.Permits(tt.by, asked())
			if tt.edit != "" {
				ans = Decision{Type: Edit, Args: json.RawMessage(tt.edit)}
			} else if (permitted == nil) != (tt.want == "") {
				t.Errorf("Permits() = %v, want as Check", permitted)
			}
			err := a.Check(ans, tt.by, asked())
			if tt.want == "" {
				wantError(t, err, "")
			} else {
				wantError(t, err, ReasonNotAllowed, tt.want)
			}
		})
	}
	own := payment(t, `{"region":"emea"}`, Gate{Tool: "pay", Terms: Terms{Approvers: regional()}})
	if !own.Elsewhere() || own.AuthRequired() {
		t.Error("the requester may not decide, and the client is asked all the same")
	}
	if own.Requester.Roles = []string{"finance", "emea", auth.RoleRequester}; own.Elsewhere() {
		t.Error("the requester may decide, and the client is not asked")
	}
}

// Each gate keeps its condition with its need, also after an escalation, and a vote counts for the
// needs whose condition is true about the arguments that it is for.
func TestVotesWhen(t *testing.T) {
	t.Parallel()
	large := &Approvers{Roles: []string{"finance"}, When: "decider.subject != 'bob'"}
	a := payment(t, `{"region":"emea"}`, Gate{Tool: "pay", Name: "region", Terms: Terms{Approvers: regional(), Escalate: Escalation{After: time.Hour, AddRoles: []string{"treasury"}}}},
		Gate{Tool: "*", Name: "large", Terms: Terms{Approvers: large}}, Gate{Tool: "p*", Name: "again", Terms: Terms{Approvers: large}})
	first := regional()
	first.Escalated = []string{"treasury"}
	if diff := cmp.Diff([]Need{{"region", 1, first}, {"large", 1, large}}, a.Terms.Needs); diff != "" {
		t.Fatalf("needs (-want +got):\n%s", diff)
	}
	meets := func(d Decider, args string) []int { return a.NewVote(d, "d", json.RawMessage(args), "", asked()).Meets }
	bob, fay, tara := approver("bob", "finance", "emea"), approver("fay", "finance", "emea"), approver("tara", "treasury", "emea")
	if got := meets(bob, `{"region":"emea"}`); !slices.Equal(got, []int{0}) {
		t.Errorf("bob meets %v", got)
	}
	if got := meets(fay, `{"region":"emea"}`); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("fay meets %v", got)
	}
	if got := meets(fay, `{"region":"apac"}`); !slices.Equal(got, []int{1}) {
		t.Errorf("fay meets %v of the edited call", got)
	}
	wantError(t, a.Check(Decision{Type: Edit, Args: json.RawMessage(`{"region":"apac"}`)}, bob, asked()), ReasonNotAllowed, "the edited call")
	a.Votes = []Vote{a.NewVote(bob, "d", a.Args, "", asked())}
	if got := a.Tally().String(); got != "1 of 2: bob; missing: 1 of role finance for whom decider.subject != 'bob'" {
		t.Errorf("Tally() = %q", got)
	}
	wantError(t, a.Check(Decision{Type: Approve}, tara, asked()), ReasonNotAllowed)
	wantError(t, a.Check(Decision{Type: Approve}, approver("gus", "finance"), asked()), "") // for the second need
	now := asked()
	if a.Escalated = &now; !slices.Equal(meets(tara, `{"region":"emea"}`), []int{0}) || len(meets(tara, `{"region":"apac"}`)) > 0 {
		t.Error("an escalation adds a role without the condition, or not at all")
	}
}

// A condition is a part of the terms: an earlier program refuses the approval, other conditions are
// other terms, and no grant goes further than its maker may decide.
func TestTermsWhen(t *testing.T) {
	t.Parallel()
	gate := Gate{Tool: "pay", Terms: Terms{Approvers: regional(), Grants: &GrantTerms{Scopes: GrantScopes(), Vary: []string{"/region"}}}}
	a := payment(t, `{"region":"emea"}`, gate)
	gate.Terms.Approvers = &Approvers{Roles: []string{"finance"}, When: "true"}
	b := payment(t, `{"region":"emea"}`, gate)
	if !a.Terms.Strict() || a.Terms.Same(b.Terms) || !slices.Contains(a.Terms.Words(), "approvers: role finance for whom args.region in decider.roles") {
		t.Errorf("the terms are %+v: %q", a.Terms, a.Terms.Words())
	}
	call := func(terms Terms, region string) *GrantedCall {
		return &GrantedCall{Tool: "pay", Verdict: &Verdict{Action: ActionAsk, Terms: terms}, Args: map[string]any{"region": region}}
	}
	key := func(c *GrantedCall) string {
		k, err := GrantKey(c)
		if err != nil || k == "" {
			t.Fatalf("GrantKey() = %q, %v", k, err)
		}
		return k
	}
	if key(call(a.Terms, "emea")) == key(call(b.Terms, "emea")) || key(call(a.Terms, "emea")) != key(call(a.Terms, "apac")) {
		t.Error("the key of grants is not of the condition, or of what may vary")
	}
	if bob := approver("bob", "finance", "emea").By; !call(a.Terms, "emea").DecidableBy(bob) || call(a.Terms, "apac").DecidableBy(bob) || !call(Terms{}, "apac").DecidableBy(bob) {
		t.Error("a grant goes further than its maker may decide, or less far")
	}
	for when, want := range map[string]string{"args.region in decider.regions": "Approvers.When: there is no", "decider.roles": "not true or false"} {
		if _, err := NewPolicy(PolicyConfig{Gates: []Gate{{Tool: "pay", Terms: Terms{Approvers: &Approvers{Roles: []string{"a"}, When: when}}}}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("NewPolicy(%s) = %v, want %q", when, err, want)
		}
	}
}
