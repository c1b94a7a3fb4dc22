package config

import (
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v4"

	"a2a-server/approval"
)

// gateKeys returns the keys of an entry of gates.
func gateKeys() []key[approval.Gate] {
	actions := choice("an action", approval.ActionAsk, approval.ActionAllow, approval.ActionDeny)
	verbs := choice("a decision", approval.Approve, approval.Edit, approval.Reject, approval.Respond, approval.Cancel)
	allowed := many("allowed", verbs,
		func(g *approval.Gate) *[]approval.Verb { return &g.Terms.Allowed },
		"The decisions that are offered. Without it, all that make sense for the question.")
	allowed.set = notNothing(allowed.set)

	return []key[approval.Gate]{
		one("name", "", words("a string", every(notEmpty("a name, or remove the line"), checkLine, notReserved)),
			func(g *approval.Gate) *string { return &g.Name },
			"The gate's name in approvals and in the audit. It must be unique. Without it, gate: and the tool."),
		one("tool", "", words("a string", every(notEmpty("the name of a tool, or * for all"), checkLine)),
			func(g *approval.Gate) *string { return &g.Tool },
			"Required. The name of a tool, or a pattern in which * matches any text. A name that no tool has is refused at the start, unless a toolset may have more tools later; of that, and of a pattern that matches nothing, the log warns."),
		one("action", "ask", actions,
			func(g *approval.Gate) *approval.Action { return &g.Action },
			"ask lets a person decide, deny refuses the call, allow lets it run. When several gates match a tool, deny wins over ask, and ask over allow. Only an allow that names a tool exactly, without *, overrides the gate that the tool itself declares."),
		one("hint", "", words("a string", nil),
			func(g *approval.Gate) *string { return &g.Hint },
			"The question, or the reason for a denial. {name} and {/json/pointer} are replaced by arguments of the call. Without it, the tool's own hint."),
		one("expires", "", deadline(-1),
			func(g *approval.Gate) *time.Duration { return &g.Terms.Expires },
			"How long the approval may be pending. Without it, deadlines.expires."),
		one("on_expiry", "", choice("an outcome of a deadline", expiries()...),
			func(g *approval.Gate) *approval.OnExpiry { return &g.Terms.OnExpiry },
			"What happens then. Without it, deadlines.on_expiry."),
		allowed,
		one("four_eyes", "false", boolean(),
			func(g *approval.Gate) *bool { return &g.Terms.FourEyes },
			"The person who caused the call may not decide on it. Only false is possible so far: without authentication nobody can be told apart from the requester."),
		one("elsewhere", "false", boolean(),
			func(g *approval.Gate) *bool { return &g.Terms.Elsewhere },
			"The A2A client may not decide; somebody else has to. Only false is possible so far: there is no other way to decide."),
		one("destructive", "false", boolean(),
			func(g *approval.Gate) *bool { return &g.Terms.Destructive },
			"Shown as destructive, and never approved by a keyword. A keyword may still reject it."),
		one("no_text", "false", boolean(),
			func(g *approval.Gate) *bool { return &g.Terms.NoText },
			"Never decided by a keyword."),
		one("on_reject", "continue", either("cancel", "continue"),
			func(g *approval.Gate) *bool { return &g.Terms.CancelsTask },
			"What a rejection does in addition to rejecting the call: cancel cancels the task, continue leaves it to the planner."),
	}
}

// GateProblem returns where the i-th gate names its tool, for something that is wrong
// with the name: the Problem itself is left to the caller.
func (c *Config) GateProblem(i int) Problem {
	path := fmt.Sprintf("%s[%d].tool", gatesKey, i)
	return c.origins[path].problem(path)
}

func notReserved(name string) error {
	if name == approval.RuleTool || name == approval.RuleDefault {
		return wrong("%s is a name that the server uses itself; choose another", quote(name))
	}
	return nil
}

// notNothing wants decisions of which one is possible about a call: else nobody
// could answer.
func notNothing(set func(*approval.Gate, []string) []flaw) func(*approval.Gate, []string) []flaw {
	return func(g *approval.Gate, texts []string) []flaw {
		next := *g
		if flaws := set(&next, texts); len(flaws) > 0 {
			return flaws
		}
		if len(next.Terms.Allowed) == 0 || len(approval.AllowedVerbs(approval.KindCall, next.Terms)) == 0 {
			return []flaw{{item: -1, problem: wrong("allows no decision about a call; name approve, edit, reject or cancel, or remove the line for all")}}
		}
		*g = next
		return nil
	}
}

// gates reads the list of gates.
func (l *loader) gates(n *yaml.Node, at origin) {
	l.config.origins[gatesKey] = at
	if isNull(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		l.add(at, gatesKey, "expected a list, found %s; begin each gate with a dash, as in - tool: delete_*", kindOf(n))
		l.refused[gatesKey] = true
		return
	}
	for i, entry := range n.Content {
		l.gate(entry, fmt.Sprintf("%s[%d]", gatesKey, i))
	}
}

func (l *loader) gate(n *yaml.Node, path string) {
	at := l.place(n)
	if n.Kind != yaml.MappingNode {
		l.add(at, path, "expected a gate, found %s; write its keys, as in - tool: delete_*", kindOf(n))
		return
	}
	keys := gateKeys()
	gate := approval.Gate{Action: approval.ActionAsk}
	given := map[string]origin{}
	l.members(n, path, func(name string, k, v *yaml.Node) {
		where := join(path, name)
		found, ok := find(keys, name)
		if !ok {
			l.add(l.place(k), where, "there is no such key%s", l.didYouMean(name, names(keys, same)))
			return
		}
		given[name] = l.place(k)
		if value, ok := l.value(v, where, found.list); ok {
			put(l, found, &gate, value)
		} else {
			l.refused[where] = true
		}
	})
	if _, ok := given["tool"]; !ok {
		l.add(at, join(path, "tool"), "is missing; write the name of a tool, or \"*\" for all")
	}
	l.checkGateName(&gate, path, at, given)
	l.checkGateUse(&gate, path, given)
	l.checkGateDeciders(&gate, path)
	l.config.Gates = append(l.config.Gates, gate)
}

// checkGateName refuses a name that an earlier gate has. A gate without a name is
// called after its tool.
func (l *loader) checkGateName(g *approval.Gate, path string, at origin, given map[string]origin) {
	from, name := "name", g.Name
	if _, named := given["name"]; !named {
		from, name = "tool", "gate:"+g.Tool
	}
	if where, ok := given[from]; ok {
		at = where
	}
	if l.refused[join(path, from)] || name == "gate:" {
		return
	}
	if first, taken := l.gateAt[name]; taken {
		l.add(at, join(path, from), "the gate in line %d is called %s, too; give each a name of its own", first.line, quote(name))
		return
	}
	l.gateAt[name] = at
}

// checkGateUse refuses what says nothing: somebody who writes four_eyes beside allow
// believes that it asks.
func (l *loader) checkGateUse(g *approval.Gate, path string, given map[string]origin) {
	if g.Action == approval.ActionAsk || l.refused[join(path, "action")] {
		return
	}
	always := []string{"name", "tool", "action"}
	if g.Action == approval.ActionDeny {
		always = append(always, "hint")
	}
	for name, at := range given {
		if !slices.Contains(always, name) {
			l.add(at, join(path, name), "has no effect where the action is %s, which asks nobody; remove it, or use action: ask", g.Action)
		}
	}
}

// checkGateDeciders refuses what nobody could decide: the calls would wait forever.
// The policy itself takes such terms, from whoever brings a way to decide.
func (l *loader) checkGateDeciders(g *approval.Gate, path string) {
	if g.Action != approval.ActionAsk {
		return // said already
	}
	const until = "remove the line, or write false; true will be allowed when somebody else can decide, with authentication and the approvals command"
	if g.Terms.FourEyes {
		l.at(join(path, "four_eyes"), "nobody could decide: there is no authentication yet, so that nobody can be told from the requester; %s", until)
	}
	if g.Terms.Elsewhere {
		l.at(join(path, "elsewhere"), "nobody could decide: the A2A client may not, and there is no other way to decide yet; %s", until)
	}
}
