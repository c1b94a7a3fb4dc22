package rules

import (
	"encoding/json"
	"fmt"
	"strings"

	"a2a-server/approval"
	"a2a-server/internal/guard"
	"a2a-server/internal/visible"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
	"a2a-server/tool"
)

// ending is how a call ends: with its result or with an error text.
type ending struct {
	outcome task.Outcome
	result  json.RawMessage
	problem string
	delta   map[string]any  // of the tools' state
	actions json.RawMessage // see [EncodeActions]
	gate    string          // that denies the call
}

// finish ends a call.
func finish(add additions, b basis, c *fold.Call, e ending) additions {
	problem := visible.Shorten(visible.Text(e.problem), fold.MaxProblem)
	add.unwake(c)
	add.unretry(c)
	name := c.Approval
	if grant := b.Granted(c); name == "" && grant != nil {
		name = grant.ID // it was run again under this approval
	}
	if c.State != fold.CallRunning { // else it is canceled through its context
		add = addChildCancel(add, b, c)
	}
	add.event(b, event.KindFinished, &event.CallFinished{Call: c.ID, Outcome: e.outcome, Result: e.result, Error: problem, Delta: e.delta, Actions: e.actions})
	add.share(b, e.delta)
	add = closeAsks(add, b, c, "the call has ended")
	add.record(b, approval.Audit{What: approval.AuditFinished, Call: c.ID, Tool: c.Tool, Outcome: string(e.outcome), Reason: auditedWhy(b, c, e.outcome, e.gate, problem), Approval: name, Grant: c.Grant, Attempt: c.Attempt})
	return add
}

// auditedWhy returns why a call has ended, for the audit. The words of tools, hooks and persons, which may
// repeat what gates hide, are left out.
func auditedWhy(b basis, c *fold.Call, outcome task.Outcome, gate, why string) string {
	gated := outcome == task.OutcomeExpired || outcome == task.OutcomeDenied && gate != ""
	if why == "" || gated || !hides(b, c) {
		return why
	}
	return tool.ErrMasked.Error()
}

// complete gives a call its result and publishes it.
func complete(add additions, b basis, c *fold.Call, outcome task.Outcome, result json.RawMessage) additions {
	if result = event.Compact(result); result == nil {
		result = json.RawMessage("null")
	}
	add.artifact(b, &event.ArtifactUpdate{ID: c.ID, Name: c.Tool, Parts: event.ResultParts(result, b.Limits.Result(), b.Presenter.Imitates), Last: true})
	return finish(add, b, c, ending{outcome: outcome, result: result})
}

// deny ends a call that is denied as notRun does.
func deny(add additions, b basis, c *fold.Call, x *examined) additions {
	audited := len(add.audited)
	add = notRun(add, b, c, ending{outcome: task.OutcomeDenied, problem: x.verdict.Reason, gate: x.said().Gate})
	add.follows(audited, x.said())
	return add
}

// endInvalid ends a call that is invalid as notRun does.
func endInvalid(add additions, b basis, c *fold.Call, why error) additions {
	return notRun(add, b, c, ending{outcome: task.OutcomeInvalid, problem: why.Error()})
}

// notRun ends a call that is not run, not run again, or not continued. If an earlier run of it may have
// had an effect, the outcome is unknown, whatever it is that keeps the call from running.
func notRun(add additions, b basis, c *fold.Call, e ending) additions {
	started := "the call had started, and is not continued: "
	if c.Cause != "" {
		started = fmt.Sprintf("the result of the call is unknown: %s; and it is not run again: ", c.Why)
	}
	if c.Cause != "" || c.Paused {
		e.outcome, e.problem = task.OutcomeUnknown, started+e.problem
	}
	return finish(add, b, c, e)
}

// rejected ends a call that a person rejected, or gave up because its outcome is unknown; its
// result says so, with the reason. Artifacts of an earlier run remain.
func rejected(add additions, b basis, c *fold.Call, a *fold.Approval) additions {
	if a.Kind == approval.KindOutcome {
		text := withReason("the result of the call is unknown and it was given up", a.Resolution.Reason)
		return finish(add, b, c, ending{outcome: task.OutcomeUnknown, problem: text})
	}
	return reject(add, b, c, withReason("the call was rejected", a.Resolution.Reason), a.Resolution.Reason)
}

// rejectedAgain ends a call that was rejected before, when the agent asks for it again.
func rejectedAgain(add additions, b basis, c *fold.Call, before *fold.Approval) additions {
	text := withReason(fmt.Sprintf("the same call was rejected before in this task (%s)", before.ID), before.Resolution.Reason)
	return reject(add, b, c, text, text)
}

// reject ends a rejected call with a text or, for the tool of a decision, with its result for the reason.
func reject(add additions, b basis, c *fold.Call, text, reason string) additions {
	if result := refusal(b, c, reason); result != nil {
		return complete(add, b, c, task.OutcomeRejected, result)
	}
	if c.Attempt == 0 {
		add.artifact(b, &event.ArtifactUpdate{ID: c.ID, Name: c.Tool, Parts: event.TextPart(visible.Text(text)), Last: true})
	}
	return notRun(add, b, c, ending{outcome: task.OutcomeRejected, problem: text})
}

// refusal returns the result that the [tool.DecisionTool] of a call that was not approved has for that, nil if
// there is none: from any other tool, from a tool that panics, and for a call that has started: its outcome is
// unknown.
func refusal(b basis, c *fold.Call, reason string) json.RawMessage {
	l := lookUp(b, c)
	if l.entry == nil || c.Attempt > 0 || !tool.IsDecision(l.entry.Tool) {
		return nil
	}
	result, err := refusalOf(l.entry.Tool, reason)
	if err != nil {
		problem(b, "a tool has no result for a refusal, so its call is rejected", redact(b, c, err))
		return nil
	}
	return result
}

// refusalOf returns the result of a decision tool for a refusal. A panic is an error.
func refusalOf(t tool.Tool, reason string) (_ json.RawMessage, err error) {
	defer guard.Recover(&err, "the tool panicked")
	decision, _ := tool.As[tool.DecisionTool](t)
	return event.EncodeValue(decision.Refusal(reason))
}

// withReason appends a person's reason, if any, to a text.
func withReason(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + ": " + reason
}

// rejectedBefore returns the rejection of the same call earlier in the task, nil if there is none. It
// decides before any grant: it is about this very call.
func rejectedBefore(b basis, c *fold.Call, x *examined) *fold.Approval {
	if c.Attempt > 0 || c.Restored {
		return nil
	}
	return b.Newest(func(a *fold.Approval) bool {
		if a.Kind != approval.KindCall || a.Ask != "" || a.State != approval.Rejected || a.Void || a.Tool != c.Tool || a.Call == c.ID {
			return false
		}
		same, _ := bound(b, a, &x.checked)
		return same
	})
}

// unknown records that the outcome of a call is unknown, and closes the question that held the
// call.
func unknown(add additions, b basis, c *fold.Call, cause event.Cause, why string) additions {
	add = withdraw(add, b, c.Held, notHeld)
	why = visible.Shorten(visible.Text(why), fold.MaxProblem) // a tool may have written it
	add.event(b, event.KindUnknown, &event.CallUnknown{Call: c.ID, Why: why, Cause: cause})
	add.record(b, approval.Audit{What: approval.AuditUnknown, Call: c.ID, Tool: c.Tool, Reason: whyUnknown(cause, why, hides(b, c)), Attempt: c.Attempt})
	return add
}

// redact returns what a tool says about a call, for questions, which people read who see masked
// arguments. Where another call keeps the task, [approval.Approval.For] leaves it out.
func redact(b basis, c *fold.Call, err error) error { return redacted(masks(b, c), err) }

// unknownWhy returns, for display, a tool's reason for an unknown outcome, without the words
// of [tool.ErrOutcomeUnknown], which the question has anyway.
func unknownWhy(err error) string {
	sentinel := tool.ErrOutcomeUnknown.Error()
	says := strings.TrimSuffix(strings.TrimPrefix(err.Error(), sentinel), sentinel)
	if says = strings.Trim(says, ":. \t\r\n"); says == "" {
		return "the tool does not say why"
	}
	return "the tool reports: " + says
}

// unknownLate returns the error of a run with an unknown outcome that ended too late for its
// caller. It says that the outcome is unknown, whatever the tool's error says.
func unknownLate(err error) string {
	sentinel, says := tool.ErrOutcomeUnknown.Error(), err.Error()
	if strings.Contains(says, sentinel) {
		return says
	}
	return sentinel + ": " + says
}

// canceledCall is the reason given to the approvals and the result of a canceled call.
const canceledCall = "the call was canceled"

// endCanceled ends a canceled call that no longer runs. why adds detail to its result.
func endCanceled(add additions, b basis, c *fold.Call, why string, actions json.RawMessage) additions {
	if c.Attempt == 0 {
		return finish(add, b, c, ending{outcome: task.OutcomeCanceled, problem: canceledCall, actions: actions})
	}
	text := canceledCall + " after it had started, and its outcome is unknown"
	if why != "" {
		text += ": " + why
	}
	return finish(add, b, c, ending{outcome: task.OutcomeUnknown, problem: text, actions: actions})
}
