package config

import (
	"cmp"
	"fmt"
	"strings"

	"a2a-server/approval"
)

// GateText returns a gate as its entry of gates has it, without the keys that are not set.
// Lines that end with "by default" are what terms adds, which are those of the gate with
// the defaults of its policy.
func GateText(g approval.Gate, terms approval.Terms) string {
	var out strings.Builder
	g.Action = cmp.Or(g.Action, approval.ActionAsk)
	whole := g
	whole.Terms = terms
	g.Terms.Mask = terms.Mask // the default one is added to that of the gate
	set, all, blank := gateKeys(&g), gateKeys(&whole), gateKeys(&approval.Gate{Action: approval.ActionAsk})
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

// ApproveText returns what entry i of tools, from 0, says about approvals, as the file has
// it.
func (c *Config) ApproveText(i int) string {
	t := &c.Tools.Entries[i]
	text := fmt.Sprintf("%s: %s\n", t.Kind, quoted(t.Name))
	if k, ok := find(t.keys(), "approve"); ok && t.Approve.Given {
		text += "approve: " + k.value() + "\n"
	} else if ok {
		text += "approve: " + k.fallback + " # by default\n"
	}
	if len(t.Pins) > 0 {
		text += "# with pins: a tool whose definition has changed asks, too\n"
	}
	return text
}
