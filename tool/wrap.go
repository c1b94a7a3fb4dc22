package tool

import (
	"strings"

	"a2a-server/tool/agent"
)

// gated is a tool with gates added to what it declares. It runs nothing: what its tool
// can do is found with [As].
type gated struct {
	Tool
	approval bool
	gates    []GateFunc
}

func (g *gated) Unwrap() Tool           { return g.Tool }
func (g *gated) RequiresApproval() bool { return g.approval || g.Tool.RequiresApproval() }

// Gate implements [Gater] with the gates that were added; those of the tool itself
// are found through Unwrap.
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
