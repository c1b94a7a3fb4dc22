package tool

import (
	"fmt"
	"slices"
	"strings"

	"a2a-server/tool/agent"
)

// Gater is a tool that decides call by call whether it has to be approved. An
// error, or a panic, means that it has.
type Gater interface {
	// Gate looks at the arguments, which have been checked against the schema and
	// must not be changed. hint tells whoever decides why it is asked. It must be
	// quick and without effect: it may be called more than once for one call.
	Gate(ctx agent.ReadonlyContext, args map[string]any) (ask bool, hint string, err error)
}

// GateFunc is the method of a [Gater] as a function.
type GateFunc func(ctx agent.ReadonlyContext, args map[string]any) (ask bool, hint string, err error)

// NeedsApproval reports whether a call of t has to be approved: if any tool of its
// [Chain] says so, by RequiresApproval or by its gate. No wrapper can take that
// back. hint holds what the gates that ask said, one to a line.
func NeedsApproval(ctx agent.ReadonlyContext, t Tool, args map[string]any) (ask bool, hint string) {
	if t == nil {
		return true, ""
	}
	defer func() { // an Unwrap that panics
		if p := recover(); p != nil {
			ask, hint = true, fmt.Sprintf("looking for the gates of this tool panicked: %v", p)
		}
	}()
	var hints []string
	for t := range Chain(t) {
		a, h := asks(ctx, t, args)
		ask = ask || a
		if h = strings.TrimSpace(h); a && h != "" && !slices.Contains(hints, h) {
			hints = append(hints, h)
		}
	}
	return ask, strings.Join(hints, "\n")
}

// asks is NeedsApproval for one tool of the chain.
func asks(ctx agent.ReadonlyContext, t Tool, args map[string]any) (ask bool, hint string) {
	defer func() {
		if p := recover(); p != nil {
			ask, hint = true, fmt.Sprintf("the gate of this tool panicked: %v", p)
		}
	}()
	ask = t.RequiresApproval()
	g, ok := t.(Gater)
	if !ok {
		return ask, ""
	}
	gated, hint, err := g.Gate(ctx, args)
	if err != nil {
		return true, strings.TrimSpace(hint + "\nthe gate of this tool failed: " + err.Error())
	}
	return ask || gated, hint
}
