package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
	"a2a-server/tool"
)

// askCall requests approval of a call as it was examined. If an earlier run of it may have
// had an effect, the question says so. The arguments of a call that
// was entered before are in use, so they can no longer be edited.
func (d *Draft) askCall(c *fold.Call, x *examined, supersedes string) error {
	a := &approval.Approval{
		Kind: approval.KindCall, Args: x.raw, Hint: x.verdict.Hint, Terms: x.verdict.Terms, Supersedes: supersedes,
	}
	if c.Attempt > 0 {
		a.Terms.Allowed = withoutEdit(a.Terms)
	}
	if c.Cause != "" {
		a.Hint = fmt.Sprintf("It is not known whether %s has run: %s. %s", c.Tool, c.Why, a.Hint)
	}
	return d.request(c, x, a)
}

// withoutEdit returns the decisions that terms allow about a call, except edit.
func withoutEdit(t approval.Terms) []approval.Verb {
	allowed := slices.DeleteFunc(approval.AllowedVerbs(approval.KindCall, t), func(v approval.Verb) bool { return v == approval.Edit })
	if len(allowed) == 0 {
		return []approval.Verb{approval.Reject, approval.Cancel}
	}
	return allowed
}

// request asks for the approval a of a call, of any kind. If the question cannot be
// shown, the call ends with the reason.
func (d *Draft) request(c *fold.Call, x *examined, a *approval.Approval) error {
	if err := d.fill(c, x, a); err != nil {
		return d.notRun(c, task.OutcomeInvalid, err.Error())
	}
	if err := d.fits(a); err != nil {
		return d.notRun(c, task.OutcomeError, err.Error())
	}
	return d.askAbout(c, a)
}

// askAbout asks whether a call may run, or for its outcome. Its tool can be reached, so
// nothing is left to retry.
func (d *Draft) askAbout(c *fold.Call, a *approval.Approval) error {
	d.unretry(c)
	return d.ask(a)
}

// fill sets the fields that every approval of a call has, and binds it to x, the examined
// call.
func (d *Draft) fill(c *fold.Call, x *examined, a *approval.Approval) (err error) {
	f := d.f
	a.V, a.State = 1, approval.Pending
	a.ID = approvalID(f.View.IDs().Task, len(f.Approvals)+1)
	a.Task, a.Context = f.View.IDs().Task, f.View.IDs().Context
	a.Call, a.Alias, a.Tool, a.Agent = c.ID, c.Alias, c.Tool, d.rules.Agent
	a.Attempt, a.Requester, a.Asked = c.Attempt, f.RequesterOf(c), d.at.Now.Truncate(time.Millisecond)
	if ttl := a.Terms.Expires; ttl > 0 {
		deadline := a.Asked.Add(ttl).Truncate(time.Millisecond) // as its due row has it
		a.Deadline = &deadline
	}
	if a.NeedsCode() {
		a.Code = approval.NewCode(d.rules.NewID())
	}
	if x == nil {
		return nil
	}
	a.Definition = x.entry.Digest
	a.TakesPayload = takesPayload(x.entry.Tool)
	if a.Kind != approval.KindQuestion {
		a.About = approval.NewAbout(x.entry.Definition, annotationsOf(x.entry.Tool))
	}
	a.Digest, err = d.digest(a.Kind, x.entry, x.args, a.Attempt)
	return err
}

// digest returns the digest that an approval of a kind is bound to.
func (d *Draft) digest(kind approval.Kind, entry *tool.Entry, args map[string]any, attempt int) (string, error) {
	if kind == approval.KindOutcome {
		return approval.OutcomeDigest(d.rules.Agent, entry.Definition.Name, entry.Digest, args, attempt)
	}
	return approval.Digest(d.rules.Agent, entry.Definition.Name, entry.Digest, args)
}

func approvalID(task string, n int) string { return fmt.Sprintf("%s.a%d", task, n) }

// fits returns an error if an approval could not be shown: too many approvals are pending, the
// arguments are too large, or the question would not fit into one event or into the log. with
// are approvals that will be requested together with it.
func (d *Draft) fits(a *approval.Approval, with ...*approval.Approval) error {
	return d.fitsInto(d.room(), a, with...)
}

// fitsInto is fits with the number of bytes by which the log may grow.
func (d *Draft) fitsInto(room int, a *approval.Approval, with ...*approval.Approval) error {
	limits := &d.rules.Limits
	pending := append(d.f.Pending(), with...)
	if len(pending) >= limits.Pending {
		return fmt.Errorf("the task already waits for %d approvals, which is the limit: answer some first", len(pending))
	}
	if n := argsSize(a.Args); n > limits.Args {
		return fmt.Errorf("arguments have %d bytes; at most %d can be shown for approval", n, limits.Args)
	}
	m, err := d.rules.Presenter.Question(append(pending, a), nil)
	if err != nil {
		return fmt.Errorf("the question cannot be shown: %w", err)
	}
	raw, err := event.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("the question cannot be shown: %w", err)
	}
	if limit := limits.Content(); len(raw) > limit {
		return fmt.Errorf("the question would have %d bytes; at most %d can be shown", len(raw), limit)
	}
	// The question is published, and the approval is in the log, too.
	if 2*len(raw) > room {
		return fmt.Errorf("the question would have %d bytes, and the task's log has room for %d more", len(raw), max(room/2, 0))
	}
	return nil
}

// tell publishes a state, with the question about the pending approvals and with text, where
// present.
func (d *Draft) tell(state a2a.TaskState, pending []*approval.Approval, text string) error {
	switch {
	case len(pending) > 0:
		m, err := d.rules.Presenter.Question(pending, nil)
		if err != nil {
			return fmt.Errorf("present approvals: %w", err)
		}
		if text != "" {
			m.Parts = append(m.Parts, a2a.NewTextPart(text))
		}
		return d.say(state, m)
	case text != "":
		return d.say(state, d.rules.message(text))
	}
	return d.say(state, nil)
}

// tellParked publishes what a parked task waits for; a running turn does so itself.
func (d *Draft) tellParked() error {
	if d.f.Header.Phase != store.Parked {
		return nil
	}
	d.phase = store.Parked
	return d.tell(d.waitingState(d.f.Pending()), d.f.Pending(), "")
}

// askMore asks again about everything that is pending, because a message was no answer.
func (d *Draft) askMore(pending []*approval.Approval, no *a2a.Message) error {
	m, err := d.rules.Presenter.Question(pending, no)
	if err != nil {
		return fmt.Errorf("present approvals: %w", err)
	}
	return d.say(d.waitingState(pending), m)
}

// waitingState returns input-required; auth-required if the task's own conversation can decide
// none of pending, and all ask for that state; working while all are left to the confirmation
// provider.
func (d *Draft) waitingState(pending []*approval.Approval) a2a.TaskState {
	state, left := a2a.TaskStateAuthRequired, true
	for _, a := range pending {
		if !a.AuthRequired() {
			state = a2a.TaskStateInputRequired
		}
		left = left && d.rules.offers(a) && !d.f.Approval(a.ID).Opened && d.at.Now.Before(a.Asked.Add(d.rules.ProviderWait))
	}
	if left {
		return a2a.TaskStateWorking
	}
	return state
}

// ProviderMayAnswer reports whether a confirmation provider may answer an approval: it is
// none of the approvers that a rule names.
func ProviderMayAnswer(a *approval.Approval) bool {
	return a.Kind == approval.KindCall && !a.Elsewhere() && a.Terms.Approvers == nil
}

// offers reports whether an approval is left to the confirmation provider first.
func (r *Rules) offers(a *approval.Approval) bool { return r.ProviderWait > 0 && ProviderMayAnswer(a) }

// silence is the due row for the end of the provider's time.
func (r *Rules) silence(a *approval.Approval) store.DueChange {
	return store.DueChange{Time: store.MillisOf(a.Asked.Add(r.ProviderWait)), Kind: task.DueProviderTimeout, Key: []byte(a.ID)}
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

// askOf builds the approval for a question that a running tool asked. It is not bound to
// a digest yet.
func askOf(c *fold.Call, q ToolQuestion) (*approval.Approval, error) {
	a := &approval.Approval{Kind: approval.KindQuestion, Args: c.Args, Hint: q.Hint, Ask: q.ID, AskKind: string(q.Kind)}
	switch q.Kind {
	case tool.AskConfirm:
		a.Kind = approval.KindCall
	case tool.AskQuestion, tool.AskAuth:
	case tool.AskForm:
		if q.Schema == nil {
			return nil, fmt.Errorf("the tool asks for a form without a schema")
		}
	default:
		return nil, fmt.Errorf("the tool asks a question of kind %q; use confirm, question, form or auth", q.Kind)
	}
	var err error
	if q.Payload != nil {
		if a.Payload, err = json.Marshal(q.Payload); err != nil {
			return nil, fmt.Errorf("the payload of the tool's question is not JSON: %w", err)
		}
	}
	if q.Schema != nil {
		if _, err := tool.CompileSchema(q.Schema); err != nil {
			return nil, fmt.Errorf("the schema of the tool's question: %w", err)
		}
		if a.Schema, err = json.Marshal(q.Schema); err != nil {
			return nil, fmt.Errorf("the schema of the tool's question: %w", err)
		}
	}
	return a, nil
}
