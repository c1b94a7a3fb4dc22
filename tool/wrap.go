package tool

import (
	"strings"

	"a2a-server/tool/agent"
)

// gated is a tool with additional gates. It runs nothing itself; [As] finds the abilities of
// the wrapped tool.
type gated struct {
	Tool
	approval bool
	gates    []GateFunc
}

func (g *gated) Unwrap() Tool           { return g.Tool }
func (g *gated) RequiresApproval() bool { return g.approval || g.Tool.RequiresApproval() }

// HasGate reports whether there are added gates; see [Gater].
func (g *gated) HasGate() bool { return len(g.gates) > 0 }

// Gate implements [Gater] with the added gates; Unwrap leads to the gates of the tool itself.
func (g *gated) Gate(ctx agent.ReadonlyContext, args map[string]any) (ask bool, hint string, err error) {
	var hints []string
	for _, gate := range g.gates {
		a, h, err := gate(ctx, args)
		if err != nil {
			return true, h, err
		}
		ask = ask || a
		if a && h != "" {
			hints = append(hints, h)
		}
	}
	return ask, strings.Join(hints, "\n"), nil
}
