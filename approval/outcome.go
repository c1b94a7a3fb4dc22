package approval

// RuleTool is the rule of an approval that the tool's own gate asked for.
// RuleDefault is that of a call which no rule has anything to say about. No gate may
// have either name.
const (
	RuleTool    = "tool"
	RuleDefault = "default"
)

// outcomeSuffix tells the two approvals of one rule apart in the audit.
const outcomeSuffix = ":outcome"

// OutcomeTerms returns the terms of the question about the outcome of a call with terms t.
// Approvers and conditions stay. All verbs of [KindOutcome] are allowed (t.Allowed was chosen
// for the verbs of a call), and the rule has a suffix. There is a deadline only when t has
// one; no default is added.
func OutcomeTerms(t Terms) Terms {
	if t.Rule == "" {
		t.Rule = RuleDefault
	}
	t.Rule += outcomeSuffix
	t.Allowed = nil
	return t
}
