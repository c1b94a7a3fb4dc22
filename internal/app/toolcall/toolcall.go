// Package toolcall runs a single call of a tool in a server of its own.
package toolcall

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

	a2aserver "a2a-server"
	"a2a-server/a2a/dialect"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/inside"
	"a2a-server/internal/toolset"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/planner/direct"
	"a2a-server/tool"
)

// cancelTime is how long [Run] waits for a call that it cancels.
const cancelTime = 15 * time.Second

// ErrNobody is the error of [Prompter].Decide if no person can decide. The call is then canceled,
// without having run if its own approval is missing.
var ErrNobody = errors.New("no person can decide")

// An Error says that a message names no call that can be made, such as one with arguments
// that cannot be read.
type Error struct{ Problem string }

// Error returns the problem.
func (e *Error) Error() string { return e.Problem }

// A Prompter follows a call and answers its approvals. Its methods are called one at
// a time.
type Prompter interface {
	// Event gets each public event of the task, as the JSON of an A2A StreamResponse, which
	// must not be changed. An error cancels the call.
	Event(event json.RawMessage) error
	// Decide answers an approval of the call. problem says why the answer before was refused;
	// nil: it is asked for the first time. An error cancels the call.
	Decide(ctx context.Context, a *approval.Approval, problem error) (approval.Decision, error)
}

// End is how a call ended.
type End struct {
	OK bool // it succeeded
	// Refused means that the call was not approved: an approver rejected it, a gate denies it,
	// or no person could decide.
	Refused bool
	// Unknown means that the call may have run or not, and that its outcome was not reported.
	Unknown bool
	Text    string // the outcome of a call that did not succeed, for people; may be empty
}

// Run runs a call in a server of its own, which has the tools and gates of the
// configuration, keeps everything in memory, and has no port. Of the MCP servers it starts
// only the server of the tool. text is a message as the direct planner takes it, such as
//
//	/transfer_money amount=5 to=bob
//
// The caller is auth.Anonymous. When ctx ends the call is canceled. Run returns when the
// server has stopped. The error is an error of [a2aserver.New] or of prompter, an *[Error], or
// describes a failure in the server.
func Run(ctx context.Context, c a2aserver.Config, text string, prompter Prompter) (end End, err error) {
	c.Set = maps.Clone(c.Set)
	if c.Set == nil {
		c.Set = map[string]string{}
	}
	c.Set["store"] = "memory"
	noting := &noting{Planner: direct.New(direct.Config{})}
	one := call{prompter: prompter, by: auth.Anonymous(), noted: noting}
	c.Store, c.NoListen, c.Planner = nil, true, noting
	c.Inside = inside.Options{Only: called(text), Opened: func(e *engine.Engine, tools *toolset.Current) { one.engine, one.tools = e, tools }}
	s, err := a2aserver.New(c) //nolint:contextcheck // ctx ends the call, not what is opened
	if err != nil {
		return End{}, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	stopped := make(chan error, 1)
	go func() { stopped <- s.Run(running) }()
	defer func() {
		stop()
		err = errors.Join(err, <-stopped)
	}()
	return one.run(ctx, text)
}

// called returns the tool that a message calls, with a slash.
func called(text string) string {
	for name := range strings.FieldsSeq(text) {
		return name
	}
	return "/"
}

// call is a call of Run.
type call struct {
	engine   *engine.Engine
	tools    *toolset.Current
	prompter Prompter
	by       auth.Principal
	task     engine.ID
	seq      uint64 // of the newest event that was shown

	noted   *noting
	unknown bool          // the call may have run or not
	state   a2a.TaskState // as of seq; "": it waited, and was answered
	waits   bool          // for a decision or an answer
	text    string        // of the message of that state
}

// noting is a planner that notes how calls have ended.
type noting struct {
	*direct.Planner
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

func (c *call) run(ctx context.Context, text string) (End, error) {
	sent, err := c.engine.Send(ctx, engine.Send{By: c.by, Message: message("", "", text)})
	switch {
	case err != nil:
		return End{}, cmp.Or(c.down(ctx), err)
	case sent.Direct != nil:
		if down := c.down(ctx); down != nil {
			return End{}, down
		}
		return End{}, &Error{problemOf(sent.Direct)}
	}
	c.task = sent.Task
	err = c.follow(ctx)
	if err == nil {
		refused := c.noted.refused.Load() || c.state == a2a.TaskStateCanceled
		return End{OK: c.state == a2a.TaskStateCompleted, Refused: refused && !c.unknown, Unknown: c.unknown, Text: c.text}, nil
	}
	// Not ctx: it may have ended, which is why the call is canceled.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	refused := errors.Is(err, ErrNobody)
	if stop := c.engine.Cancel(last, c.by, c.task); stop == nil {
		if ended := c.events(last); ended != nil && !errors.Is(ended, errAsked) {
			err = errors.Join(err, fmt.Errorf("wait for the canceled call: %w", ended))
		}
	}
	return End{Refused: refused && !c.unknown, Unknown: c.unknown, Text: c.text}, err
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
func (c *call) down(ctx context.Context) error {
	return c.tools.Load().Down(task.NewReadonlyContext(ctx, "", c.by))
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
func (c *call) follow(ctx context.Context) error {
	for {
		err := c.events(ctx)
		if !errors.Is(err, errAsked) {
			return err
		}
		if err := c.decide(ctx); err != nil {
			return err
		}
	}
}

// events shows events until the task has ended, or waits for an answer.
func (c *call) events(ctx context.Context) error {
	return c.engine.Follow(ctx, c.by, c.task, c.seq, engine.UntilEnd, func(events []engine.Event) error {
		for _, e := range events {
			c.seq = e.Seq
			if err := c.note(e.Data); err != nil {
				return err
			}
			if err := c.prompter.Event(e.Data); err != nil {
				return err
			}
		}
		if c.waits {
			return errAsked
		}
		return nil
	})
}

// note keeps the state that an event says the task has.
func (c *call) note(data json.RawMessage) error {
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
	c.state, c.text = now.State, textOf(now.Message)
	c.waits = c.state == a2a.TaskStateInputRequired || c.state == a2a.TaskStateAuthRequired || dialect.Waits(now.Message)
	return nil
}

// decide has everything answered that the task asks now.
func (c *call) decide(ctx context.Context) error {
	before, err := c.engine.Header(ctx, c.by, c.task)
	if err != nil {
		return err
	}
	page, err := c.engine.Approvals().List(ctx, c.by, engine.ApprovalQuery{Task: c.task.String(), Limit: 1000})
	if err != nil {
		return err
	}
	question := c.text
	c.state, c.waits = "", false
	pending := 0
	for i := range page.Approvals {
		if page.Approvals[i].State == approval.Pending {
			pending++
		}
		if err := c.answer(ctx, &page.Approvals[i]); err != nil {
			return err
		}
	}
	if before.State != task.StateInputRequired && before.State != task.StateAuthRequired {
		return nil // its approvals are closed
	}
	if now, err := c.engine.Header(ctx, c.by, c.task); err != nil || pending > 0 || now.Seq != before.Seq {
		return err
	}
	return c.reply(ctx, question) // nothing has happened since, and it waits for no approval
}

// reply has a question of the planner answered, which it asks because the tool wants it to.
func (c *call) reply(ctx context.Context, question string) error {
	a := approval.Approval{Kind: approval.KindQuestion, State: approval.Pending, AskKind: string(tool.AskQuestion), Tool: "the tool", Hint: question}
	answer, err := c.prompter.Decide(ctx, &a, nil)
	if err != nil {
		return err
	}
	var text string
	if answer.Type != approval.Respond || json.Unmarshal(answer.Response, &text) != nil {
		return ErrNobody
	}
	_, err = c.engine.Send(ctx, engine.Send{By: c.by, Message: message(c.task.String(), "", text)})
	return err
}

// answer has an approval answered, unless it is not pending.
func (c *call) answer(ctx context.Context, a *approval.Approval) error {
	for problem := error(nil); a.State == approval.Pending; {
		c.unknown = c.unknown || a.Kind == approval.KindOutcome
		if err := c.engine.Approvals().May(c.by, a); err != nil {
			return fmt.Errorf("%w in this command, whose caller is anonymous: %w", ErrNobody, err)
		}
		answer, err := c.prompter.Decide(ctx, a, problem)
		if err != nil {
			return err
		}
		answer.ID, answer.Digest = a.ID, a.Digest
		err = c.engine.Approvals().Decide(ctx, c.by, answer)
		var refused *approval.Error
		switch {
		case err == nil:
			if a.Kind == approval.KindOutcome {
				c.unknown = answer.Type == approval.Reject || answer.Type == approval.Cancel
			}
			return nil
		case !errors.As(err, &refused):
			return err
		}
		problem = refused
		if a, err = c.engine.Approvals().Get(ctx, c.by, a.ID); err != nil {
			return err
		}
	}
	return nil
}
