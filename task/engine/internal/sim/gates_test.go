package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task/internal/record"
)

// reload gives the process of the story other gates, and lets it see them.
func (t *story) reload(g gateSet) {
	t.m.gates[t.p] = []gateSet{g}
}

// asks has the call approved that the gates of the process ask about: with a vote each, and the last
// decides.
func (t *story) asks(by ...auth.Principal) {
	t.begin("gated_once_plain")
	t.event("approval.requested.v1", fmt.Sprintf(
		`{"v":1,"id":"a1","kind":"call","state":"pending","call":"c1.1","tool":"gated_once_plain","args":{"n":1},"digest":"d","definition":%q,"terms":{"gate":"r","needs":[{"gate":"r","people":2}]}}`, t.b.Digest(storyTraits[1], 0)))
	for _, p := range by {
		t.votes(p, "d")
	}
	t.decides(by[len(by)-1])
}

func (t *story) votes(by auth.Principal, digest string) {
	t.event("approval.voted.v1", fmt.Sprintf(`{"id":"a1","vote":{"by":%s,"via":"api","at":"2026-03-02T08:00:00Z","digest":%q}}`, mustJSON(by), digest))
}

func (t *story) decides(by auth.Principal) {
	t.event("approval.resolved.v1", fmt.Sprintf(`{"id":"a1","state":"approved","resolution":{"decision":"approve","via":"api","by":%s}}`, mustJSON(by)))
}

// grants has a person approve a call, with a grant of all equal calls.
func (t *story) grants() {
	t.begin("gated_once_plain")
	t.event("step.planned.v1", `{"step":2,"calls":[{"id":"c2.1","tool":"gated_once_plain","args":{"n":1}}]}`)
	t.ask("a1", "call")
	g := approval.Grant{ID: "g1", Scope: approval.GrantTime, Task: storyTask.String(), Tool: "gated_once_plain", Args: json.RawMessage(`{"n":1}`), Owner: alice, Approval: "a1"}
	resolved := fmt.Sprintf(`{"id":"a1","state":"approved","resolution":{"decision":"approve","via":"api","by":%s}}`, mustJSON(bob))
	t.write(&store.Batch{
		Scope: store.System(), Task: storyTask, Rev: new(t.rev),
		Events: []store.Event{{Kind: "approval.resolved.v1", Time: 1, Data: []byte(resolved)}},
		Rows:   []store.RowChange{{Of: store.Owner("acme", "alice"), Kind: record.KindGrant, Key: []byte("g1"), IfRev: store.Any, Value: mustJSON(g)}},
	})
}

func (t *story) startsBy(grant string) {
	t.event("call.started.v1", fmt.Sprintf(`{"call":"c2.1","attempt":1,"digest":"d","grant":%q}`, grant))
}

// TestModelKnowsTheGates tells stories of gates, votes and grants, as TestModelKnowsTheRules does.
func TestModelKnowsTheGates(t *testing.T) {
	t.Parallel()
	dora, robert, erin := voters[1], voters[2], voters[3]
	const people = "no call runs before everybody has approved it who has to"
	tests := []struct {
		rule string
		tell func(*story)
	}{
		{"", func(t *story) { t.reload(gateSet{people: 2}); t.asks(bob, dora); t.start() }},
		{people, func(t *story) { t.reload(gateSet{people: 2}); t.asks(bob) }},
		{people, func(t *story) { t.reload(gateSet{people: 2}); t.asks(bob); t.decides(robert) }},
		{"a person has one vote", func(t *story) { t.reload(gateSet{people: 2}); t.asks(bob, robert) }},
		{people, func(t *story) {
			t.reload(gateSet{people: 2})
			t.begin("gated_once_plain")
			t.ask("a1", "call")
			t.decides(dora)
		}},
		{people, func(t *story) { t.reload(gateSet{legal: 1}); t.asks(bob, erin) }},
		{people, func(t *story) { t.reload(gateSet{legal: 2}); t.asks(bob, dora) }},
		{"", func(t *story) { t.reload(gateSet{legal: 2}); t.asks(robert, dora) }},
		{people, func(t *story) { t.reload(gateSet{legal: 1, fourEyes: true}); t.asks(alice) }},
		{"", func(t *story) { // the approval keeps its terms, and the call its approval
			t.asks(bob)
			t.reload(gateSet{people: 2, legal: 2})
			t.start()
		}},
		{people, func(t *story) { // … when its gates are withdrawn, too
			t.reload(gateSet{people: 2})
			t.begin("gated_once_plain")
			t.ask("a1", "call")
			t.reload(gateSet{})
			t.decides(bob)
		}},
		{"an approval keeps its terms", func(t *story) {
			t.begin("gated_once_plain")
			t.ask("a1", "call")
			t.write(&store.Batch{Scope: store.System(), Task: storyTask, Rev: new(t.rev), Rows: []store.RowChange{{
				Kind: "approval", Key: []byte("a1"), IfRev: store.Any, Value: []byte(`{"id":"a1","state":"pending","terms":{"gate":"other"}}`),
				Index: []store.IndexKey{{Index: record.IndexPending, Key: []byte("x")}, {Index: record.IndexOwn, Key: []byte("x")}, {Index: record.IndexDeadline, Key: []byte("x")}, {Index: record.IndexDeadline, Key: []byte("y")}},
			}}})
		}},
		{"", func(t *story) { t.begin("once_plain"); t.start() }},
		{"no gated call runs without an approval", func(t *story) { t.reload(gateSet{once: true}); t.begin("once_plain"); t.start() }},
		{"no gated call runs without an approval", func(t *story) { // it may not go on, either
			t.begin("once_plain")
			t.start()
			t.event("call.suspended.v1", `{"call":"c1.1"}`)
			t.reload(gateSet{once: true})
			t.event("call.resumed.v1", `{"call":"c1.1"}`)
		}},
		{"what is denied does not run", func(t *story) {
			t.begin("gated_idempotent_plain")
			t.ask("a1", "call")
			t.decides(bob)
			t.reload(gateSet{denied: true})
			t.start()
		}},
		{"what no gate asks about is not asked about", func(t *story) {
			t.begin("once_plain")
			t.event("approval.requested.v1", `{"id":"a1","kind":"call","state":"pending","call":"c1.1","tool":"once_plain"}`)
		}},
		{"", func(t *story) { t.grants(); t.startsBy("g1") }},
		{"no call runs by a revoked grant", func(t *story) { t.grants(); t.startsBy("g2") }},
		{"no call runs by a revoked grant", func(t *story) { t.grants(); t.m.revoked["g1"] = true; t.startsBy("g1") }},
		{"no call runs by a revoked grant", func(t *story) { t.grants(); t.m.grants["g1"].void = true; t.startsBy("g1") }},
		{"a grant of other terms answers nothing", func(t *story) { t.grants(); t.reload(gateSet{legal: 1}); t.startsBy("g1") }},
		{"a grant of other terms answers nothing", func(t *story) { t.grants(); t.reload(gateSet{soon: true}); t.startsBy("g1") }},
		{"a grant is made where gates allow it", func(t *story) { t.reload(gateSet{withdrawn: true}); t.grants() }},
	}
	for i, tt := range tests {
		t.Run(fmt.Sprint(i, " ", tt.rule), func(t *testing.T) {
			t.Parallel()
			s := newStory()
			defer s.s.Close()
			tt.tell(s)
			s.breaks(t, tt.rule)
		})
	}
}

// TestGateSets compares what the model demands with what the policy of the same gates asks.
func TestGateSets(t *testing.T) {
	t.Parallel()
	grants := &approval.GrantTerms{Scopes: approval.GrantScopes()}
	s := NewScheduler(Replayed(Tape{}))
	defer s.Close()
	tools := NewToolbox(s, NewCoverage(), AllTraits())
	for n := range 1 << 8 {
		is := func(bit int) bool { return n>>bit&1 == 1 }
		g := gateSet{people: 1, fourEyes: is(0), once: is(1), denied: is(2), withdrawn: is(3), free: is(4), soon: is(5), legal: n >> 6 % 3}
		p := g.policy(approval.Terms{}, grants, AllTraits())
		for _, traits := range AllTraits() {
			v, d := p.Judge(nil, tools.tool(nil, traits, 0), map[string]any{"n": 1}), g.of(traits)
			needs := slices.ContainsFunc(v.Terms.Needs, func(n approval.Need) bool { return n.People > 1 || n.Approvers != nil })
			roles := v.Terms.Approvers != nil || needs
			if v.Action != d.action || roles != (d.legal > 0) || v.Terms.FourEyes != d.fourEyes {
				t.Fatalf("%+v: of %s the model demands %+v, the policy %+v", g, traits.Name(), d, v)
			}
		}
	}
}
