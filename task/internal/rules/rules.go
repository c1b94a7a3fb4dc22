package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/output"
	"a2a-server/tool"
)

// Rules decide the consequences of an [Input]: from a [fold.Fold] and an Input they build a
// [Draft], the batch to append. They decide from the fold alone, so they decide the same after
// a restart.
//
// They keep no state, start no goroutines, never wait or lock, and take ids only from NewID.
// They call the application's code (gates, hooks, toolsets, planners, presenters); if it
// panics, the method that called it returns a [PanicError], and its draft must be discarded.
// Rules must not be changed once in use, and are safe for concurrent use.
type Rules struct {
	Tools     *tool.Registry
	Policy    *approval.Policy
	Presenter task.Presenter
	Planner   task.Planner
	Hooks     []task.Hook // run before the policy, in order, on each planned call
	// AfterHooks and ErrorHooks run when a tool has returned: see [task.AfterHook].
	AfterHooks, ErrorHooks []task.AfterHook

	Limits task.Limits // see [task.Limits.WithDefaults]

	Agent         string      // name of this agent, part of every digest
	HoldSiblings  bool        // calls of a step start only when all of them are decided
	NoIdempotency bool        // the same message sent twice makes two tasks
	Delegated     bool        // see [approval.Decider]
	People        auth.People // who have several subjects

	EachCall func() bool // see [Draft.Audited]; nil: no

	// ProviderWait is the time for which only the confirmation provider may decide a new
	// approval; 0: there is no provider.
	ProviderWait time.Duration
	// ToolProviderWait is the same for the questions of tools with providers of their own, by name.
	ToolProviderWait map[string]time.Duration

	Routes []task.Route // of notifications; a batch has rows for each approval that they take

	NewID func() string // of messages and contexts; codes of approvals and keys of audits are made from such ids
	// Report is called with panics, which may contain secrets, and with other problems
	// that are for the log and not for clients.
	Report func(Problem)
}

// A Problem is reported to the log.
type Problem struct {
	Task  string
	What  string // constant, lower case
	Err   error  // nil with Panic
	Wrong bool   // the operator has to fix it
	Panic any
	Stack []byte
}

// GateFailed is the Problem of a call that a person is asked about, or that is denied, because
// its gate failed.
const GateFailed = "gate failed, so its call is asked about or denied"

// At is the time and environment in which rules decide.
type At struct {
	Ctx context.Context //nolint:containedctx // for gates, toolsets and planners; it ends when the result is no longer needed
	Now time.Time
	// Running reports whether a call that the log says is running does run in this
	// process. Nil: none does.
	Running func(call string) bool
	// Holds reports whether a running call in this process waits for the answer to an
	// approval. Nil: none does.
	Holds  func(approval string) bool
	Grants Grants // of the owner of the task
	// Current returns the maker of a grant, a voter or a decider as they are now. Nil: as they were.
	Current auth.Current
	// Held is the moment of the backup from which the store was restored, while it waits for its
	// operator: no planner is asked, nor answered. Zero: it does not wait.
	Held time.Time
}

// millis returns the time as the store has it.
func (at *At) millis() store.Millis { return store.MillisOf(at.Now) }

// basis has all that rules read: the rules in force, the time and environment, and the task with the earlier
// additions.
type basis struct {
	*Rules
	*At
	*fold.Fold
}

// PanicError means that code supplied by the application has panicked. The panic value is
// only in the log.
type PanicError struct {
	What string // the code that panicked, such as "the planner"
}

// Error names the code that panicked.
func (e *PanicError) Error() string { return e.What + " panicked; see the server's log" }

// guard is deferred around calls of the application's code.
func (r *Rules) guard(task, what string, err *error) {
	if p := recover(); p != nil {
		r.report(Problem{Task: task, What: what + " panicked", Panic: p, Stack: debug.Stack()})
		*err = &PanicError{What: what}
	}
}

// redacted returns the error of a program about a call, for logs, audit and questions.
func redacted(hides bool, err error) error {
	if err != nil && hides {
		return tool.ErrMasked
	}
	return err
}

func (r *Rules) report(t Problem) {
	if r.Report != nil {
		r.Report(t)
	}
}

// problem reports a problem of the task.
func problem(b basis, what string, err error) {
	b.report(Problem{Task: b.View.TaskID(), What: what, Err: err})
}

func (r *Rules) decider(by auth.Principal, via string) approval.Decider {
	return approval.Decider{By: by, Via: via, Delegated: r.Delegated}
}

// message returns a message of the agent with a single text part.
func (r *Rules) message(text string) *a2a.Message {
	return &a2a.Message{ID: r.NewID(), Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart(text)}}
}

// metadata returns the metadata of every task and status update as it is stored.
func (r *Rules) metadata() json.RawMessage { return event.Compact(r.Presenter.Metadata()) }

// Lookup is the result of the lookups for a message without a task, for reuse by the first
// plan.
type Lookup struct {
	tools []tool.Tool
	first *task.Step // as Accept planned it; nil: ask Plan
}

// Accept asks the planner whether it accepts a message that would create a new task. A non-nil
// message is the whole response; it is in the context of m, or in a new context (A2A 1.0
// §3.4.1). A decision is refused, because its message names no task; so is a word of decision while
// tasks of its context wait for decisions. waiting returns their ids, and is called for such messages only.
func (r *Rules) Accept(c *task.ReadonlyContext, m *a2a.Message, waiting func() ([]string, error)) (direct *a2a.Message, l Lookup, err error) {
	if err := r.decidesNothing(c, m, waiting); err != nil {
		return nil, l, err
	}
	if l.tools, err = r.listTools(c); err != nil {
		return nil, l, err
	}
	request := &task.Request{Message: m, Tools: l.tools}
	if direct, err = r.examine(c, request); err != nil {
		return nil, l, &task.PlannerError{Cause: err}
	}
	if l.first = request.First; direct == nil {
		return nil, l, nil
	}
	answer := *direct
	if answer.ContextID = m.ContextID; answer.ContextID == "" {
		answer.ContextID = r.NewID()
	}
	return &answer, l, nil
}

// examine has the planner examine a message, if it is a [task.Accepter].
func (r *Rules) examine(c *task.ReadonlyContext, request *task.Request) (direct *a2a.Message, err error) {
	planner, is := r.Planner.(task.Accepter)
	if !is {
		return nil, nil
	}
	defer r.guard(c.TaskID(), "the planner", &err)
	return planner.Accept(c, request)
}

// inline reports whether the planner may be asked within a batch.
func (r *Rules) inline() bool {
	planner, is := r.Planner.(task.InlinePlanner)
	return is && planner.Inline()
}

// decidesNothing refuses a message without a task id that holds a decision.
func (r *Rules) decidesNothing(c *task.ReadonlyContext, m *a2a.Message, waiting func() ([]string, error)) (err error) {
	defer r.guard(c.TaskID(), "the presenter", &err)
	calls, wrong := r.Presenter.Cancels(m)
	if wrong != nil || len(calls) > 0 {
		return task.Invalid("message.taskId", "is required, because the message cancels a call: name the task that the call belongs to; nothing was canceled")
	}
	answers, wrong := r.Presenter.Answers(m, nil)
	holds := wrong != nil || len(answers) > 0
	if !holds {
		if m.ContextID == "" {
			return nil
		}
		if words, err := r.Presenter.Answers(m, anyQuestion); err != nil || len(words) == 0 {
			return nil
		}
	}
	ids, err := waiting()
	switch {
	case err != nil:
		return err
	case len(ids) > 0 && !holds:
		return task.Invalid("message.taskId", "is required, because the text is a decision and tasks of this context wait for decisions: send it again with the id of its task, %s; nothing was decided", strings.Join(ids, " or "))
	case len(ids) > 0:
		return task.Invalid("message.taskId", "is required, because the message holds a decision: name the task that waits for it, in this context %s; nothing was decided", strings.Join(ids, " or "))
	case holds:
		return task.Invalid("message.taskId", "is required, because the message holds a decision: name the task that waits for it; nothing was decided")
	}
	return nil
}

// anyQuestion is an approval that every word of decision answers, with a code or without. Nothing changes it.
var anyQuestion = []*approval.Approval{{ID: approval.ID("any", 1, "" /* mark */), Task: "any", Kind: approval.KindCall, State: approval.Pending, Code: "any"}}

// listTools returns the tools that a caller may use. If a toolset fails, only its own
// tools are missing.
func (r *Rules) listTools(c *task.ReadonlyContext) (tools []tool.Tool, err error) {
	defer r.guard(c.TaskID(), "a toolset", &err)
	tools, err = r.Tools.Tools(c)
	if err != nil && len(tools) == 0 {
		return nil, fmt.Errorf("list tools: %w", err)
	}
	if err != nil {
		r.report(Problem{Task: c.TaskID(), What: "some tools cannot be listed", Err: err})
	}
	return tools, nil
}

// Readonly returns the context of a caller without a task.
func (r *Rules) Readonly(ctx context.Context, by auth.Principal) *task.ReadonlyContext {
	return task.NewReadonlyContext(ctx, r.Agent, by)
}

// Owned returns the context of a task in its current state: that of its owner, as [fold.Fold.Sender] has it.
func (r *Rules) Owned(ctx context.Context, f *fold.Fold) *task.ReadonlyContext {
	return r.Readonly(ctx, f.Sender()).WithState(f.ToolState()).InTask(f.View.TaskID(), f.View.ContextID(), f.Header.Fence, f.ToPlanner())
}

// Progress returns the event that says how far a running call is. job is the id of the job that it
// has started, if it has.
func (r *Rules) Progress(p output.Publisher, now time.Time, call, name, job string, at tool.Progress) (k output.RunEvent, err error) {
	defer r.guard(p.TaskID(), "the presenter", &err)
	return p.Progress(now, r.metadata(), call, name, job, at)
}
