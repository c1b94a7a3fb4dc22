package a2aserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/planner/direct"
	"a2a-server/tool"
	"a2a-server/tool/mcptoolset"
)

// cancelTime is how long [CallOnce] waits for a call that it cancels.
const cancelTime = 15 * time.Second

// ErrNobody is the error of [Desk].Decide if no person can decide. The call is then canceled,
// without having run if its own approval is missing.
var ErrNobody = errors.New("no person can decide")

// A CallError says that a message names no call that can be made, such as one with arguments
// that cannot be read.
type CallError struct{ Problem string }

// Error returns the problem.
func (e *CallError) Error() string { return e.Problem }

// A Desk follows a call of [CallOnce] and answers its approvals. Its methods are called one at
// a time.
type Desk interface {
	// Event gets each public event of the task, as the JSON of an A2A StreamResponse, which
	// must not be changed. An error cancels the call.
	Event(event json.RawMessage) error
	// Decide answers an approval of the call. problem says why the answer before was refused;
	// nil: it is asked for the first time. An error cancels the call.
	Decide(ctx context.Context, a *approval.Approval, problem error) (approval.Answer, error)
}

// CallEnd is how a call of [CallOnce] ended.
type CallEnd struct {
	OK bool // it succeeded
	// Refused means that the call was not approved: an approver rejected it, a gate denies it,
	// or no person could decide.
	Refused bool
	// Unknown means that the call may have run or not, and that its outcome was not reported.
	Unknown bool
	Text    string // the outcome of a call that did not succeed, for people; may be empty
}

// CallOnce runs a call in a server of its own, which has the tools and gates of the
// configuration, keeps everything in memory, and has no port. Of the MCP servers it starts
// only the server of the tool. text is a message as the direct planner takes it, such as
//
//	/transfer_money amount=5 to=bob
//
// The caller is auth.Anonymous. When ctx ends the call is canceled. CallOnce returns when the
// server has stopped. The error is an error of [New] or of desk, a *[CallError], or describes
// a failure in the server.
func CallOnce(ctx context.Context, c Config, text string, desk Desk) (end CallEnd, err error) {
	c.Set = maps.Clone(c.Set)
	if c.Set == nil {
		c.Set = map[string]string{}
	}
	c.Set["store"] = "memory"
	noting := &noting{Planner: direct.New(direct.Config{})}
	c.Store, c.NoListen, c.Planner, c.only = nil, true, noting, called(text)
	s, err := New(c) //nolint:contextcheck // ctx ends the call, not what is opened
	if err != nil {
		return CallEnd{}, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	stopped := make(chan error, 1)
	go func() { stopped <- s.Run(running) }()
	defer func() {
		stop()
		err = errors.Join(err, <-stopped)
	}()
	o := once{Server: s, desk: desk, by: auth.Anonymous(), noted: noting}
	return o.run(ctx, text)
}

// called returns the tool that a message calls, with a slash.
func called(text string) string {
	for name := range strings.FieldsSeq(text) {
		return name
	}
	return "/"
}

// once is the state of a call of CallOnce.
type once struct {
	*Server
	desk Desk
	by   auth.Principal
	task engine.ID
	seq  uint64 // of the newest event that was shown

	noted   *noting
	unknown bool          // the call may have run or not
	state   a2a.TaskState // as of seq; "": it waited, and was answered
	text    string        // of the message of that state
}

// noting is a planner that notes how calls have ended.
type noting struct {
	task.Planner
	refused atomic.Bool // a call was not approved
}

// Plan implements task.Planner.
func (n *noting) Plan(ctx context.Context, p *task.Progress) (*task.Step, error) {
	for _, step := range p.Steps {
		for _, r := range step.Calls {
			switch r.Outcome {
			case task.OutcomeDenied, task.OutcomeRejected, task.OutcomeExpired:
				n.refused.Store(true)
			case task.OutcomeOK, task.OutcomeError, task.OutcomeInvalid, task.OutcomeResponded, task.OutcomeUnknown, task.OutcomeCanceled:
			}
		}
	}
	return n.Planner.Plan(ctx, p)
}

func (o *once) run(ctx context.Context, text string) (CallEnd, error) {
	sent, err := o.engine.Send(ctx, engine.Send{By: o.by, Message: message("", "", text)})
	switch {
	case err != nil:
		return CallEnd{}, cmp.Or(o.down(ctx), err)
	case sent.Direct != nil:
		if down := o.down(ctx); down != nil {
			return CallEnd{}, down
		}
		return CallEnd{}, &CallError{problemOf(sent.Direct)}
	}
	o.task = sent.Task
	err = o.follow(ctx)
	if err == nil {
		refused := o.noted.refused.Load() || o.state == a2a.TaskStateCanceled
		return CallEnd{OK: o.state == a2a.TaskStateCompleted, Refused: refused && !o.unknown, Unknown: o.unknown, Text: o.text}, nil
	}
	// Not ctx: it may have ended, which is why the call is canceled.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	refused := errors.Is(err, ErrNobody)
	if stop := o.engine.Cancel(last, o.by, o.task); stop == nil {
		if ended := o.events(last); ended != nil && !errors.Is(ended, errAsked) {
			err = errors.Join(err, fmt.Errorf("wait for the canceled call: %w", ended))
		}
	}
	return CallEnd{Refused: refused && !o.unknown, Unknown: o.unknown, Text: o.text}, err
}

// message returns the message of a user with a text. task or context may be "".
func message(task, context, text string) *a2a.Message {
	return &a2a.Message{
		ID: uuid.NewString(), Role: a2a.MessageRoleUser, TaskID: a2a.TaskID(task), ContextID: context, Parts: a2a.ContentParts{a2a.NewTextPart(text)},
	}
}

// textOf returns the text in the parts of a message; "" for nil.
func textOf(m *a2a.Message) string {
	var text strings.Builder
	if m != nil {
		for _, p := range m.Parts {
			text.WriteString(p.Text())
		}
	}
	return text.String()
}

// down returns why a server that may have the tool has not listed its tools; nil: each has.
func (o *once) down(ctx context.Context) error {
	var errs []error
	for _, e := range o.now.Load().box.entries {
		if e.server == nil || e.unused {
			continue
		}
		if _, err := e.made.Tools(task.NewReadonlyContext(ctx, "", o.by)); err != nil {
			said := ""
			if s, ok := e.server.(interface{ Status() mcptoolset.Status }); ok && len(s.Status().LastWords) > 0 {
				said = "; it wrote to stderr, at last:\n  | " + strings.Join(s.Status().LastWords, "\n  | ")
			}
			errs = append(errs, fmt.Errorf("%s: %w%s", e.origin, err, said))
		}
	}
	return errors.Join(errs...)
}

// problemOf returns the problem with a message, from the answer of the direct planner to it,
// which also lists the tools.
func problemOf(answer *a2a.Message) string {
	head, _, _ := strings.Cut(textOf(answer), "\n\n")
	_, problems, wrong := strings.Cut(head, "Nothing was run:\n")
	if !wrong {
		return "the message is no call of a tool; write its name, and key=value for each argument"
	}
	return strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(problems), "- "), "part 1: ")
}

// errAsked ends following when the task waits for an answer.
var errAsked = errors.New("the task waits for an answer")

// follow shows the events of the task and has its approvals answered, until the task has
// ended.
func (o *once) follow(ctx context.Context) error {
	for {
		err := o.events(ctx)
		if !errors.Is(err, errAsked) {
			return err
		}
		if err := o.decide(ctx); err != nil {
			return err
		}
	}
}

// events shows events until the task has ended, or waits for an answer.
func (o *once) events(ctx context.Context) error {
	return o.engine.Follow(ctx, o.by, o.task, o.seq, engine.UntilEnd, func(events []engine.Event) error {
		for _, e := range events {
			o.seq = e.Seq
			if err := o.note(e.Data); err != nil {
				return err
			}
			if err := o.desk.Event(e.Data); err != nil {
				return err
			}
		}
		if o.state == a2a.TaskStateInputRequired || o.state == a2a.TaskStateAuthRequired {
			return errAsked
		}
		return nil
	})
}

// note keeps the state that an event says the task has.
func (o *once) note(data json.RawMessage) error {
	var r a2a.StreamResponse
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("an event of the task: %w", err)
	}
	var now a2a.TaskStatus
	switch e := r.Event.(type) {
	case *a2a.Task:
		now = e.Status
	case *a2a.TaskStatusUpdateEvent:
		now = e.Status
	default:
		return nil
	}
	o.state, o.text = now.State, textOf(now.Message)
	return nil
}

// decide has everything answered that the task asks now.
func (o *once) decide(ctx context.Context) error {
	before, err := o.engine.Header(ctx, o.by, o.task)
	if err != nil {
		return err
	}
	page, err := o.engine.Approvals().List(ctx, o.by, engine.ApprovalQuery{Task: o.task.String(), Limit: 1000})
	if err != nil {
		return err
	}
	question := o.text
	o.state = ""
	pending := 0
	for i := range page.Approvals {
		if page.Approvals[i].State == approval.Pending {
			pending++
		}
		if err := o.answer(ctx, &page.Approvals[i]); err != nil {
			return err
		}
	}
	if before.State != task.StateInputRequired && before.State != task.StateAuthRequired {
		return nil // its approvals are closed
	}
	if now, err := o.engine.Header(ctx, o.by, o.task); err != nil || pending > 0 || now.Seq != before.Seq {
		return err
	}
	return o.reply(ctx, question) // nothing has happened since, and it waits for no approval
}

// reply has a question of the planner answered, which it asks because the tool wants it to.
func (o *once) reply(ctx context.Context, question string) error {
	a := approval.Approval{Kind: approval.KindQuestion, State: approval.Pending, AskKind: string(tool.AskQuestion), Tool: "the tool", Hint: question}
	answer, err := o.desk.Decide(ctx, &a, nil)
	if err != nil {
		return err
	}
	var text string
	if answer.Verb != approval.Respond || json.Unmarshal(answer.Response, &text) != nil {
		return ErrNobody
	}
	_, err = o.engine.Send(ctx, engine.Send{By: o.by, Message: message(o.task.String(), "", text)})
	return err
}

// answer has an approval answered, unless it is not pending.
func (o *once) answer(ctx context.Context, a *approval.Approval) error {
	for problem := error(nil); a.State == approval.Pending; {
		o.unknown = o.unknown || a.Kind == approval.KindOutcome
		answer, err := o.desk.Decide(ctx, a, problem)
		if err != nil {
			return err
		}
		answer.ID, answer.Digest = a.ID, a.Digest
		err = o.engine.Approvals().Decide(ctx, o.by, answer)
		var refused *approval.Error
		switch {
		case err == nil:
			if a.Kind == approval.KindOutcome {
				o.unknown = answer.Verb == approval.Reject || answer.Verb == approval.Cancel
			}
			return nil
		case !errors.As(err, &refused):
			return err
		}
		problem = refused
		if a, err = o.engine.Approvals().Get(ctx, o.by, a.ID); err != nil {
			return err
		}
	}
	return nil
}
