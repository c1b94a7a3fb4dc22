package tool

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"a2a-server/tool/agent"
)

// Gater is a tool that decides call by call whether approval is required. An error, or a
// panic, means that it is. A Gater with a method HasGate() bool that returns false asks about
// every call or none, and its hint only describes the call.
type Gater interface {
	// Gate looks at the arguments, which have been checked against the schema and must
	// not be changed. hint tells the approver why approval is required. Gate must be
	// quick and free of side effects: it may run more than once for one call.
	Gate(ctx agent.ReadonlyContext, args map[string]any) (ask bool, hint string, err error)
}

// GateFunc is the Gate method of a [Gater] as a function.
type GateFunc func(ctx agent.ReadonlyContext, args map[string]any) (ask bool, hint string, err error)

// NeedsApproval reports whether a call of t has to be approved: it does if any tool of its
// [Chain] says so, by RequiresApproval or by its gate. No wrapper can revoke that. hint has
// the hints of the gates that ask, one per line. failed joins the errors and panics of gates,
// each of which counts as asking; they are for the log, not for the approver.
func NeedsApproval(ctx agent.ReadonlyContext, t Tool, args map[string]any) (ask bool, hint string, failed error) {
	if t == nil {
		return true, "", nil
	}
	defer func() { // an Unwrap that panics
		if p := recover(); p != nil {
			ask, failed = true, errors.Join(failed, fmt.Errorf("panic while looking for a tool's gates: %v", p))
		}
	}()
	var hints []string
	for t := range Chain(t) {
		a, h, err := asks(ctx, t, args)
		ask, failed = ask || a, errors.Join(failed, err)
		if h = strings.TrimSpace(h); a && h != "" && !slices.Contains(hints, h) {
			hints = append(hints, h)
		}
	}
	return ask, strings.Join(hints, "\n"), failed
}

// Reasons returns why the tools of t's [Chain] ask about a call: the hint of each that asks, ""
// if that only describes the call.
func Reasons(ctx agent.ReadonlyContext, t Tool, args map[string]any) (all []string) {
	for t := range Chain(t) {
		ask, hint, _ := asks(ctx, t, args)
		if decides, is := t.(interface{ HasGate() bool }); is && !decides.HasGate() {
			hint = ""
		}
		if ask {
			all = append(all, hint)
		}
	}
	return all
}

// asks is NeedsApproval for a single tool of the chain.
func asks(ctx agent.ReadonlyContext, t Tool, args map[string]any) (ask bool, hint string, failed error) {
	defer func() {
		if p := recover(); p != nil {
			ask, hint, failed = true, "", fmt.Errorf("panic: %v", p)
		}
	}()
	ask = t.RequiresApproval()
	g, ok := t.(Gater)
	if !ok {
		return ask, "", nil
	}
	gated, hint, err := g.Gate(ctx, args)
	return ask || gated || err != nil, hint, err
}
