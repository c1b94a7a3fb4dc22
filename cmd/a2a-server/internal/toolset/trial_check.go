package toolset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"a2a-server/approval"
	"a2a-server/approval/condition"
	"a2a-server/auth"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/internal/catalog"
	"a2a-server/internal/lists"
	"a2a-server/tool"
)

// CheckPolicy returns likely mistakes in the gates, each with its place: gates that never
// have an effect, tools and roles that do not exist, approvals that nobody could give, and
// conditions that fail because they read an argument that may be missing. It lists the tools.
// The error keeps a server from starting.
func (s *State) CheckPolicy(ctx context.Context) (problems []string, _ error) {
	l := catalog.NewLister(tool.NewRegistry(slices.Concat(s.given, s.box.sets(true))...), s.Agent, auth.Anonymous())
	l.Fill(ctx)
	entries, down := l.Entries()
	c := checking{State: s, tools: map[string]tool.Tool{}, down: down}
	for _, e := range entries {
		c.tools[e.Tool.Name()] = e.Tool
	}
	every := lists.Map(sorted(c.tools), func(name string) tool.Tool { return c.tools[name] })
	unknown, err := checkGates(s.Policy, s.gates, catalog.Listed{Tools: every})
	if err != nil {
		return nil, err
	}
	c.problems = unknown
	if s.gates != nil {
		c.problems = append(c.problems, config.NotifyWarnings(s.gates)...)
	}
	c.find()
	for i := range s.Policy.Gates() {
		c.reach(i)
		c.roles(i)
		c.enough(i)
		c.reads(i)
	}
	for _, name := range sorted(c.tools) {
		c.needs(name)
	}
	return c.problems, nil
}

// checking is a run of CheckPolicy.
type checking struct {
	*State
	tools    map[string]tool.Tool // of all callers
	down     error                // why there may be more tools
	known    []string             // roles that a caller may get, sorted
	anyRole  bool                 // and any other
	people   []auth.Principal     // all callers; nil: others may come
	problems []string
}

// at adds a problem with gate i.
func (c *checking) at(i int, format string, args ...any) {
	p := config.Problem{Key: "gate " + c.Policy.Gates()[i].Named(), Problem: fmt.Sprintf(format, args...)}
	if c.gates != nil {
		p = c.gates.Problem(config.GatePath(c.gates, i), "%s", p.Problem)
		p.Key = strings.TrimSuffix(p.Key, ".tool")
	}
	c.problems = append(c.problems, p.String())
}

// always returns the gates that are about every call of a tool with an action.
func (c *checking) always(name string, action approval.Action) (gates []int) {
	for i, g := range c.Policy.Gates() {
		if g.Action == action && !g.Conditional() && g.Matches(name) {
			gates = append(gates, i)
		}
	}
	return gates
}

// reach looks for a gate that changes nothing: other gates have the last word about every call
// of all its tools, or it allows what it cannot.
func (c *checking) reach(i int) {
	g := c.Policy.Gates()[i]
	var by []int // a gate that wins, for each tool
	matched := 0
	for _, name := range sorted(c.tools) {
		if !g.Matches(name) {
			continue
		}
		matched++
		wins := c.always(name, approval.ActionDeny)
		if g.Action == approval.ActionAllow {
			wins = append(wins, c.always(name, approval.ActionAsk)...)
		}
		wins = slices.DeleteFunc(wins, func(k int) bool { return k == i })
		if g.Action == approval.ActionDeny && !g.Conditional() {
			wins = slices.DeleteFunc(wins, func(k int) bool { return k > i }) // the later of two is too many
		}
		if len(wins) > 0 {
			by = append(by, wins[0])
		}
	}
	switch {
	case matched > 0 && len(by) == matched:
		slices.Sort(by)
		by = slices.Compact(by)
		have := "has"
		if len(by) > 1 {
			have = "have"
		}
		c.at(i, "has no effect: %s %s the last word about every call of its tools", c.names(by), have)
	case g.Action != approval.ActionAllow:
	case c.conf.DeclaredGates == config.IgnoreDeclared && !slices.ContainsFunc(g.Patterns(), func(name string) bool { return c.tools[name] != nil && tool.IsDecision(c.tools[name]) }):
		c.at(i, "has no effect: with declared_gates: ignore no tool asks by itself, and an allow overrides nothing else")
	case !slices.ContainsFunc(g.Patterns(), func(p string) bool { return !strings.Contains(p, "*") }):
		c.at(i, "has no effect: only an allow with the exact name of a tool overrides what the tool asks by itself")
	}
}

// roles looks for roles that no caller gets.
func (c *checking) roles(i int) {
	if c.anyRole {
		return
	}
	g := c.Policy.Gates()[i]
	look := func(key string, roles []string) {
		for _, role := range roles {
			if !slices.Contains(c.known, role) {
				c.at(i, "%s: no caller gets the role %q; known are %s", key, role, strings.Join(c.known, ", "))
			}
		}
	}
	if g.Who != nil {
		look("who.roles", g.Who.Roles)
	}
	if g.Terms.Approvers != nil {
		look("approvers.roles", g.Terms.Approvers.Roles)
	}
	look("escalate.add_roles", g.Terms.Escalate.AddRoles)
}

// find finds the callers, as far as they are known, and the roles that callers may get.
func (c *checking) find() {
	a := &c.conf.Auth
	callers, err := c.callers()
	c.known, c.anyRole = slices.Clone(a.DefaultRoles), !a.Given() || err != nil
	others := c.anyRole || len(a.OIDC) > 0 || a.MTLS.Given() || a.Proxy.Header != ""
	for _, one := range callers {
		c.known = append(c.known, one.Roles...)
		one.PersonSeen = true // the persons of keys and local users are expected to sign in
		if p, err := a.People.Known(one.Principal); err == nil && !others {
			c.people = append(c.people, p)
		}
	}
	slices.Sort(c.known)
	c.known = slices.Compact(c.known)
}

// enough looks for an approval that needs more people than may give it.
func (c *checking) enough(i int) {
	g := c.Policy.Gates()[i]
	t := c.Policy.Terms(g)
	need := max(t.People, 1)
	if g.Action != approval.ActionAsk || len(c.people) == 0 {
		return
	}
	most, but := 0, ""
	for _, requester := range c.requesters(&t) {
		for _, first := range c.people {
			if most = max(most, len(c.deciders(&t, first, requester))); most >= need {
				return
			}
		}
	}
	if t.FourEyes {
		but = ", beside the requester,"
	}
	c.at(i, "no call could run: it needs people: %d, and of the callers with a key or in auth.socket%s at most %d may approve", need, but, most)
}

// requesters returns who could make the calls, as far as it matters to who may approve; nil stands
// for anybody.
func (c *checking) requesters(t *approval.Terms) (all []*auth.Principal) {
	for i := range c.people {
		if t.FourEyes && c.people[i].May(auth.Create) == nil {
			all = append(all, &c.people[i])
		}
	}
	if len(all) == 0 {
		all = append(all, nil)
	}
	return all
}

// deciders returns distinct people of the tenant of first, and with first if possible, who may approve
// the calls of a requester.
func (c *checking) deciders(t *approval.Terms, first auth.Principal, requester *auth.Principal) (group []auth.Principal) {
	approvers := t.Approvers
	if approvers != nil { // whoever When may include
		approvers = &approval.Approvers{Roles: approvers.Roles, Subjects: approvers.Subjects}
	}
	programs := c.conf.Auth.DelegatedDecisions && !t.Human && t.People < 2 // else only people count
	for _, p := range append([]auth.Principal{first}, c.people...) {
		switch {
		case p.Tenant != first.Tenant || !p.Direct() && !programs || p.May(auth.Decide) != nil:
		case !approvers.Include(p, nil) && !slices.ContainsFunc(t.Escalate.AddRoles, p.Has):
		case requester != nil && (requester.Tenant != p.Tenant || !p.DistinctFrom(*requester)):
		case slices.ContainsFunc(group, func(q auth.Principal) bool { return !p.DistinctFrom(q) }):
		default:
			group = append(group, p)
		}
	}
	return group
}

// reads looks for arguments that the conditions of gate i read and that may be missing, and for places in the
// arguments that no tool of the gate has.
func (c *checking) reads(i int) {
	g := c.Policy.Gates()[i]
	for _, p := range g.Places() {
		c.lacks(i, p)
	}
	if g.Condition != nil {
		if g.Condition.Never() {
			c.at(i, "has no effect: when is false for every call")
		}
		c.readsOf(i, "when", g.Condition, "counts as true")
	}
	if a := g.Terms.Approvers; a != nil && a.When != "" {
		if when, err := condition.CompileDecider(a.When); err == nil {
			c.readsOf(i, "approvers.when", when, "nobody may decide")
		}
	}
}

func (c *checking) readsOf(i int, key string, of *condition.Condition, effect string) {
	g := c.Policy.Gates()[i]
	for _, name := range sorted(c.tools) {
		if !g.Matches(name) {
			continue
		}
		for _, r := range of.Reads() {
			switch why := c.missing(name, r); why {
			case "":
			case noArgument:
				if c.missing(name, condition.Read{Path: r.Path[:len(r.Path)-1]}) != noArgument { // else that is reported
					c.at(i, misnamed, key, r, name, name)
				}
			default:
				c.at(i, "%s reads %s, which %s of %s; without it the condition fails, and %s; write has(%s) && before it", key, r, why, name, effect, r)
			}
		}
	}
}

// misnamed is the problem with an argument that a key of a gate reads, of a tool.
const misnamed = "%s reads %s, which is no argument of %s: correct the name ('a2a-server tools show %s' lists them)"

// lacks looks for a tool of gate i that may have a place in its arguments. A tool that cannot be listed may.
func (c *checking) lacks(i int, p approval.Place) {
	g := c.Policy.Gates()[i]
	unlisted := func(pattern string) bool { return c.tools[pattern] == nil }
	names := slices.DeleteFunc(sorted(c.tools), func(name string) bool { return !g.Matches(name) })
	may := func(name string) bool { return c.missing(name, condition.Read{Path: p.Path}) != noArgument }
	switch {
	case len(names) == 0, c.down != nil && slices.ContainsFunc(g.Patterns(), unlisted), slices.ContainsFunc(names, may):
	case len(names) == 1:
		c.at(i, misnamed, p.Key, p.Text, names[0], names[0])
	default:
		c.at(i, misnamed, p.Key, p.Text, "any of its tools", names[0])
	}
}

// noArgument is why an argument is missing that the schema does not have. To look first helps nobody.
const noArgument = "is no argument"

// missing returns why an argument of a tool may be missing by its schema; "": it is there, or the
// condition looks first, or the schema does not say.
func (c *checking) missing(from string, r condition.Read) string {
	if r.Checked {
		return ""
	}
	schema, simple := tool.ToDefinition(c.tools[from]).Parameters, true // simple: all schemas on the way are plain
	for i, name := range r.Path {
		simple = simple && plain(schema)
		properties, _ := schema["properties"].(map[string]any)
		property, known := properties[name]
		if schema["type"] == "array" && strings.Trim(name, "*0123456789") == "" {
			property, known = schema["items"], true
		}
		switch {
		case !known && (!simple || name == "*"):
			return ""
		case !known:
			return noArgument
		case i == len(r.Path)-1 && !slices.Contains(lists.Strings(schema["required"]), name):
			return "is an optional argument"
		}
		schema, _ = property.(map[string]any)
	}
	return ""
}

// plainKeys are keywords beside which only properties and items say what a schema has below it.
var plainKeys = strings.Fields("type properties items required title description default examples minItems maxItems uniqueItems $schema $id $comment $defs definitions")

// plain reports whether a schema has no other keyword, and says what it has below it.
func plain(schema map[string]any) bool {
	_, single := schema["type"].(string)
	return single && (schema["type"] != "object" || schema["properties"] != nil) && !slices.ContainsFunc(sorted(schema), func(key string) bool {
		return !slices.Contains(plainKeys, key) && (key != "additionalProperties" || schema[key] != false)
	})
}

// needs looks for approvals that nobody could give: gates that always ask together about a
// tool, and whose demands nobody meets.
func (c *checking) needs(name string) {
	gates := c.always(name, approval.ActionAsk)
	if len(gates) < 2 || len(c.always(name, approval.ActionDeny)) > 0 {
		return
	}
	runs := map[approval.DecisionType]bool{approval.Approve: true, approval.Edit: true}
	for _, i := range gates {
		terms := c.Policy.Terms(c.Policy.Gates()[i])
		for d := range runs {
			runs[d] = runs[d] && (terms.Allowed == nil || slices.Contains(terms.Allowed, d))
		}
	}
	if !runs[approval.Approve] && !runs[approval.Edit] {
		c.at(gates[len(gates)-1], "no call of %s could run: the gates %s allow neither approve nor edit together", name, c.names(gates))
	}
}

// names returns the names of gates.
func (c *checking) names(gates []int) string {
	return strings.Join(lists.Map(gates, func(i int) string { return c.Policy.Gates()[i].Named() }), ", ")
}
