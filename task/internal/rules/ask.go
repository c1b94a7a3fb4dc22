package rules

import (
	"strings"
	"time"

	"a2a-server/approval"
	"a2a-server/task/internal/fold"
	"a2a-server/tool"
)

// fill sets the fields that every approval of a call has, and binds it to x, the examined
// call.
func fill(b basis, c *fold.Call, x *examined, a *approval.Approval) (err error) {
	f := b.f
	mask, keepsTask := policy(b, c).Mask(c.Tool)
	a.Terms.Mask, a.Terms.MaskTask = approval.Union(a.Terms.Mask, mask), a.Terms.MaskTask || keepsTask
	a.Kept = b.f.KeepsTask()
	a.V, a.State = approval.Version, approval.Pending
	if a.Terms.FourEyes {
		a.Editors = f.EditorsOf(c)
	}
	a.Task, a.Context = f.View.IDs().Task, f.View.IDs().Context
	a.Call, a.Alias, a.Tool, a.Agent = c.ID, c.Alias, c.Tool, b.rules.Agent
	a.Attempt, a.Requester, a.Asked = c.Attempt, f.RequesterOf(c), b.at.Now.Truncate(time.Millisecond)
	if ttl := a.Terms.Expires; ttl > 0 {
		deadline := a.Asked.Add(ttl).Truncate(time.Millisecond) // as its due row has it
		a.Deadline = &deadline
	}
	a.Hint = strings.ToValidUTF8(a.Hint, "\uFFFD") // as the log has it: the digest covers it
	number(b, a, 0 /* before */)
	a.Definition = x.entry.Digest
	a.TakesPayload = takesPayload(x.entry.Tool)
	if a.Kind != approval.KindQuestion {
		a.About = approval.NewAbout(x.entry.Definition, annotationsOf(x.entry.Tool))
	}
	a.Waits = a.WaitsFor(client(b))
	a.Digest, err = questionDigest(b, a, &x.checked)
	return err
}

// client returns the task's A2A client as a decider.
func client(b basis) approval.Decider {
	return approval.Decider{By: b.rules.People.Also(b.f.Sender()), Via: approval.ViaA2A, Delegated: b.rules.Delegated}
}

// number gives a new approval its id and its code, if it needs one. before is how many new approvals
// come before it that the draft has not asked yet.
func number(b basis, a *approval.Approval, before int) {
	a.ID = approval.ID(a.Task, len(b.f.Approvals)+before+1, b.f.Restored.Mark())
	a.Later = len(b.f.Messages) > 1
	if a.Code == "" && a.NeedsCode() {
		a.Code = approval.NewCode(b.rules.NewID())
	}
}

// questionDigest returns the digest of the question that a asks, about a call as it was checked.
func questionDigest(b basis, a *approval.Approval, call *checked) (string, error) {
	restored := b.f.Restored.IDs()
	return a.QuestionDigest(b.rules.Agent, call.entry.Definition.Name, call.entry.Digest, call.args, restored...)
}

// callDigest returns the digest of a call as it was checked.
func callDigest(b basis, call *checked) (string, error) {
	return approval.Digest(b.rules.Agent, call.entry.Definition.Name, call.entry.Digest, call.args, b.f.Restored.IDs()...)
}

// bound reports whether an approval is for exactly this call, as it was shown or as its edit has it.
func bound(b basis, a *fold.Approval, call *checked) (bool, error) {
	digest, err := questionDigest(b, &a.Approval, call)
	return err == nil && digest == a.GrantedDigest(), err
}

// takesPayload reports whether a tool declares that it reads the payload of a decision. A
// tool that panics declares nothing.
func takesPayload(t tool.Tool) (takes bool) {
	defer func() { _ = recover() }()
	p, ok := tool.As[tool.TakesPayload](t)
	return ok && p.TakesPayload()
}

// annotationsOf returns the annotations of a tool. A tool that panics declares nothing.
func annotationsOf(t tool.Tool) (is tool.Annotations) {
	defer func() { _ = recover() }()
	return tool.AnnotationsOf(t)
}

// repeatable reports whether a tool says that repeating its calls has no further effect.
func repeatable(t tool.Tool) bool {
	is := annotationsOf(t)
	return is.ReadOnly || is.Idempotent || tool.IsDecision(t)
}

// hasRun reports whether a call may have had an effect before its process died, so that a
// person has to decide about its outcome. Only a call with a checkpoint is entered again
// without that.
func hasRun(b basis, c *fold.Call, x *examined) bool {
	return c.State == fold.CallUncertain && (!c.Safe || !repeatable(x.entry.Tool))
}

// termsOf returns the terms on which a call was approved; for a call without an approval, the
// terms on which it would be asked about now.
func termsOf(b basis, c *fold.Call, x *examined) approval.Terms {
	if a := approvalOf(b, c); a != nil {
		return a.Terms
	}
	if now := examine(b, c, x.look, c.Args, false /* open */); now.verdict.Action == approval.ActionAsk {
		return now.verdict.Terms
	}
	return b.rules.Policy.AskTerms()
}

// askTerms returns the terms of a question of a running tool. What authorizes, and what may repeat
// what gates hide, is decided by the approvers of the call, in the same ways; only the deadline and the
// allowed decisions, which were chosen for the call, are the defaults for questions. Every question has the risk and the
// names of its call.
func askTerms(b basis, c *fold.Call, x *examined, q *tool.Question) approval.Terms {
	own := b.rules.Policy.AskTerms()
	terms := termsOf(b, c, x)
	if !q.Kind.Authorizes() {
		if of := approvalOf(b, c); of != nil {
			own.Risk, own.Notify = of.Terms.Risk, of.Terms.Notify
		}
		if q.OfCall || masks(b, c) {
			own.FourEyes, own.Elsewhere, own.Human = own.FourEyes || terms.FourEyes, own.Elsewhere || terms.Elsewhere, own.Human || terms.Human
			own.WaitingState, own.NoText = terms.WaitingState, own.NoText || terms.NoText
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
