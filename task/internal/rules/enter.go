package rules

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"a2a-server/approval"
	"a2a-server/internal/strictjson"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
	"a2a-server/tool"
	"a2a-server/tool/toolconfirmation"
)

// Execution is a call about to run its tool, with everything that was checked for it. To run
// it, nothing has to be looked up again.
type Execution struct {
	Call    string // id
	Name    string // of the tool
	Tool    tool.Tool
	Allowed bool                  // a person or the policy has allowed this attempt; false: the attempt continues
	Args    map[string]any        // strictly decoded and valid; the run's own
	Context *task.ReadonlyContext // of when it was checked; the run has a Context of its own
	State   map[string]any        // of the tools; the run's own
	Decided map[string]bool       // confirmations that the call has asked for since its state was kept: by id, whether approved
	Asked   map[string]int        // confirmations before that, by content: the number of the last
	Output  int64                 // bytes that the call had published by its newest suspension
	// CallValues are what the tool reads; its run adds itself. Confirmation is the newest that the tool may read: nil
	// if there is none, or it has asked since. Private: gates mask arguments of the call, or keep its task.
	tool.CallValues

	checked  checked
	decision approval.DecisionType // see Result
	note     string
	verdict  Verdict    // that allows the call; zero: a person has, or an earlier entry
	standing *usedGrant // that lets the call start, or go on, without asking; nil: none
}

// Logged returns what the log may have of the value with which the tool has panicked.
func (e *Execution) Logged(p any) any {
	if e.Private {
		return tool.ErrMasked
	}
	return p
}

// mayEnter is the only way into a tool: it is called before every entry, the first or a later
// one, from the beginning or after a suspension, with a look at the tool, while entering other calls
// are about to be entered. It returns the entry, or nil if the call may not be entered now. It then adds
// why: approval was requested, the call has ended, or it is retried later. It adds nothing if the call
// waits for a sibling to end.
//
// An approved call is entered if the tool's definition and the arguments equal those shown to
// the approver; otherwise approval is requested again. The terms of the approval remain in
// force, but a call that is denied now is not run. A call without an approval is entered only
// if the policy allows it now, or a grant covers it, and it was not planned before a restoration.
// If it was rejected earlier in the task, it is rejected again. In all cases the arguments must be
// valid against the current schema.
func mayEnter(add additions, b basis, c *fold.Call, l look, entering int) (additions, *Execution) {
	first := c.State == fold.CallPlanned && (!c.Restored || b.ApprovalOf(c) == nil)
	x := examine(b, c, l, c.Args, first)
	grant, audited := b.Granted(c), len(add.audited)
	var standing *usedGrant
	switch {
	case x.trouble != nil:
		return postpone(add, b, c, x.trouble), nil
	case x.invalid != nil:
		return endInvalid(add, b, c, x.invalid), nil
	case x.verdict.Action == approval.ActionDeny:
		return deny(add, b, c, &x), nil
	case grant == nil && mustAsk(b, c, &x):
		if x.hasRun(c) {
			return askOutcome(add, b, c, &x), nil
		}
		if before := rejectedBefore(b, c, &x); before != nil {
			add = rejectedAgain(add, b, c, before)
			add.follows(audited, x.said())
			return add, nil
		}
		if standing, x.lapsed = standingGrant(add, b, c, &x); standing == nil {
			add = askCall(add, b, c, &x, "")
			add.follows(audited, x.said())
			return add, nil
		}
		if err := tool.Unreachable(x.entry.Tool); err != nil {
			return postpone(add, b, c, err), nil
		}
	case grant != nil:
		same, err := bound(b, grant, &x.checked)
		if err != nil {
			return endInvalid(add, b, c, err), nil
		}
		if !same {
			return askAgain(add, b, c, &x, grant), nil
		}
		if err := tool.Unreachable(x.entry.Tool); err != nil {
			return postpone(add, b, c, err), nil // it would fail, and a person has approved it
		}
		if decided := grant.Resolution.At; c.State == fold.CallDecided && c.Since != nil && b.Now.Sub(decided) > maxApproved {
			x.lapsed = lapsed(decided)
			return askAgain(add, b, c, &x, grant), nil
		}
	}
	for _, ask := range c.Asks { // the tool has not got the answers yet
		a := b.Approval(ask.Approval)
		if a == nil || !a.State.Allows() || !tool.QuestionKind(a.AskKind).Authorizes() || c.Since == nil {
			continue
		}
		if decided := a.Resolution.At; b.Now.Sub(decided) > maxApproved && b.Now.Sub(*c.Since) > maxApproved {
			x.lapsed = lapsed(decided)
			return askAgain(add, b, c, &x, a), nil
		}
	}
	if running := b.Busy() + entering; !roomToRun(b, running) {
		if running > 0 {
			return add, nil // a call that ends gives its room back, and then this call is examined again
		}
		return notRun(add, b, c, ending{outcome: task.OutcomeError, problem: "the task's log is full: there is no room for the call's outcome, so it was not run"}), nil
	}
	e := newExecution(b, c, &x)
	e.Approval = tool.Approval{ID: b.View.IDs().Task + "." + c.ID, By: []string{tool.ByPolicy}}
	if grant != nil {
		e.DecidedAt = grant.Resolution.At
		e.Approval = tool.Approval{ID: grant.ID, By: grant.Deciders(grant.GrantedDigest())}
	}
	if e.standing = standing; standing != nil {
		standing.promised++
		e.DecidedAt = b.Now
		e.Approval.By, e.Approval.Grant = []string{standing.by.Subject}, standing.ID
	}
	if first && grant == nil {
		e.verdict = x.said()
	}
	return add, e
}

// newExecution builds the entry of a call.
func newExecution(b basis, c *fold.Call, x *examined) *Execution {
	e := &Execution{
		Call: c.ID, Name: c.Tool, Tool: x.entry.Tool, Args: x.args,
		Context: x.ctx, State: strictjson.Clone(b.ToolState()), Output: c.Output, checked: x.checked,
		CallValues: tool.CallValues{Attempt: c.Attempt, Private: hides(b, c)},
	}
	e.Checked = &e.checked.proof
	e.decision, e.note = b.DecisionOn(c.ID)
	var read *fold.Approval // that e.Confirmation is about
	for _, a := range b.Approvals {
		switch {
		case a.Call != c.ID || a.Void || a.Ask != "" || !a.State.Allows():
		case a.Resolution.Payload != nil:
			read, e.Confirmation = a, confirmationOf(a) // the tool takes the payload
		case a.Kind == approval.KindCall:
			e.Confirmation = nil // an earlier one was for another tool, or other arguments
		}
	}
	answered, fresh := c.Answered, len(c.Answered)-c.Fresh
	if c.Paused { // the suspension that is resumed
		answered, fresh = append(answered[:len(answered):len(answered)], c.Asks...), len(answered)
	}
	used := c.Used
	if !c.Paused && c.State != fold.CallUncertain { // another attempt
		used = len(answered)
	}
	var answers []tool.Answer
	gone := map[string]bool{} // confirmations that are used up
	for i, ask := range answered {
		a := b.Approval(ask.Approval)
		if a == nil || a.Resolution == nil || a.State == approval.Superseded {
			continue
		}
		kind := tool.QuestionKind(a.AskKind)
		if kind.Authorizes() {
			if same, _ := bound(b, a, &x.checked); !same {
				continue // the tool has changed since, so it has to ask again
			}
		}
		switch {
		case kind != tool.AskConfirm:
		case i < used: // the tool has gone on from it: an equal question is another
			e.count(ask.Ask)
			gone[a.ID] = true
		default:
			if e.Decided == nil {
				e.Decided = map[string]bool{}
			}
			e.Decided[ask.Ask] = a.State.Allows() && a.Met(a.Digest)
			read, e.Confirmation = a, confirmationOf(a)
		}
		if i >= fresh {
			answers = append(answers, answerOf(a))
		}
	}
	newest := b.Newest(func(a *fold.Approval) bool {
		return a == read || a.Call == c.ID && a.AskKind == string(tool.AskConfirm) && !gone[a.ID]
	})
	if newest != read || b.Undecided(c) { // the newest has no answer that counts
		e.Confirmation = nil
	}
	if c.Suspended > 0 || c.Checkpoint {
		e.Resumption = &tool.Resumption{State: c.ToolState, Answers: answers, Open: openQuestions(b.Fold, c)}
	}
	return e
}

// count counts a confirmation that is used up.
func (e *Execution) count(ask string) {
	content, number, numbered := strings.Cut(ask, ".")
	n, err := strconv.Atoi(number)
	if !numbered || err != nil {
		return // it is not asked again by its content
	}
	if e.Asked == nil {
		e.Asked = map[string]int{}
	}
	e.Asked[content] = max(n, e.Asked[content])
}

func confirmationOf(a *fold.Approval) *toolconfirmation.ToolConfirmation {
	tc := &toolconfirmation.ToolConfirmation{Hint: a.Hint, Confirmed: a.State.Allows()}
	if a.Resolution.Payload != nil {
		_ = json.Unmarshal(a.Resolution.Payload, &tc.Payload) // it was decoded when it came in
	}
	return tc
}

// openQuestions returns the questions with an id that a suspended call has asked and that are not
// answered, as its tool asked them.
func openQuestions(f *fold.Fold, c *fold.Call) []tool.Question {
	var open []tool.Question
	for _, ask := range slices.Concat(c.Asks, c.Open) {
		a := f.Approval(ask.Approval)
		id, named := strings.CutPrefix(ask.Ask, askNamed)
		if a == nil || a.State != approval.Pending || !named {
			continue
		}
		q := tool.Question{ID: id, Kind: tool.QuestionKind(a.AskKind), Hint: a.Hint, NoText: a.Terms.NoText}
		q.Destructive = q.Kind.Authorizes() && a.Terms.Destructive
		q.TakesResponse = q.Kind == tool.AskOutcome && slices.Contains(a.Decisions(), approval.Respond)
		if len(a.Payload) > 0 {
			q.Payload = slices.Clone(a.Payload)
		}
		if len(a.Schema) > 0 {
			if err := json.Unmarshal(a.Schema, &q.Schema); err != nil {
				continue // it was written by askOf
			}
		}
		open = append(open, q)
	}
	return open
}

func answerOf(a *fold.Approval) tool.Answer {
	id, named := strings.CutPrefix(a.Ask, askNamed)
	if !named {
		id = ""
	}
	response := a.Resolution.Response
	if a.State == approval.Edited {
		response = a.Resolution.Args
	}
	return tool.Answer{
		Ask:      tool.Question{ID: id, Kind: tool.QuestionKind(a.AskKind), Hint: a.Hint},
		State:    string(a.State),
		Response: response, Reason: a.Resolution.Reason, Payload: a.Resolution.Payload,
	}
}

// startCall writes that a call starts; its tool runs once that is durable.
func startCall(add additions, b basis, c *fold.Call, e *Execution, attempt int) additions {
	e.Attempt, e.Allowed = attempt, attempt != c.Attempt
	started := &event.CallStarted{Call: c.ID, Attempt: attempt, Tool: e.checked.entry.Digest}
	started.Safe = repeatable(e.Tool) && (e.Allowed || c.Safe)
	audit := add.entered(b, c, e)
	started.Digest, started.Grant = audit.Digest, audit.Grant
	if string(e.checked.raw) != string(b.Planned(c.ID)) {
		started.Args = e.checked.raw
	}
	add.unretry(c)
	add.event(b, event.KindStarted, started)
	return launched(add, b, c, e, audit)
}

// resumeCall writes that a suspended call is entered again.
func resumeCall(add additions, b basis, c *fold.Call, e *Execution) additions {
	add.unwake(c)
	add.unretry(c)
	audit := add.entered(b, c, e)
	resumed := &event.CallResumed{Call: c.ID, N: c.Suspended, Tool: e.checked.entry.Digest, Safe: c.Safe && repeatable(e.Tool)}
	add.event(b, event.KindResumed, resumed)
	return launched(add, b, c, e, audit)
}

// entered makes the batch depend on the grant of an entry, and returns the audit entry for it.
func (add *additions) entered(b basis, c *fold.Call, e *Execution) approval.Audit {
	a := approval.Audit{What: approval.AuditStarted, Call: c.ID, Tool: c.Tool}
	if grant := b.Granted(c); grant != nil {
		a.Approval, a.Digest = grant.ID, grant.GrantedDigest()
	}
	if e.standing != nil {
		var err error
		a.Digest, err = callDigest(b, &e.checked)
		add.fail(err)
		a.Grant, a.Gate = e.standing.ID, e.standing.Gate
		add.use(b, e.standing, c)
	}
	return a
}

// launched adds an entry that runs once the batch is durable.
func launched(add additions, b basis, c *fold.Call, e *Execution, audit approval.Audit) additions {
	add.launch = append(add.launch, e)
	audited := len(add.audited)
	audit.Attempt = c.Attempt
	add.record(b, audit)
	add.follows(audited, e.verdict)
	return add
}

// enterCall writes that a planned or decided call is entered.
func enterCall(add additions, b basis, c *fold.Call, e *Execution) additions {
	if c.Paused {
		return resumeCall(add, b, c, e)
	}
	return startCall(add, b, c, e, c.Attempt+1)
}
