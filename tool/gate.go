package tool

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"a2a-server/internal/guard"
	"a2a-server/tool/agent"
)

// Gater is a tool that decides call by call whether approval is required. An error, or a
// panic, means that it is. A Gater with a method HasGate() bool that returns false asks about
// every call or none.
type Gater interface {
	// Gate looks at the arguments, which have been checked against the schema and must
	// not be changed. Gate must be quick and free of side effects: it may run more than once
	// for one call. Its error is for the log.
	Gate(ctx agent.ReadonlyContext, args map[string]any) (ask bool, err error)
}

// GateFunc is the Gate method of a [Gater] as a function.
type GateFunc func(ctx agent.ReadonlyContext, args map[string]any) (ask bool, err error)

// Hinter is a tool that tells the approvers of a call its effect, or why it has to be
// approved.
type Hinter interface {
	// Hint returns the text, "" for none. Lists, mails and messages show it to people who may
	// not see every argument, so a value that a gate masks is a [Masked] in args, and the
	// original is not there. args must not be changed. Hint must be quick and free of side
	// effects. An error says that the text cannot be made; a text beside it is shown all the same.
	Hint(ctx agent.ReadonlyContext, args map[string]any) (string, error)
}

// HintFunc is the Hint method of a [Hinter] as a function.
type HintFunc func(ctx agent.ReadonlyContext, args map[string]any) (string, error)

// NeedsApproval reports whether a call of t has to be approved: it does if any tool of its
// [Chain] says so, by RequiresApproval or by its gate. No wrapper can revoke that. failed joins
// the errors and panics of gates, each of which counts as asking; they are for the log, not for
// the approver.
func NeedsApproval(ctx agent.ReadonlyContext, t Tool, args map[string]any) (ask bool, failed error) {
	if t == nil {
		return true, nil
	}
	defer func() { // an Unwrap that panics
		if p := recover(); p != nil {
			ask, failed = true, errors.Join(failed, fmt.Errorf("panic while looking for a tool's gates: %v", p))
		}
	}()
	for t := range Chain(t) {
		a, _, err := asks(ctx, t, args)
		ask, failed = ask || a, errors.Join(failed, err)
	}
	return ask, failed
}

// Hint returns the hints of the [Chain] of t for a call with masked arguments, a line each.
// failed joins the errors and panics.
func Hint(ctx agent.ReadonlyContext, t Tool, masked map[string]any) (hint string, failed error) {
	var hints []string
	for t := range Chain(t) {
		h, err := hintOf(ctx, t, masked)
		failed = errors.Join(failed, err)
		if h = strings.TrimSpace(h); h != "" && !slices.Contains(hints, h) {
			hints = append(hints, h)
		}
	}
	return strings.Join(hints, "\n"), failed
}

// Reasons returns why the tools of t's [Chain] ask about a call: "" for each that asks about every
// call, and else what its gate, which decides by the arguments, has as the hint.
func Reasons(ctx agent.ReadonlyContext, t Tool, args, masked map[string]any) (all []string) {
	for t := range Chain(t) {
		ask, gated, _ := asks(ctx, t, args)
		if gated && Gates(t) {
			hint, _ := hintOf(ctx, t, masked)
			all = append(all, "by its arguments: "+hint)
		} else if ask {
			all = append(all, "")
		}
	}
	return all
}

// Gates reports whether t itself is a [Gater] that decides call by call.
func Gates(t Tool) bool {
	_, gater := t.(Gater)
	decides, says := t.(interface{ HasGate() bool })
	return gater && (!says || decides.HasGate())
}

// asks is NeedsApproval for a single tool of the chain. gated reports whether its gate asks.
func asks(ctx agent.ReadonlyContext, t Tool, args map[string]any) (ask, gated bool, failed error) {
	always, failed := guard.Call(func() (_ bool, err error) {
		if g, ok := t.(Gater); ok && Gates(t) {
			gated, err = g.Gate(ctx, args)
		}
		return t.RequiresApproval(), err
	})
	gated = gated || failed != nil
	return gated || always, gated, failed
}

// hintOf is Hint for a single tool of the chain.
func hintOf(ctx agent.ReadonlyContext, t Tool, masked map[string]any) (hint string, failed error) {
	defer guard.Recover(&failed, "panic")
	if h, ok := t.(Hinter); ok {
		return h.Hint(ctx, masked)
	}
	return "", nil
}
