package config

import (
	"cmp"
	"fmt"
	"strings"

	"a2a-server/approval"
)

// GateText returns a gate like its entry of gates, without the keys that are not set. Lines
// that end with "by default" come from terms, which are the gate's own with the defaults of
// its policy.
func GateText(g approval.Gate, terms approval.Terms) string {
	var out strings.Builder
	g.Action = cmp.Or(g.Action, approval.ActionAsk)
	whole := g
	whole.Terms = terms
	g.Terms.Mask = terms.Mask // the default mask is added to the gate's mask
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

// ApproveText returns the lines about approvals of entry i of tools, from 0, like the file.
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
