package config

import (
	"fmt"
	"slices"

	"a2a-server/approval"
)

// asked is a gate that something other than gates makes: a key that is at a path.
type asked struct {
	gate approval.Gate
	path string
}

// asked returns the gates of approve_tools and, with opt-in, of each written approve and pins:
// opt-in silences the gates that tools declare, but not the file.
func (c *Config) asked() []asked {
	var all []asked
	for _, pattern := range c.ApproveTools {
		all = append(all, asked{approval.Gate{Name: "approve_tools: " + pattern, Tool: pattern, Action: approval.ActionAsk}, "approve_tools"})
	}
	if c.Confirmation != OptIn {
		return all
	}
	for i := range c.Tools.Entries {
		t := &c.Tools.Entries[i]
		names := t.Approve.Names
		switch {
		case t.Approve.All && t.Kind.Prefixes():
			names = []string{"*"}
		case t.Approve.All:
			names = []string{""}
		}
		if len(t.Pins) > 0 { // a tool with another definition asks, and only that: see Tool.Approve
			path := fmt.Sprintf("tools[%d].pins", i)
			all = append(all, asked{approval.Gate{Name: path, Tool: t.Name + "_*", Action: approval.ActionAsk, When: approval.Declared}, path})
		}
		path := fmt.Sprintf("tools[%d].approve", i)
		for _, name := range names {
			pattern := t.Name
			if t.Kind.Prefixes() {
				pattern += "_" + name
			}
			all = append(all, asked{approval.Gate{Name: path + ": " + pattern, Tool: pattern, Action: approval.ActionAsk}, path})
		}
	}
	return all
}

// policyGates returns the gates of the policy: the gates under gates, and then the others.
func (c *Config) policyGates() []approval.Gate {
	all := slices.Clone(c.Gates)
	for _, a := range c.asked() {
		all = append(all, a.gate)
	}
	return all
}

// GatePath returns the path of the key that made gate i of the policy, from 0.
func (c *Config) GatePath(i int) string {
	if i < len(c.Gates) {
		return fmt.Sprintf("gates[%d].tool", i)
	}
	if others := c.asked(); i-len(c.Gates) < len(others) {
		return others[i-len(c.Gates)].path
	}
	return ""
}

// Problem returns a problem at the place where a key was set. The caller sets the field
// Problem.
func (c *Config) Problem(path string) Problem { return c.origins[path].problem(path) }

// Exempt reports whether no_approve_tools names the tool of this name.
func (c *Config) Exempt(name string) bool {
	return slices.ContainsFunc(c.NoApproveTools, func(pattern string) bool { return Matches(pattern, name) })
}

// Matches reports whether a pattern of approve_tools or no_approve_tools, in which * stands
// for any text, is about the tool of this name.
func Matches(pattern, name string) bool { return approval.Gate{Tool: pattern}.Matches(name) }
