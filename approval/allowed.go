package approval

import (
	"slices"

	"a2a-server/tool"
)

// askConfirm is the AskKind of an approval that a running tool asks for. The arguments of its
// call are in use already, so that they cannot be edited. A tool that asks with a schema takes an
// edit of the arguments in its payload: the edit fits the schema, and only the tool reads it.
const askConfirm = string(tool.AskConfirm)

// AllowedDecisions returns the decisions that an approval of kind k with terms t accepts, in
// the order in which they are offered. A question of a running tool accepts fewer: see
// [Approval.Decisions].
func AllowedDecisions(k Kind, t Terms) []DecisionType {
	var decisions []DecisionType
	switch k {
	case KindCall:
		decisions = []DecisionType{Approve, Edit, Reject, Cancel}
	case KindOutcome:
		decisions = []DecisionType{Approve, Respond, Reject, Cancel}
	case KindQuestion:
		decisions = []DecisionType{Respond, Reject, Cancel}
	}
	if t.Allowed != nil {
		decisions = slices.DeleteFunc(decisions, func(v DecisionType) bool { return !slices.Contains(t.Allowed, v) })
	}
	return decisions
}

// known reports whether v is a decision at all.
func (v DecisionType) known() bool {
	return slices.Contains([]DecisionType{Approve, Edit, Reject, Respond, Cancel}, v)
}
