package approval

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"a2a-server/auth"
	"a2a-server/tool"
)

// The state in which a task waits is no demand: a gate that changes it is no stricter.
func TestWaitingStateIsNoDemand(t *testing.T) {
	t.Parallel()
	input, working := Terms{FourEyes: true, WaitingState: WaitsInput}, Terms{FourEyes: true, WaitingState: WaitsWorking}
	if more := input.Beyond(working); len(more) > 0 || !input.Same(working) {
		t.Errorf("a gate of another waiting state demands %q, and the same: %t", more, input.Same(working))
	}
}

// The terms of a call are what all gates that ask demand together; the name and the question
// are those of the first.
func TestGatesThatAskTogether(t *testing.T) {
	t.Parallel()
	sre, legal := &Approvers{Roles: []string{"sre"}}, &Approvers{Roles: []string{"legal"}, Subjects: []string{"key:dora"}}
	failing := when(false, errors.New("boom"))
	strict := Terms{Expires: time.Hour, FourEyes: true, Elsewhere: true, WaitingState: WaitsAuth, Destructive: true, NoText: true, CancelsTask: true, Approvers: legal}
	for name, tc := range map[string]struct {
		gates    []Gate
		defaults Terms
		tool     fakeTool
		want     Terms // but for the rule
	}{
		"a broad gate that demands more than the narrow one": {
			gates: []Gate{{Tool: "*", Terms: Terms{FourEyes: true, Elsewhere: true, WaitingState: WaitsAuth, Destructive: true, NoText: true, CancelsTask: true}}, {Tool: "pay"}},
			want:  Terms{FourEyes: true, Elsewhere: true, WaitingState: WaitsAuth, Destructive: true, NoText: true, CancelsTask: true},
		},
		"each demands something": {
			gates: []Gate{{Tool: "pay", Terms: Terms{NoText: true}}, {Name: "2", Tool: "pay", Terms: Terms{CancelsTask: true}}, {Tool: "p*", Terms: Terms{FourEyes: true}}},
			want:  Terms{NoText: true, CancelsTask: true, FourEyes: true},
		},
		"its own, beside the defaults": {
			gates:    []Gate{{Tool: "pay", Terms: Terms{Expires: time.Minute, OnExpiry: ExpiryCancels, Allowed: []DecisionType{Edit}, FourEyes: true, CancelsTask: true}}},
			defaults: Terms{Gate: "unused", Expires: time.Hour, OnExpiry: ExpiryKeeps, Allowed: []DecisionType{Approve, Reject}, NoText: true},
			want:     Terms{Expires: time.Minute, OnExpiry: ExpiryCancels, Allowed: []DecisionType{Edit}, FourEyes: true, CancelsTask: true, NoText: true},
		},
		"the defaults, for a gate":              {gates: []Gate{{Tool: "pay"}}, defaults: strict, want: strict},
		"the defaults, for the tool's own gate": {defaults: strict, tool: fakeTool{static: true}, want: strict},
		"a gate beside the tool's own": {
			gates: []Gate{{Tool: "*", Terms: Terms{FourEyes: true}}}, tool: fakeTool{static: true}, want: Terms{FourEyes: true},
		},
		"a gate that is about another tool, or another call": {
			gates: []Gate{{Tool: "pay"}, {Tool: "mail*", Terms: Terms{FourEyes: true}}, {Tool: "*", When: when(false, nil), Terms: Terms{FourEyes: true}}},
		},
		"a gate whose condition fails": {
			gates: []Gate{{Tool: "pay"}, {Tool: "*", When: failing, Terms: Terms{FourEyes: true, Approvers: sre}}},
			want:  Terms{FourEyes: true, Approvers: sre},
		},
		"a gate that allows, whose condition fails": {
			gates: []Gate{{Tool: "pay", Action: ActionAllow, When: failing, Terms: Terms{FourEyes: true}}}, tool: fakeTool{static: true}, want: Terms{FourEyes: true},
		},
		"a destructive tool": {
			gates: []Gate{{Tool: "pay"}, {Tool: "*"}}, tool: fakeTool{notes: func() tool.Annotations { return tool.Annotations{Destructive: true} }}, want: Terms{Destructive: true},
		},
		"approvers of one":  {gates: []Gate{{Tool: "pay"}, {Tool: "*", Terms: Terms{Approvers: sre}}}, want: Terms{Approvers: sre}},
		"approvers of each": {gates: []Gate{{Tool: "pay", Terms: Terms{Approvers: legal}}, {Tool: "*", Terms: Terms{Approvers: sre}}}, want: Terms{Needs: []Need{{"gate:pay", 1, legal}, {"gate:*", 1, sre}}}},
		"the same approvers": {
			gates: []Gate{{Tool: "pay", Terms: Terms{Approvers: sre}}, {Tool: "p*", Terms: Terms{Approvers: legal}}, {Tool: "*", Terms: Terms{Approvers: &Approvers{Roles: []string{"sre"}}}}},
			want:  Terms{Needs: []Need{{"gate:pay", 1, sre}, {"gate:p*", 1, legal}}},
		},
		"decisions that all allow": {
			gates: []Gate{{Tool: "pay", Terms: Terms{Allowed: []DecisionType{Approve, Edit, Reject}}}, {Tool: "*", Terms: Terms{Allowed: []DecisionType{Reject, Edit, Cancel}}}, {Tool: "p*"}},
			want:  Terms{Allowed: []DecisionType{Edit, Reject}},
		},
		"no decision that all allow": {
			gates: []Gate{{Tool: "pay", Terms: Terms{Allowed: []DecisionType{Approve, Respond}}}, {Tool: "*", Terms: Terms{Allowed: []DecisionType{Edit, Respond}}}},
			want:  Terms{Allowed: []DecisionType{Reject, Cancel}},
		},
		"the highest risk":               {gates: []Gate{{Tool: "pay", Terms: Terms{Risk: RiskMedium}}, {Tool: "p*", Terms: Terms{Risk: RiskHigh}}, {Tool: "*", Terms: Terms{Risk: RiskLow}}}, want: Terms{Risk: RiskHigh}},
		"a risk beside none":             {gates: []Gate{{Tool: "pay"}, {Tool: "*", Terms: Terms{Risk: RiskLow}}}, want: Terms{Risk: RiskLow}},
		"the default risk":               {gates: []Gate{{Tool: "pay", Terms: Terms{Risk: RiskLow}}, {Tool: "*"}}, defaults: Terms{Risk: RiskMedium}, want: Terms{Risk: RiskMedium}},
		"the mask alone of another call": {gates: []Gate{{Tool: "pay"}, {Tool: "*", When: when(false, nil), Terms: Terms{Risk: RiskHigh, Mask: []string{"/a"}, Notify: []string{"a"}}}}, want: Terms{Mask: []string{"/a"}}},
		"what any masks, and whom any notifies": {
			gates:    []Gate{{Tool: "pay", Terms: Terms{Mask: []string{"/c", "/b"}, Notify: []string{"ops", "cfo"}}}, {Tool: "*", Terms: Terms{Mask: []string{"/b", "/a"}, Notify: []string{"ops", "bob"}}}},
			defaults: Terms{Mask: []string{"/d"}, Notify: []string{"default"}},
			want:     Terms{Mask: []string{"/a", "/b", "/c", "/d"}, Notify: []string{"bob", "cfo", "ops"}},
		},
		"whom the defaults notify": {gates: []Gate{{Tool: "pay"}}, defaults: Terms{Notify: []string{"b", "a"}}, want: Terms{Notify: []string{"a", "b"}}},
		"the shortest time":        {gates: []Gate{{Tool: "pay", Terms: Terms{Expires: time.Hour}}, {Tool: "*", Terms: Terms{Expires: time.Minute}}, {Tool: "p*"}}, want: Terms{Expires: time.Minute}},
		"a time beside never":      {gates: []Gate{{Tool: "pay", Terms: Terms{Expires: -1}}, {Tool: "*", Terms: Terms{Expires: time.Minute}}}, want: Terms{Expires: time.Minute}},
		"the strictest end": {
			gates: []Gate{{Tool: "pay", Terms: Terms{Expires: time.Minute, OnExpiry: ExpiryKeeps}}, {Tool: "*", Terms: Terms{Expires: time.Hour, OnExpiry: ExpiryCancels}}},
			want:  Terms{Expires: time.Minute, OnExpiry: ExpiryCancels},
		},
		"keep beside a time that rejects": {
			gates: []Gate{{Tool: "pay", Terms: Terms{Expires: time.Minute, OnExpiry: ExpiryKeeps}}, {Tool: "*", Terms: Terms{Expires: time.Hour}}},
			want:  Terms{Expires: time.Minute},
		},
		"keep beside a gate without a time": {
			gates: []Gate{{Tool: "pay", Terms: Terms{Expires: time.Minute, OnExpiry: ExpiryKeeps}}, {Tool: "*"}},
			want:  Terms{Expires: time.Minute, OnExpiry: ExpiryKeeps},
		},
		"never beside the default time": {
			gates: []Gate{{Tool: "pay", Terms: Terms{Expires: -1}}, {Tool: "*"}}, defaults: Terms{Expires: time.Minute}, want: Terms{Expires: time.Minute},
		},
		"a long time beside the default one": {
			gates: []Gate{{Tool: "pay", Terms: Terms{Expires: time.Hour}}, {Tool: "*"}}, defaults: Terms{Expires: time.Minute}, want: Terms{Expires: time.Minute},
		},
		"keep beside the default end": {
			gates:    []Gate{{Tool: "pay", Terms: Terms{OnExpiry: ExpiryKeeps}}, {Tool: "*"}},
			defaults: Terms{Expires: time.Minute, OnExpiry: ExpiryCancels}, want: Terms{Expires: time.Minute, OnExpiry: ExpiryCancels},
		},
		"approvers beside the default ones": {
			gates: []Gate{{Tool: "pay", Terms: Terms{Approvers: legal}}, {Tool: "*"}}, defaults: Terms{Approvers: sre}, want: Terms{Needs: []Need{{"gate:pay", 1, legal}, {"gate:*", 1, sre}}},
		},
		"decisions beside the default ones": {
			gates:    []Gate{{Tool: "pay", Terms: Terms{Allowed: []DecisionType{Approve, Edit, Reject}}}, {Tool: "*"}},
			defaults: Terms{Allowed: []DecisionType{Approve, Reject}}, want: Terms{Allowed: []DecisionType{Approve, Reject}},
		},
		"never, for a tool that asks by itself": {
			gates: []Gate{{Tool: "pay", Terms: Terms{Expires: -1}}}, defaults: Terms{Expires: time.Minute, OnExpiry: ExpiryCancels}, tool: fakeTool{static: true},
			want: Terms{OnExpiry: ExpiryCancels},
		},
		"approvers, for a tool that asks by itself": {
			gates: []Gate{{Tool: "pay", Terms: Terms{Approvers: legal}}}, defaults: Terms{Approvers: sre}, tool: fakeTool{static: true},
			want: Terms{Needs: []Need{{"gate:pay", 1, legal}, {GateTool, 1, sre}}},
		},
		"several people":         {gates: []Gate{{Tool: "pay", Terms: Terms{People: 2}}, {Tool: "*"}}, want: Terms{Needs: []Need{{"gate:pay", 2, nil}}}},
		"several people of some": {gates: []Gate{{Tool: "pay", Terms: Terms{People: 2, Approvers: sre}}}, want: Terms{Approvers: sre, Needs: []Need{{"gate:pay", 2, sre}}}},
		"the most people": {
			gates: []Gate{{Tool: "pay", Terms: Terms{People: 2, Approvers: sre}}, {Tool: "*", Terms: Terms{People: 3, Approvers: sre, Human: true}}},
			want:  Terms{Approvers: sre, Needs: []Need{{"gate:*", 3, sre}}, Human: true},
		},
		"some people beside enough of others": {gates: []Gate{{Tool: "pay", Terms: Terms{People: 2}}, {Tool: "*", Terms: Terms{People: 2, Approvers: sre}}}, want: Terms{Approvers: sre, Needs: []Need{{"gate:*", 2, sre}}}},
		"more people than the others": {
			gates: []Gate{{Tool: "pay", Terms: Terms{People: 2}}, {Tool: "*", Terms: Terms{Approvers: sre}}},
			want:  Terms{Needs: []Need{{"gate:pay", 2, nil}, {"gate:*", 1, sre}}},
		},
		"the first reminder and escalation, for the gate that sets it": {
			gates: []Gate{
				{Tool: "pay", Terms: Terms{Approvers: legal, Remind: 4 * time.Hour, Escalate: Escalation{8 * time.Hour, []string{"a"}, []string{"treasury"}}}},
				{Tool: "*", Terms: Terms{Approvers: sre, Remind: 2 * time.Hour, Escalate: Escalation{9 * time.Hour, []string{"b"}, []string{"cfo"}}}},
			},
			want: Terms{
				Remind: 2 * time.Hour, Escalate: Escalation{8 * time.Hour, []string{"a"}, []string{"treasury"}},
				Needs: []Need{{"gate:pay", 1, &Approvers{Roles: legal.Roles, Subjects: legal.Subjects, Escalated: []string{"treasury"}}}, {"gate:*", 1, sre}},
			},
		},
		"escalations of one time": {
			gates: []Gate{
				{Tool: "pay", Terms: Terms{Approvers: sre, Escalate: Escalation{After: time.Hour, Notify: []string{"b"}, AddRoles: []string{"treasury"}}}},
				{Tool: "*", Terms: Terms{Escalate: Escalation{After: time.Hour, Notify: []string{"a"}}}},
			},
			want: Terms{
				Escalate:  Escalation{time.Hour, []string{"a", "b"}, []string{"treasury"}},
				Approvers: &Approvers{Roles: sre.Roles, Subjects: sre.Subjects, Escalated: []string{"treasury"}},
			},
		},
		"an escalation beside the same approvers without one": {
			gates: []Gate{{Tool: "pay", Terms: Terms{Approvers: sre, Escalate: Escalation{After: time.Hour, AddRoles: []string{"treasury"}}}}, {Tool: "*", Terms: Terms{Approvers: sre}}},
			want: Terms{
				Escalate: Escalation{After: time.Hour, AddRoles: []string{"treasury"}},
				Needs:    []Need{{"gate:pay", 1, &Approvers{Roles: sre.Roles, Subjects: sre.Subjects, Escalated: []string{"treasury"}}}, {"gate:*", 1, sre}},
			},
		},
		"the defaults, for what the gate leaves open": {
			gates:    []Gate{{Tool: "pay", Terms: Terms{Expires: 2 * time.Hour}}},
			defaults: Terms{Expires: time.Hour, OnExpiry: ExpiryKeeps, Approvers: sre, NoText: true}, tool: fakeTool{static: true},
			want: Terms{Expires: 2 * time.Hour, OnExpiry: ExpiryKeeps, Approvers: sre, NoText: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPolicy(t, PolicyConfig{Gates: tc.gates, Defaults: tc.defaults})
			f := tc.tool
			f.name = "pay"
			for range 2 { // what is done to the terms of an approval does not reach the policy
				v := p.Judge(nil, &f, nil)
				got := v.Terms
				got.Gate = ""
				if diff := cmp.Diff(tc.want, got); diff != "" || v.Action != ActionAsk {
					t.Fatalf("Judge() = %s, terms (-want +got):\n%s", v.Action, diff)
				}
				for i := range v.Terms.Allowed {
					v.Terms.Allowed[i] = Approve
				}
				for _, texts := range [][]string{v.Terms.Mask, v.Terms.Notify} {
					for i := range texts {
						texts[i] = "other"
					}
				}
				groups := []*Approvers{v.Terms.Approvers}
				for i := range v.Terms.Needs {
					groups = append(groups, v.Terms.Needs[i].Approvers)
				}
				for _, who := range groups {
					if who != nil {
						clear(who.Roles)
						clear(who.Subjects)
					}
				}
			}
		})
	}
}

// A demand that is on or off counts in whichever of several gates it stands, in the defaults, and beside
// the terms of before, and is said.
func TestDemandOfAnyGate(t *testing.T) {
	t.Parallel()
	for f := range reflect.TypeFor[Terms]().Fields() {
		if f.Type.Kind() != reflect.Bool {
			continue
		}
		var on Terms
		reflect.ValueOf(&on).Elem().FieldByIndex(f.Index).SetBool(true)
		first := newPolicy(t, PolicyConfig{Gates: []Gate{{Tool: "pay", Terms: on}, {Tool: "*"}}})
		second := newPolicy(t, PolicyConfig{Gates: []Gate{{Tool: "pay"}, {Tool: "*", Terms: on}}})
		defaults := newPolicy(t, PolicyConfig{Gates: []Gate{{Tool: "pay"}}, Defaults: on})
		judged := func(p *Policy) Terms { return p.Judge(nil, &fakeTool{name: "pay"}, nil).Terms }
		for where, terms := range map[string]Terms{
			"a gate": judged(first), "another gate": judged(second), "the defaults": judged(defaults),
			"the terms of before": on.Both(Terms{}), "the terms of now": Terms{}.Both(on),
		} {
			if !reflect.ValueOf(terms).FieldByIndex(f.Index).Bool() {
				t.Errorf("%s of %s is lost", f.Name, where)
			}
		}
		if len(on.Beyond(Terms{})) == 0 {
			t.Errorf("%s has no words", f.Name)
		}
	}
}

// A condition that fails counts as true for a gate that denies.
func TestConditionOfADenialThatFails(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, PolicyConfig{Gates: []Gate{{Tool: "pay"}, {Name: "never", Tool: "*", Action: ActionDeny, When: when(false, errors.New("boom")), Hint: "not today"}}})
	got := p.Judge(nil, &fakeTool{name: "pay"}, nil)
	want := `the gate "never" does not allow this call of "pay": not today; failed: the condition of gate "never"`
	if got.Action != ActionDeny || got.Reason != want || got.Failed == nil {
		t.Errorf("Judge() = %+v, want to deny because %s", got, want)
	}
}

var (
	answers    = []DecisionType{Approve, Edit, Reject, Cancel}
	groupNames = []string{"a", "b", "c"}
)

// drawPolicy returns a policy of some gates about pay, and each of the gates alone.
func drawPolicy(t *rapid.T) (all *Policy, each []*Policy, defaults Terms) {
	draw := func() Terms {
		terms := Terms{
			FourEyes: rapid.Bool().Draw(t, "four eyes"), Elsewhere: rapid.Bool().Draw(t, "elsewhere"),
			Expires:  rapid.SampledFrom([]time.Duration{0, -1, time.Minute, time.Hour}).Draw(t, "expires"),
			OnExpiry: rapid.SampledFrom([]OnExpiry{"", ExpiryKeeps, ExpiryRejects, ExpiryCancels}).Draw(t, "on expiry"),
			Allowed:  rapid.SliceOfNDistinct(rapid.SampledFrom(answers), 0, 4, rapid.ID).Draw(t, "allowed"),
			Risk:     rapid.SampledFrom([]Risk{"", "", RiskLow, RiskHigh}).Draw(t, "risk"),
			People:   rapid.IntRange(0, 2).Draw(t, "people"),
		}
		if len(terms.Allowed) == 0 {
			terms.Allowed = nil
		}
		if named := rapid.SliceOfNDistinct(rapid.SampledFrom(groupNames), 0, 2, rapid.ID).Draw(t, "approvers"); len(named) > 0 {
			terms.Approvers = &Approvers{Roles: named}
		}
		if after := rapid.SampledFrom([]time.Duration{0, time.Second, 30 * time.Second}).Draw(t, "escalates after"); after > 0 {
			terms.Escalate = Escalation{After: after, AddRoles: []string{rapid.SampledFrom(groupNames).Draw(t, "escalates to")}}
		}
		if scopes := rapid.SliceOfNDistinct(rapid.SampledFrom(GrantScopes()), 0, 3, rapid.ID).Draw(t, "grants"); len(scopes) > 0 {
			terms.Grants = &GrantTerms{Scopes: scopes, Max: rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "longest"), Uses: rapid.IntRange(0, 2).Draw(t, "uses")}
		}
		return terms
	}
	defaults = draw()
	defaults.Expires = max(0, defaults.Expires)
	policy := func(gates ...Gate) *Policy {
		p, err := NewPolicy(PolicyConfig{Gates: gates, Defaults: defaults})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	var gates []Gate
	for i := range rapid.IntRange(1, 4).Draw(t, "gates") {
		gates = append(gates, Gate{Name: fmt.Sprint("g", i), Tool: rapid.SampledFrom([]string{"pay", "p*", "*"}).Draw(t, "tool"), Terms: draw()})
		each = append(each, policy(gates[i]))
	}
	return policy(gates...), each, defaults
}

// noLooser checks that whoever may give an answer on all terms may give it on each of them alone, except that
// one of the approvers of any may vote and reject; and that a single vote that lets the call run would do so on
// each of them alone.
func noLooser(t *rapid.T, all Terms, each ...Terms) {
	by := bob()
	by.Roles = append([]string{auth.RoleRequester, auth.RoleApprover}, rapid.SliceOfDistinct(rapid.SampledFrom(groupNames), rapid.ID).Draw(t, "roles")...)
	if rapid.Bool().Draw(t, "the requester") {
		by.Subject = alice().Subject
	}
	decider := Decider{By: by, Via: rapid.SampledFrom([]string{ViaA2A, ViaAPI}).Draw(t, "via")}
	answer := Decision{Type: rapid.SampledFrom(answers).Draw(t, "verb")}
	if answer.Type == Edit {
		answer.Args = []byte(`{}`)
	}
	escalated := rapid.Bool().Draw(t, "escalated")
	on := func(terms Terms) *Approval {
		return pending("t.a1", func(a *Approval) {
			if now := asked(); escalated && !terms.Escalate.IsZero() && terms.Escalate.After == all.Escalate.After {
				a.Escalated = &now
			}
			a.Terms = terms
		})
	}
	of := on(all)
	together := of.Check(answer, decider, asked())
	runs := (answer.Type == Approve || answer.Type == Edit) && len((&Approval{Terms: of.Terms, Escalated: of.Escalated, Votes: []Vote{of.NewVote(decider, "d", nil, "", asked())}}).open("d")) == 0
	common := slices.ContainsFunc(answers, func(v DecisionType) bool {
		return !slices.ContainsFunc(each, func(x Terms) bool { return x.Allowed != nil && !slices.Contains(x.Allowed, v) })
	})
	for _, alone := range each {
		if !common {
			alone.Allowed = []DecisionType{Reject, Cancel}
		}
		err := on(alone).Check(answer, decider, asked())
		// Somebody may vote for another gate, or reject: the call does not run by that.
		notIts := barredAs(err) == BarredApprovers || barredAs(err) == BarredWay && !alone.Elsewhere && !alone.FourEyes
		if err != nil && together == nil && (runs || !notIts) {
			t.Fatalf("%v is allowed under %+v, and not under %+v: %v", answer.Type, all, alone, err)
		}
		if runs && len(all.Needs) > 0 && slices.ContainsFunc(alone.Needs, func(n Need) bool { return n.People > 1 }) {
			t.Fatalf("one vote is enough under %+v, and not under %+v", all, alone)
		}
		if alone.Expires > 0 && (all.Expires <= 0 || all.Expires > alone.Expires) {
			t.Fatalf("it expires after %v, and under %s after %v", all.Expires, alone.Gate, alone.Expires)
		}
		if alone.Expires > 0 && all.OnExpiry.rank() < alone.OnExpiry.rank() {
			t.Fatalf("its end is %q, and under %s %q", all.OnExpiry, alone.Gate, alone.OnExpiry)
		}
	}
}

func TestGatesTogetherAreNoLooser(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all, gates, defaults := drawPolicy(t)
		own := rapid.Bool().Draw(t, "the tool asks")
		each := make([]Terms, 0, len(gates)+1)
		for _, g := range gates {
			each = append(each, g.Judge(nil, &fakeTool{name: "pay"}, nil).Terms)
		}
		if own {
			p, err := NewPolicy(PolicyConfig{Defaults: defaults})
			if err != nil {
				t.Fatal(err)
			}
			alone := p.Judge(nil, &fakeTool{name: "pay", static: true}, nil).Terms
			alone.Expires = 0 // a gate sets that
			each = append(each, alone)
		}
		noLooser(t, all.Judge(nil, &fakeTool{name: "pay", static: own}, nil).Terms, each...)
	})
}

// The terms of before and those of other gates together are no looser than either, and what is demanded
// already changes nothing.
func TestBothTermsAreNoLooser(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		terms := func() Terms {
			all, _, _ := drawPolicy(t)
			return all.Judge(nil, &fakeTool{name: "pay", static: rapid.Bool().Draw(t, "the tool asks")}, nil).Terms
		}
		before, now := terms(), terms()
		both := before.Both(now)
		noLooser(t, both, before, now)
		for _, of := range []Terms{before, now} {
			if a, b := (&Approval{Terms: both}).Risk(), (&Approval{Terms: of}).Risk(); higher(b, a) != a {
				t.Fatalf("the risk is %s, and alone %s", a, b)
			}
			if both.Grants != nil && !slices.ContainsFunc(both.Grants.Scopes, func(s GrantScope) bool { return of.Grants != nil && slices.Contains(of.Grants.Scopes, s) }) {
				t.Fatalf("the grants are %+v, and alone %+v", both.Grants, of.Grants)
			}
			if twice := of.Both(of); !twice.Same(of) {
				t.Fatalf("twice the same terms (-once +twice):\n%s", cmp.Diff(of, twice))
			}
			again := both.Both(of)
			if slices.Equal(both.Allowed, []DecisionType{Reject, Cancel}) {
				again.Allowed = both.Allowed // without a common decision it is these, and one of them may not be among its own
			}
			if !again.Same(both) {
				t.Fatalf("both, again (-both +again):\n%s", cmp.Diff(both, again))
			}
		}
		if more := both.Beyond(before); (len(more) == 0) != both.Same(before) {
			t.Fatalf("beyond (-before +both) they demand %q:\n%s", more, cmp.Diff(before, both))
		}
	})
}

// What is demanded beyond is said line by line.
func TestBothTerms(t *testing.T) {
	t.Parallel()
	finance, legal := &Approvers{Roles: []string{"finance"}}, &Approvers{Roles: []string{"legal"}}
	for name, tc := range map[string]struct {
		before, now Terms
		want        []string
	}{
		"the same":                      {Terms{Expires: time.Hour}, Terms{Gate: "other", Expires: time.Hour}, nil},
		"looser":                        {Terms{FourEyes: true, Approvers: finance, Risk: RiskHigh}, Terms{Risk: RiskLow}, nil},
		"all decisions by name":         {Terms{}, Terms{Allowed: []DecisionType{Cancel, Reject, Edit, Approve}}, nil},
		"other approvers":               {Terms{Approvers: finance}, Terms{Approvers: legal}, []string{"votes: 1 of role finance, 1 of role legal"}},
		"people, and not the requester": {Terms{}, Terms{FourEyes: true, Needs: []Need{{"two", 2, nil}}}, []string{"votes: 2 different people", "not the requester, nor parties that act for it"}},
		"sooner":                        {Terms{Expires: time.Hour}, Terms{Expires: time.Minute}, []string{"deadline after 1m, then it is rejected"}},
		"no grants":                     {Terms{Grants: &GrantTerms{Scopes: GrantScopes()}}, Terms{}, []string{"no grants"}},
		"grants of the same":            {Terms{Grants: &GrantTerms{Scopes: []GrantScope{GrantTime, GrantTask}}}, Terms{Grants: &GrantTerms{Scopes: GrantScopes()}}, nil},
		"the task is masked":            {Terms{}, Terms{MaskTask: true}, []string{"the task is kept from all but its requester and the deciders"}},
		"masked places":                 {Terms{Mask: []string{"/a"}}, Terms{Mask: []string{"/b"}}, []string{"masked: /a, /b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both := tc.before.Both(tc.now)
			if got := both.Beyond(tc.before); !slices.Equal(got, tc.want) {
				t.Errorf("Beyond() = %q, want %q", got, tc.want)
			}
			if same := both.Same(tc.before); same != (tc.want == nil) {
				t.Errorf("they are the same: %t", same)
			}
		})
	}
}

func barredAs(err error) string {
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Barred
	}
	return ""
}
