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
func (d *Draft) fill(c *fold.Call, x *examined, a *approval.Approval) (err error) {
	f := d.f
	mask, keepsTask := d.policy(c).Mask(c.Tool)
	a.Terms.Mask, a.Terms.MaskTask = approval.Union(a.Terms.Mask, mask), a.Terms.MaskTask || keepsTask
	a.Kept = d.f.KeepsTask()
	a.V, a.State = approval.Version, approval.Pending
	if a.Terms.FourEyes {
		a.Editors = f.EditorsOf(c)
	}
	a.Task, a.Context = f.View.IDs().Task, f.View.IDs().Context
	a.Call, a.Alias, a.Tool, a.Agent = c.ID, c.Alias, c.Tool, d.rules.Agent
	a.Attempt, a.Requester, a.Asked = c.Attempt, f.RequesterOf(c), d.at.Now.Truncate(time.Millisecond)
	if ttl := a.Terms.Expires; ttl > 0 {
		deadline := a.Asked.Add(ttl).Truncate(time.Millisecond) // as its due row has it
		a.Deadline = &deadline
	}
	a.Hint = strings.ToValidUTF8(a.Hint, "\uFFFD") // as the log has it: the digest covers it
	d.number(a, 0 /* before */)
	a.Definition = x.entry.Digest
	a.TakesPayload = takesPayload(x.entry.Tool)
	if a.Kind != approval.KindQuestion {
		a.About = approval.NewAbout(x.entry.Definition, annotationsOf(x.entry.Tool))
	}
	a.Waits = a.WaitsFor(d.client())
	a.Digest, err = d.digest(a, &x.checked)
	return err
}

// client returns the task's A2A client as a decider.
func (d *Draft) client() approval.Decider {
	return approval.Decider{By: d.rules.People.Also(d.f.Sender()), Via: approval.ViaA2A, Delegated: d.rules.Delegated}
}

// number gives a new approval its id and its code, if it needs one. before is how many new approvals
// come before it that the draft has not asked yet.
func (d *Draft) number(a *approval.Approval, before int) {
	a.ID = approval.ID(a.Task, len(d.f.Approvals)+before+1, d.f.Restored.Mark())
	a.Later = len(d.f.Messages) > 1
	if a.Code == "" && a.NeedsCode() {
		a.Code = approval.NewCode(d.rules.NewID())
	}
}

// digest returns the digest of the question that a asks, about a call as it was checked.
func (d *Draft) digest(a *approval.Approval, call *checked) (string, error) {
	restored := d.f.Restored.IDs()
	return a.QuestionDigest(d.rules.Agent, call.entry.Definition.Name, call.entry.Digest, call.args, restored...)
}

// callDigest returns the digest of a call as it was checked.
func (d *Draft) callDigest(call *checked) (string, error) {
	return approval.Digest(d.rules.Agent, call.entry.Definition.Name, call.entry.Digest, call.args, d.f.Restored.IDs()...)
}

// bound reports whether an approval is for exactly this call, as it was shown or as its edit has it.
func (d *Draft) bound(a *fold.Approval, call *checked) (bool, error) {
	digest, err := d.digest(&a.Approval, call)
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
func (d *Draft) hasRun(c *fold.Call, x *examined) bool {
	return c.State == fold.CallUncertain && (!c.Safe || !repeatable(x.entry.Tool))
}

// termsOf returns the terms on which a call was approved; for a call without an approval, the
// terms on which it would be asked about now.
func (d *Draft) termsOf(c *fold.Call, x *examined) approval.Terms {
	if a := d.approvalOf(c); a != nil {
		return a.Terms
	}
	if now := d.examine(c, x.look, c.Args, false /* open */); now.verdict.Action == approval.ActionAsk {
		return now.verdict.Terms
	}
	return d.rules.Policy.AskTerms()
}

// askTerms returns the terms of a question of a running tool. What authorizes, and what may repeat
// what gates hide, is decided by the approvers of the call, in the same ways; only the deadline and the
// allowed decisions, which were chosen for the call, are the defaults for questions. Every question has the risk and the
// names of its call.
func (d *Draft) askTerms(c *fold.Call, x *examined, q *tool.Question) approval.Terms {
	own := d.rules.Policy.AskTerms()
	terms := d.termsOf(c, x)
	if !q.Kind.Authorizes() {
		if of := d.approvalOf(c); of != nil {
			own.Risk, own.Notify = of.Terms.Risk, of.Terms.Notify
		}
		if q.OfCall || d.masks(c) {
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
