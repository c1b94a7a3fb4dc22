package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"a2a-server/approval"
)

// placedGate is a gate of the policy and the path of the key that makes it.
type placedGate struct {
	approval.Gate
	path string
}

// writtenGates returns the gates under gates: of the configuration and then of policy.files, in their order.
func writtenGates(c *Config) (all []placedGate) {
	for n, gates := range append([][]approval.Gate{c.Gates}, c.fileGates...) {
		in := ""
		if n > 0 {
			in = filePath(n-1) + "."
		}
		for i := range gates {
			all = append(all, placedGate{gates[i], fmt.Sprintf("%sgates[%d]", in, i)})
		}
	}
	return all
}

func gateOf(g placedGate) approval.Gate { return g.Gate }

// askedBy returns the gates of approve_tools, of pins, and, with declared_gates: ignore, of each written approve:
// it silences the gates that tools declare, but not the file.
func askedBy(c *Config) []placedGate {
	var all []placedGate
	for _, pattern := range c.ApproveTools {
		all = append(all, placedGate{approval.Gate{Name: "approve_tools: " + pattern, Tool: pattern, Action: approval.ActionAsk}, "approve_tools"})
	}
	for i := range c.Tools.Entries {
		if t := &c.Tools.Entries[i]; len(t.Pins) > 0 {
			path, pins := fmt.Sprintf("tools[%d].pins", i), map[string]string{}
			for name, digest := range t.Pins {
				pins[t.Name+"_"+name] = digest
			}
			all = append(all, placedGate{approval.Gate{Name: path, Tool: t.Name + "_*", Action: approval.ActionAsk, When: approval.Unpinned(pins)}, path})
		}
	}
	if c.DeclaredGates != IgnoreDeclared {
		return all
	}
	for i := range c.Tools.Entries {
		t, path := &c.Tools.Entries[i], fmt.Sprintf("tools[%d].approve", i)
		for _, name := range t.Approve {
			pattern := t.Name
			if t.Kind.Prefixes() {
				pattern += "_" + name
			}
			all = append(all, placedGate{approval.Gate{Name: path + ": " + pattern, Tool: pattern, Action: approval.ActionAsk}, path})
		}
	}
	return all
}

// policyGates returns the gates of the policy: the gates under gates, and then the others.
func policyGates(c *Config) []placedGate { return slices.Concat(writtenGates(c), askedBy(c)) }

// GatePath returns the path of the key that made gate i of the policy, from 0.
func GatePath(c *Config, i int) string {
	path := policyGates(c)[i].path
	if i < len(writtenGates(c)) {
		path += ".tool"
	}
	return path
}

// Problem returns a problem at the place where a key was set.
func (c *Config) Problem(path, format string, args ...any) Problem {
	return c.origins[path].problem(path, format, args...)
}

// Exempt reports whether no_approve_tools names the tool of this name.
func Exempt(c *Config, name string) bool {
	return slices.ContainsFunc(c.NoApproveTools, func(pattern string) bool { return Matches(pattern, name) })
}

// Matches reports whether a pattern of approve_tools or no_approve_tools, in which * stands
// for any text, is about the tool of this name.
func Matches(pattern, name string) bool { return approval.Gate{Tool: pattern}.Matches(name) }

// GateText returns a gate like its entry of gates, without the keys that are not set. Lines
// that end with "by default" come from terms, which are the gate's own with the defaults of
// its policy.
func GateText(g approval.Gate, terms approval.Terms) string {
	var out strings.Builder
	g.Action = cmp.Or(g.Action, approval.ActionAsk)
	whole := g
	whole.Terms = terms
	g.Terms.Mask = terms.Mask // the default mask is added to the gate's mask
	set, all, blank := keysOf(&g), keysOf(&whole), keysOf(&approval.Gate{Action: approval.ActionAsk})
	for i, k := range set {
		switch none := blank[i].value(); {
		case k.value() != none:
			fmt.Fprintf(&out, "%s: %s\n", k.name, k.value())
		case all[i].value() != none:
			fmt.Fprintf(&out, "%s: %s # by default\n", k.name, all[i].value())
		}
	}
	if g.When != nil {
		out.WriteString("# only for calls that a condition in Go selects\n")
	}
	return out.String()
}
