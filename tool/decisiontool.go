package tool

import "context"

// DecisionTool is a [Tool] whose result is the decision about its call: the caller acts, or does
// not, after it. A call has no effect of its own, so it is repeated after a crash. It needs
// approval also where a policy ignores the gates that tools declare; only a gate that allows it by
// its exact name lets it pass. It is looked up with [As].
type DecisionTool interface {
	Tool
	// Refusal returns the result of a call that was rejected, or that expired, in place of the
	// error that other tools have. The reason is in the words of a person, or "expired"; "": the
	// person gave none.
	Refusal(reason string) map[string]any
}

// IsDecision reports whether t is a [DecisionTool]. A tool that panics is none.
func IsDecision(t Tool) (is bool) {
	defer func() { is = recover() == nil && is }()
	_, is = As[DecisionTool](t)
	return is
}

// ByPolicy is the name in [Approval].By of a policy that lets a call run without asking.
const ByPolicy = "policy"

// Approval says why a call may run.
type Approval struct {
	// ID identifies the approval of this call: it is the same each time that the call runs under
	// it, and no other call has it. Without an approval of its own, the call has an id made of task
	// and call.
	ID string
	// By are the subjects of the deciders, voters first; of a grant, that of its maker; ByPolicy if
	// a gate allows the call, or nothing asks about it.
	By []string
	// Grant is the id of the grant that lets the call run; "": none.
	Grant string
}

// ApprovalOf returns why the call that runs in ctx may run. It is zero in any other context.
func ApprovalOf(ctx context.Context) Approval { return callValues(ctx).Approval }
