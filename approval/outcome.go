package approval

import "fmt"

// GateTool is the gate of an approval that the tool's own gate asked for.
// GateDefault is that of a call which no gate has anything to say about. No gate may
// have either name.
const (
	GateTool    = "tool"
	GateDefault = "default"
)

// outcomeSuffix tells the two approvals of a gate apart in the audit.
const outcomeSuffix = ":outcome"

// OutcomeHint returns the question whether a call of a tool has run. why says why that is unknown.
func OutcomeHint(tool, why string) string {
	return fmt.Sprintf("It is not known whether %s has run: %s. Approve to run it again, respond with its result if you know it, or reject to give it up.", tool, why)
}

// OutcomeTerms returns the terms of the question about the outcome of a call with terms t.
// Approvers and conditions stay; grants do not. All decisions of [KindOutcome] are allowed (t.Allowed was chosen
// for the decisions of a call), and the gate has a suffix. The deadline is t's; no default is
// added.
func OutcomeTerms(t Terms) Terms {
	if t.Gate == "" {
		t.Gate = GateDefault
	}
	t.Gate += outcomeSuffix
	t.Allowed, t.Grants = nil, nil
	return t
}
