package sim

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task/engine"
	"a2a-server/task/internal/record"
)

// gateSet is what the gates of a server demand. The engine gets a policy made of it, and the model reads
// the set itself.
type gateSet struct {
	people    int  // who have to approve, whichever gate asks
	legal     int  // people with the role legal that a gate of gated tools wants; 0: there is no such gate
	fourEyes  bool // of that gate
	once      bool // a gate asks about tools that may not be repeated
	denied    bool // a gate denies the gated tools that are idempotent
	withdrawn bool // the gate that allows grants for gated tools is gone
	free      bool // a gate allows each gated read-only tool by its name
	soon      bool // reminder, escalation and deadline come soon
}

// policy returns the policy of a server with these gates for tools of some traits. terms are the defaults,
// and grants what a gate allows that allows any.
func (g gateSet) policy(terms approval.Terms, grants *approval.GrantTerms, traits []Traits) *approval.Policy {
	if terms.People = g.people; g.soon {
		terms.Expires, terms.Remind = 60*time.Millisecond, 20*time.Millisecond
		terms.Escalate = approval.Escalation{After: 30 * time.Millisecond, AddRoles: []string{"treasury"}}
	}
	var gates []approval.Gate
	if !g.withdrawn {
		gates = append(gates, approval.Gate{Name: "grants", Tool: "gated_*", Terms: approval.Terms{Grants: grants}})
	}
	if g.legal > 0 {
		who := &approval.Approvers{Roles: []string{"legal"}}
		gates = append(gates, approval.Gate{Name: "legal", Tool: "gated_*", Terms: approval.Terms{People: g.legal, Approvers: who, FourEyes: g.fourEyes, Grants: grants}})
	}
	if g.once {
		gates = append(gates, approval.Gate{Name: "once", Tool: "*once_*"})
	}
	if g.denied {
		gates = append(gates, approval.Gate{Name: "denied", Tool: "gated_idempotent_*", Action: approval.ActionDeny})
	}
	if g.free {
		free := approval.Gate{Name: "free", Tool: "nothing", Action: approval.ActionAllow}
		for _, t := range traits {
			if t.Gated && t.Effect == ReadOnly {
				free.Tools = append(free.Tools, t.Name())
			}
		}
		gates = append(gates, free)
	}
	p, err := approval.NewPolicy(approval.PolicyConfig{Gates: gates, Defaults: terms})
	if err != nil {
		panic(err)
	}
	return p
}

// demand is what has to be true for a call to start.
type demand struct {
	action        approval.Action
	people, legal int  // different people who have approved it, and so many of the role legal
	fourEyes      bool // its requester is none of them
	grants        bool // or a grant of a call with the same demand
	soon          bool
}

// of returns the demand on calls of a tool: all gates that ask count together.
func (g gateSet) of(t Traits) demand {
	own, legal, once := t.Gated && (!g.free || t.Effect != ReadOnly), t.Gated && g.legal > 0, g.once && t.Effect == Once
	grants := t.Gated && !g.withdrawn
	switch {
	case g.denied && t.Gated && t.Effect == Idempotent:
		return demand{action: approval.ActionDeny}
	case !own && !legal && !once && !grants:
		return demand{action: approval.ActionAllow}
	}
	d := demand{action: approval.ActionAsk, people: max(g.people, 1), soon: g.soon}
	if legal {
		d.legal, d.fourEyes = max(g.legal, d.people), g.fourEyes
	}
	d.grants = (grants || legal) && !once && d.people == 1 && d.legal < 2 && !d.fourEyes
	return d
}

// demandsIn returns the demands that a process may have seen in the gates when it made a batch: those of
// all gates that it has had since it was idle.
func demandsIn(m *model, p *Process, tool string) (all []demand) {
	for _, g := range m.gates[p] {
		all = append(all, g.of(m.by[tool]))
	}
	if len(all) == 0 {
		all = append(all, gateSet{}.of(m.by[tool]))
	}
	return all
}

// anyAction reports whether one of the demands has one of the actions.
func anyAction(all []demand, of ...approval.Action) bool {
	return slices.ContainsFunc(all, func(d demand) bool { return slices.Contains(of, d.action) })
}

// reloadGates gives all servers, or one of them, other gates.
func reloadGates(w *world) {
	g := &w.gates
	switch w.choices.Choose(Script, 11) {
	case 0:
		*g = gateSet{people: w.terms.People}
	case 1:
		g.legal, g.fourEyes = 1, false
	case 2:
		g.legal, g.fourEyes = 2, false
	case 3:
		g.legal, g.fourEyes = 1, true
	case 4:
		g.once = !g.once
	case 5:
		g.denied = !g.denied
	case 6:
		g.withdrawn = !g.withdrawn
	case 7:
		g.free, g.withdrawn = true, true
	case 8:
		g.people = 3 - max(g.people, 1)
	case 9:
		g.soon = !g.soon
	case 10:
		g.legal, g.fourEyes = 2, true
	}
	w.reloaded = true
	servers := w.servers
	if w.choices.Rarely(Script, 4) && len(servers) > 1 {
		servers = servers[:1]
	}
	for _, v := range servers {
		w.s.Note("%s has gates %+v", v.p.name, *g)
		w.model.gates[v.p] = append(w.model.gates[v.p], *g)
		v.engine.Reload(w.tools.Registry(v.p), g.policy(w.terms, w.grants, w.tools.traits), nil)
	}
	if w.choices.Choose(Script, 2) == 1 {
		w.idle()
	}
}

// onCall returns an action on a pending approval of a call that fits, which reports whether there is one.
func onCall(fits func(a *approval.Approval) bool, do func(w *world, t *modelTask, a *approval.Approval)) func(w *world) bool {
	type pending struct {
		t *modelTask
		a *approval.Approval
	}
	return func(w *world) bool {
		var all []pending
		for _, t := range w.known {
			for _, a := range t.pending() {
				if a.Kind == approval.KindCall && fits(a) {
					all = append(all, pending{t, a})
				}
			}
		}
		if len(all) > 0 {
			x := Pick(w.choices, Script, all...)
			do(w, x.t, x.a)
		}
		return len(all) > 0
	}
}

// voteSomething has several people approve a call at once, maybe its requester, and sometimes changes the gates in between.
func voteSomething(w *world) { onCall(func(*approval.Approval) bool { return true }, voteOn)(w) }

func voteOn(w *world, t *modelTask, a *approval.Approval) {
	for range 1 + w.choices.Choose(Script, 3) {
		by, v := Pick(w.choices, Script, append(slices.Clip(voters), t.owner)...), w.server()
		if a.Terms.FourEyes && w.choices.Choose(Script, 2) == 1 {
			by = t.owner
		}
		answer := approval.Decision{ID: a.ID, Type: approval.Approve, Digest: a.Digest}
		w.attempt(v, "a decision", func(ctx context.Context) error {
			return v.engine.Approvals().Decide(ctx, by, answer)
		}, func() {
			w.acknowledged(t, &verdict{a: a, id: a.ID, decision: approval.Approve}, API, by)
		})
		if w.choices.Rarely(Script, 4) {
			reloadGates(w)
		}
		w.outside.Yield()
	}
}

// voters are the principals that decide with Decide: three people, one of them with two logins.
var voters = []auth.Principal{
	bob,
	{Tenant: "acme", Subject: "dora", Person: "dora", Roles: []string{auth.RoleApprover, "legal"}, Method: "sim"},
	{Tenant: "acme", Subject: "robert", Person: "bob", Roles: []string{auth.RoleApprover, "legal"}, Method: "sim"},
	{Tenant: "acme", Subject: "erin", Person: "erin", Roles: []string{auth.RoleApprover, "treasury"}, Method: "sim"},
}

// deciderIn returns the principal of a decision that is no message. The choice is in a lane of its own:
// the tapes stay what they are.
func deciderIn(w *world) auth.Principal {
	switch {
	case w.reloaded:
		return voters[besides(w, len(voters))]
	case w.terms.People > 1:
		return voters[besides(w, 2)]
	}
	return bob
}

func personOf(p auth.Principal) string { return cmp.Or(p.Person, p.Subject) }

// backer is a person who has approved a call.
type backer struct {
	person, digest string
	legal          bool // or of a role that has been added by then
}

// backedBy notes that a principal has approved the call with a digest.
func (a *modelApproval) backedBy(by auth.Principal, digest string) {
	legal := slices.Contains(by.Roles, "legal") || a.Escalated != nil && slices.Contains(by.Roles, "treasury")
	a.backers = append(a.backers, backer{person: personOf(by), digest: digest, legal: legal})
}

// meets reports whether the people who have approved the call with a digest meet a demand.
func (a *modelApproval) meets(d demand, owner auth.Principal, digest string) bool {
	people, legal := map[string]bool{}, map[string]bool{}
	for _, b := range a.backers {
		if b.digest != digest || d.fourEyes && b.person == personOf(owner) {
			continue
		}
		people[b.person] = true
		if b.legal {
			legal[b.person] = true
		}
	}
	return len(people) >= d.people && len(legal) >= d.legal
}

// askedFor notes what an approval about a call demands: what the gates do, or else what the approval
// does that it follows. Nothing changes that later.
func askedFor(m *model, t *modelTask, p *Process, a *modelApproval) {
	a.terms = string(mustJSON(a.Terms))
	for i := range a.Votes {
		a.backedBy(a.Votes[i].By, a.Votes[i].Digest)
	}
	if a.Ask != "" || a.Kind == approval.KindQuestion {
		return
	}
	old := t.newest(a.Call, approval.KindCall)
	if a.Supersedes != "" && a.Kind == approval.KindCall {
		old = t.approval(a.Supersedes)
	}
	if old != nil && a.Kind == approval.KindOutcome {
		a.wants = old.wants
		return
	}
	outcome, all := a.Kind == approval.KindOutcome, demandsIn(m, p, a.Tool)
	for _, g := range m.grants {
		if g.fits(t, a.Tool, a.Args) && !slices.ContainsFunc(all, func(d demand) bool { return slices.Contains(g.made.wants, d) }) {
			m.tools.coverage.Count("a grant of other gates answers nothing")
		}
	}
	for _, d := range all {
		switch {
		case d.action == approval.ActionAsk:
			a.wants = append(a.wants, d)
		case d.action == approval.ActionAllow && old != nil:
			a.wants = append(a.wants, old.wants...)
		case d.action == approval.ActionAllow && m.everRestored, outcome:
			a.wants = append(a.wants, demand{action: approval.ActionAsk})
		}
	}
	if old.askedAnew() {
		if len(a.Votes) > 0 {
			m.fail(t, "what is asked anew has no votes", "%s has %+v", a.ID, a.Votes)
		}
		a.wants = bothDemands(a.wants, old.wants)
	}
	if len(a.wants) == 0 {
		m.fail(t, "what no gate asks about is not asked about", "%s of %s", a.ID, a.Tool)
	}
}

// needsPeople checks that an approval that lets a call run has everybody's approval that it demanded when it was asked.
func needsPeople(m *model, t *modelTask, a *modelApproval, digest string) {
	met := slices.ContainsFunc(a.wants, func(d demand) bool { return a.meets(d, t.owner, digest) })
	if !met && a.Ask == "" {
		m.fail(t, "no call runs before everybody has approved it who has to", "%s of %s is approved by %+v, and wants %+v", a.ID, a.Call, a.backers, a.wants)
	}
	if len(a.Terms.Needs) > 0 {
		m.tools.coverage.Count("a call runs after several votes")
	}
}

// mayEnter checks that the gates of a process let a call be entered: none denies it, and either none asks,
// or it has been approved, or the grant of its first start lets it, which is there and of the same demand.
func mayEnter(m *model, t *modelTask, c *modelCall, p *Process, first bool) {
	all := demandsIn(m, p, c.tool)
	if !anyAction(all, approval.ActionAllow, approval.ActionAsk) {
		m.fail(t, "what is denied does not run", "%s", c)
	}
	approved := slices.ContainsFunc(t.approvals, func(a *modelApproval) bool {
		return a.Call == c.id && a.Ask == "" && (a.State == approval.Approved || a.State == approval.Edited)
	})
	if a := t.newest(c.id, approval.KindCall); a != nil && !slices.ContainsFunc(all, func(d demand) bool { return slices.Contains(a.wants, d) }) {
		m.tools.coverage.Count("a call starts under other gates than it was asked under")
	}
	g := m.grants[c.grant]
	switch {
	case approved, anyAction(all, approval.ActionAllow) && (!first || c.grant == ""):
	case c.grant == "":
		m.fail(t, "no gated call runs without an approval", "%s of %s is entered", c.id, c.tool)
	case g == nil || g.void || m.revoked[c.grant]:
		m.fail(t, "no call runs by a revoked grant", "%s of %s by %s", c.id, c.tool, c.grant)
	case !slices.ContainsFunc(all, func(d demand) bool { return d.grants && slices.Contains(g.made.wants, d) }):
		m.fail(t, "a grant of other terms answers nothing", "%s of %s by %s: the gates demand %+v, the grant was made of %+v", c.id, c.tool, c.grant, all, g.made.wants)
	}
}

// grantRows reads what a commit does to grants.
func grantRows(m *model, b *store.Batch) {
	for i := range b.Rows {
		row := &b.Rows[i]
		if row.Kind != record.KindGrant {
			continue
		}
		if row.Delete {
			delete(m.grants, string(row.Key))
			continue
		}
		var g modelGrant
		if err := json.Unmarshal(row.Value, &g.Grant); err != nil {
			m.s.Fail("grants can be read", "%s: %v", row.Key, err)
			return
		}
		old := m.grants[g.ID]
		if old == nil {
			m.tools.coverage.Count("a grant is made")
			grantMade(m, &g)
		} else if g.made, g.void = old.made, old.void; g.Used <= old.Used || g.Uses > 0 && g.Used > g.Uses {
			m.s.Fail("the uses of a grant are counted", "%s: %d of %d after %d", g.ID, g.Used, g.Uses, old.Used)
		}
		m.grants[g.ID] = &g
	}
}

// modelGrant is a grant that is there.
type modelGrant struct {
	approval.Grant
	made *modelApproval // whose approve has made it
	void bool           // made before a restoration
}

// fits reports whether a call of a task is equal to that of the grant, and in its scope.
func (g *modelGrant) fits(t *modelTask, tool string, args json.RawMessage) bool {
	scope := g.Scope == approval.GrantTime || g.Scope == approval.GrantTask && g.Task == t.id.String() || g.Scope == approval.GrantContext && g.Context == t.context.id
	return scope && g.Tool == tool && g.Owner.Subject == t.owner.Subject && sameJSON(args, g.Args)
}

// grantMade checks a new grant: a person has approved a call whose gates allowed grants.
func grantMade(m *model, g *modelGrant) {
	id, _ := store.ParseTaskID(g.Task)
	g.made = m.tasks[id].approval(g.Approval)
	if r := g.made.Resolution; r == nil || r.Decision != approval.Approve || r.Via != approval.ViaAPI || !slices.ContainsFunc(g.made.wants, func(d demand) bool { return d.grants }) {
		m.s.Fail("a grant is made where gates allow it", "%s of %s, which wants %+v: %+v", g.ID, g.Approval, g.made.wants, r)
	}
}

// usesGrants reports whether a commit depends on grants, which other tasks use and people revoke.
func usesGrants(b *store.Batch) bool {
	return len(b.Needs) > 0 || slices.ContainsFunc(b.Rows, func(row store.RowChange) bool { return row.Kind == record.KindGrant })
}

// byGrant checks the grant that lets a call start: it was made of an equal call.
func byGrant(m *model, t *modelTask, c *modelCall, id string, e *entry) {
	g := m.grants[id]
	if g == nil {
		return
	}
	m.tools.coverage.Count("a call starts by a grant")
	if !g.fits(t, c.tool, e.args) {
		m.fail(t, "a grant covers equal calls only", "call %s of %s with %s of %s by %s, %s", c.id, c.tool, e.args, t.owner.Subject, id, g.Grant)
	}
	e.definition = g.made.Definition
}

// grantSomething approves a call with a grant, and has its owner send the same call again. If no such call
// waits, somebody sends a call first.
func grantSomething(w *world) {
	approve := onCall((*approval.Approval).Grantable, grantCall)
	if approve(w) {
		return
	}
	if i := slices.IndexFunc(w.tools.traits, func(t Traits) bool { return t.Gated }); i >= 0 {
		sendCall(w, alice, w.tools.traits[i].Name(), 1, "c")
		w.outside.Idle()
		approve(w)
	}
}

func grantCall(w *world, t *modelTask, a *approval.Approval) {
	ask := &approval.GrantRequest{Scope: Pick(w.choices, Script, approval.GrantTime, approval.GrantContext, approval.GrantTask), For: Pick(w.choices, Script, 0, time.Second), Uses: w.choices.Choose(Script, 3)}
	by, v := deciderIn(w), w.server()
	w.attempt(v, "a decision", func(ctx context.Context) error {
		return v.engine.Approvals().Decide(ctx, by, approval.Decision{ID: a.ID, Type: approval.Approve, Grant: ask})
	}, func() {
		if r := t.approval(a.ID).Resolution; r == nil || r.Grant == nil {
			w.s.Fail("an acknowledged decision is durable", "%s has made no grant: %+v", a.ID, r)
		}
	})
	for range 1 + w.choices.Choose(Script, 2) {
		w.outside.Yield()
		sendCall(w, t.owner, a.Tool, numberIn(a.Args), Pick(w.choices, Script, a.Context, "c"))
		switch w.choices.Choose(Script, 7) {
		case 3:
			w.tools.Change(a.Tool)
		case 4:
			reloadGates(w)
		case 5:
			revokeSomething(w)
		}
	}
}

// sendCall sends a message that makes a task of one call.
func sendCall(w *world, by auth.Principal, tool string, n int, contextID string) {
	plan := &Plan{Steps: []PlanStep{{Calls: []PlanCall{{Tool: tool, N: n}}}}, End: a2a.TaskStateCompleted}
	m := w.message(plan.part())
	m.ContextID = contextID
	sent := &sentMessage{m: m, by: by}
	w.created = append(w.created, sent)
	w.send(w.server(), sent, w.choices.Choose(Script, modes))
}

// resumeStore lets a restored store continue, and has somebody send a call that a grant of before lets start.
func resumeStore(w *world) {
	held := w.model.held
	resumeDisk(w)
	w.outside.Idle()
	ids := slices.Sorted(maps.Keys(w.model.grants))
	if !held || len(ids) == 0 {
		return
	}
	g := w.model.grants[Pick(w.choices, Script, ids...)]
	sendCall(w, g.Owner, g.Tool, numberIn(g.Args), g.Context)
}

func numberIn(args json.RawMessage) int {
	var v struct{ N int }
	_ = json.Unmarshal(args, &v) // else 0
	return v.N
}

// revokeSomething revokes a grant, while its owner sends equal calls.
func revokeSomething(w *world) {
	ids := slices.Sorted(maps.Keys(w.model.grants))
	if len(ids) == 0 {
		return
	}
	g, v := w.model.grants[Pick(w.choices, Script, ids...)], w.server()
	send := func(n int) {
		for range w.choices.Choose(Script, n) {
			sendCall(w, g.Owner, g.Tool, numberIn(g.Args), g.Context)
		}
	}
	send(3)
	w.attempt(v, "a revocation", func(ctx context.Context) error {
		err := v.engine.Approvals().Revoke(ctx, bob, g.ID, "")
		if err == engine.ErrNoGrant { //nolint:errorlint // it may have been revoked in the meantime
			return nil
		}
		return err
	}, func() {
		w.coverage.Count("a revocation is acknowledged")
		w.model.revoked[g.ID] = true
		if w.model.grants[g.ID] != nil {
			w.s.Fail("an acknowledged revocation is durable", "grant %s", g.ID)
		}
	})
	send(3)
}
