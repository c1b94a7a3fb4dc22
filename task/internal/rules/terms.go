package rules

import (
	"slices"

	"a2a-server/approval"
	"a2a-server/task/internal/fold"
	"a2a-server/tool"
)

// termsOf returns the terms on which a call was approved; for a call without an approval, the
// terms on which it would be asked about now.
func termsOf(b basis, c *fold.Call, x *examined) approval.Terms {
	if a := b.ApprovalOf(c); a != nil {
		return a.Terms
	}
	if now := examine(b, c, x.look, c.Args, false /* open */); now.verdict.Action == approval.ActionAsk {
		return now.verdict.Terms
	}
	return b.Policy.AskTerms()
}

// askTerms returns the terms of a question of a running tool. What authorizes, and what may repeat
// what gates hide, is decided by the approvers of the call, in the same ways; only the deadline and the
// allowed decisions, which were chosen for the call, are the defaults for questions. Every question has the risk and the
// names of its call.
func askTerms(b basis, c *fold.Call, x *examined, q *tool.Question) approval.Terms {
	own := b.Policy.AskTerms()
	terms := termsOf(b, c, x)
	if !q.Kind.Authorizes() {
		if of := b.ApprovalOf(c); of != nil {
			own.Risk, own.Notify = of.Terms.Risk, of.Terms.Notify
		}
		if q.OfCall || masks(b, c) {
			own.AddExclusions(terms)
			own.WaitingState = terms.WaitingState
			own.Approvers, own.Needs = terms.Approvers, terms.Needs // one of the people answers
		}
		own.NoText = own.NoText || q.NoText
		return own
	}
	allowed := own.Allowed
	if q.Kind == tool.AskOutcome {
		terms, allowed = approval.OutcomeTerms(terms), nil
		if !q.TakesResponse {
			allowed = []approval.DecisionType{approval.Approve, approval.Reject, approval.Cancel}
		}
	}
	terms.Expires, terms.Allowed = own.Expires, allowed
	terms.NoText = terms.NoText || q.NoText
	terms.Destructive = terms.Destructive || q.Destructive || annotationsOf(x.entry.Tool).Destructive
	return terms
}

// stricter returns the terms of an approval together with those of a verdict about its call now. Where
// nothing asks, they are its own.
func stricter(a *fold.Approval, now *approval.Verdict) approval.Terms {
	if now.Action != approval.ActionAsk {
		return a.Terms
	}
	return a.Terms.Both(now.Terms)
}

// keepTerms adds the terms of an earlier approval of a call to a verdict that asks about the call.
func keepTerms(a *fold.Approval, now *approval.Verdict) {
	terms := stricter(a, now)
	now.Gates = approval.WithGates(now.Gates, a.Gates)
	if terms.Gate = now.Terms.Gate; !terms.Same(now.Terms) {
		terms.Grants = nil // no later call would be asked about on these terms
	}
	now.Terms = terms
}

// withoutEdit returns the decisions that terms allow about a call, except edit.
func withoutEdit(t approval.Terms) []approval.DecisionType {
	allowed := slices.DeleteFunc(approval.AllowedDecisions(approval.KindCall, t), func(v approval.DecisionType) bool { return v == approval.Edit })
	if len(allowed) == 0 {
		return []approval.DecisionType{approval.Reject, approval.Cancel}
	}
	return allowed
}
