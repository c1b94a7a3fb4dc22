package task

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task/internal/event"
	"a2a-server/tool"
)

// Rules say what follows from a task's log: from its [Fold] and one [Input] they make
// a [Draft], the batch to append. They decide from the fold alone, so that they come
// to the same after a restart.
//
// They keep no state, wait for nothing, start nothing, lock nothing and take no id
// but from NewID. Code that is not ours (gates, hooks, toolsets, planners,
// presenters) is called; when it panics the method that called it returns a
// [PanicError], and its draft must be thrown away. Rules do not change once in use,
// and are safe for concurrent use.
type Rules struct {
	Tools     *tool.Registry
	Policy    *approval.Policy
	Presenter Presenter
	Planner   Planner
	Hooks     []Hook // run before the policy, in order, on each planned call
	Limits    Limits // see [Limits.WithDefaults]

	Agent         string // name of this agent, part of every digest
	HoldSiblings  bool   // calls of a step start only when all of them are decided
	NoIdempotency bool   // the same message sent twice makes two tasks
	EachCall      bool   // see [Draft.Audited]

	// ProviderWait is how long a new approval is left to the confirmation provider
	// before anybody else is asked for it; 0: there is no provider.
	ProviderWait time.Duration

	NewID func() string // of messages and contexts
	// Report is told of panics, which may hold secrets, and of what else is for the
	// log and not for clients.
	Report func(Problem)
}

// A Problem is reported to the log.
type Problem struct {
	Task  string
	What  string // constant, lower case
	Err   error  // nil with Panic
	Wrong bool   // somebody has to put it right
	Panic any
	Stack []byte
}

// GateFailed is the Problem of a call that a person is asked about because a rule that
// should have judged it could not.
const GateFailed = "gate failed, so a person is asked"

// At is the moment at which a rule is asked.
type At struct {
	Ctx context.Context //nolint:containedctx // for gates, toolsets and planners; it ends when the answer is not wanted any more
	Now time.Time
	// Running reports whether a call that the log says is running does so in this
	// process. Nil: none does.
	Running func(call string) bool
}

// PanicError says that code which was handed in has panicked. What the panic said is
// in the log only.
type PanicError struct {
	What string // that panicked
}

// Error names who panicked.
func (e *PanicError) Error() string { return e.What + " panicked; the server's log says more" }

// guard is deferred by what calls code that was handed in.
func (r *Rules) guard(task, what string, err *error) {
	if p := recover(); p != nil {
		r.report(Problem{Task: task, What: what + " panicked", Panic: p, Stack: debug.Stack()})
		*err = &PanicError{What: what}
	}
}

func (r *Rules) report(t Problem) {
	if r.Report != nil {
		r.Report(t)
	}
}

// message returns a message of the agent with one text part.
func (r *Rules) message(text string) *a2a.Message {
	return &a2a.Message{ID: r.NewID(), Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart(text)}}
}

// Input is something that happens to a task. It puts what follows at once into a
// draft; what can be decided then is [Draft.Advance]'s.
type Input interface {
	put(d *Draft) error
}

// LogChanged says that somebody else has written to the log since the task was last
// advanced.
type LogChanged struct{}

func (LogChanged) put(d *Draft) error {
	d.told = true
	return nil
}

// On puts inputs into a draft on f, which it consumes. When it fails the draft must
// be thrown away, and nothing of it written: the inputs are refused. [ErrNothing]: there
// is nothing to write. [ErrStale]: put [Refresh] first.
func (r *Rules) On(at At, f *Fold, in ...Input) (d *Draft, err error) {
	defer r.guard(f.View.TaskID(), "code supplied by the application", &err)
	d = r.draft(at, f)
	for _, i := range in {
		if err := i.put(d); err != nil {
			return d, err
		}
	}
	return d, nil
}

// Plan prepares asking the planner for the next step of f, and returns what asks it.
// That does not touch f any more. It is for planners that are not inline; what it
// returns goes into [Planned].
func (r *Rules) Plan(ctx context.Context, f *Fold) func() (*Step, error) {
	d := r.draft(At{Ctx: ctx}, f)
	p, err := d.progress()
	return func() (*Step, error) {
		if err != nil {
			return nil, err
		}
		return r.ask(ctx, p)
	}
}

// Lookup is what was found out about a message before there is a task: what the first
// plan can use again.
type Lookup struct {
	tools []tool.Tool
}

// Accept asks the planner whether it takes a message that would make a new task. A
// non-nil message is the whole answer; it is in the context of m, or in a new one
// (A2A 1.0 §3.4.1). A decision makes none: it is of a task that its sender has not named.
func (r *Rules) Accept(c *ReadonlyContext, m *a2a.Message) (direct *a2a.Message, l Lookup, err error) {
	if err := r.decidesNothing(c, m); err != nil {
		return nil, l, err
	}
	if l.tools, err = r.listTools(c); err != nil {
		return nil, l, err
	}
	defer r.guard(c.task, "the planner", &err)
	direct, err = r.Planner.Accept(c, &Request{Message: m, Tools: l.tools})
	if err != nil || direct == nil {
		return nil, l, err
	}
	answer := *direct
	if answer.ContextID = m.ContextID; answer.ContextID == "" {
		answer.ContextID = r.NewID()
	}
	return &answer, l, nil
}

// decidesNothing refuses a message without a task that decides about one.
func (r *Rules) decidesNothing(c *ReadonlyContext, m *a2a.Message) (err error) {
	defer r.guard(c.task, "the presenter", &err)
	answers, wrong := r.Presenter.Answers(m, nil)
	if wrong != nil || len(answers) > 0 {
		return Invalid("message.taskId", "is required, because the message holds a decision: name the task that waits for it; nothing was decided")
	}
	return nil
}

// New is a message that makes a task.
type New struct {
	ID      store.TaskID
	Message *a2a.Message // must not be changed any more
	JSON    []byte       // as [EncodeMessage] gives it
	Context *ReadonlyContext
	Listed  Lookup
}

// Create makes the draft of a new task: the message, the task and its submitted
// state.
func (r *Rules) Create(at At, n New) (d *Draft, err error) {
	defer r.guard(n.ID.String(), "code supplied by the application", &err)
	contextID := n.Message.ContextID
	if contextID == "" {
		contextID = r.NewID()
	}
	f := NewFold(n.ID, contextID)
	d = r.draft(at, f)
	d.tools = n.Listed.tools
	kept, raw := inTask(n.Message, n.JSON, f.View)
	if err := d.receive(&event.MessageReceived{Message: raw, By: n.Context.owner, For: event.ForPlanner}); err != nil {
		return d, err
	}
	f.Messages[0].decoded = kept
	err = d.task(a2a.TaskStateSubmitted)
	return d, err
}

// listTools returns the tools that a caller may use. A toolset that fails takes its
// own tools away, not those of the others.
func (r *Rules) listTools(c *ReadonlyContext) (tools []tool.Tool, err error) {
	defer r.guard(c.task, "a toolset", &err)
	tools, err = r.Tools.Tools(c)
	if err != nil && len(tools) == 0 {
		return nil, fmt.Errorf("list tools: %w", err)
	}
	if err != nil {
		r.report(Problem{Task: c.task, What: "some tools cannot be listed", Err: err})
	}
	return tools, nil
}
