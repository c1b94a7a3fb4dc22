package task

import (
	"context"
	"encoding/json"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task/internal/event"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Planner turns a message into steps. It is safe for concurrent use. It keeps no state of its
// own about a task: state to remember goes into [Step.State], so that restarts have no effect.
// It is never asked again for a step that is in the log.
//
// Every message that names no task creates one, unless the planner is an [Accepter].
type Planner interface {
	// Plan returns the next step. Every call of the previous steps has a result. An error
	// ends the task as failed, with the text of the error for the client.
	Plan(ctx context.Context, p *Progress) (*Step, error)
}

// An Accepter is a [Planner] that examines messages before they create tasks.
type Accepter interface {
	// Accept examines a message that would create a new task. It must be pure and quick. A
	// non-nil message is the whole response, in the context of the message that it replies to
	// or in a new context: nothing is stored, and nothing is remembered for idempotency. An
	// error refuses the message: an [*InvalidError], and an error of the SDK, such as
	// a2a.ErrUnsupportedOperation with its own text from a2a.NewError, are sent to the client
	// unchanged; of any other the client learns that the planner has failed, and the log the cause.
	Accept(ctx agent.ReadonlyContext, r *Request) (*a2a.Message, error)
}

// An InlinePlanner is a [Planner] that may be pure and quick.
type InlinePlanner interface {
	// Inline reports whether Plan is pure and quick, so that the engine may call it while
	// it builds a batch, and call it again if the batch conflicts.
	Inline() bool
}

// A Prompter is a [Planner] that asks a language model, and shows what it has asked.
type Prompter interface {
	// Prompt returns the request to the model for a step of p, which counts from 1, made again as
	// Plan makes it. It calls no model. The error is an [*InvalidError] for a step that has asked none.
	Prompt(ctx context.Context, p *Progress, step int) (Prompt, error)
}

// Prompt is a request to a language model. It is made again from the log: tools, instructions and
// earlier tasks are those of now, and may have changed since the request was sent.
type Prompt struct {
	Request json.RawMessage // a body of chat completions
	Sent    int             // bytes of the request that was sent; 0: not known
}

// Request is a message that requests a new task.
type Request struct {
	Message *a2a.Message
	Tools   []tool.Tool // that the caller may use
	// First is set by Accept if it has already planned: the step that Plan would return for a
	// new task with this message. The engine writes it with the task instead of calling Plan.
	// Only the First of a planner that is Inline is used.
	First *Step
}

// Progress is a planner's view of the task.
type Progress struct {
	Task, Context string
	Tools         []tool.Tool
	// Messages are the messages to the planner: the first, and each answer to its
	// questions. PlannerMessage.After says how many steps had been planned when it
	// arrived.
	Messages []PlannerMessage
	// Remarks are the messages that came while the task waited for decisions, and decided nothing. They
	// answer no question of the planner.
	Remarks []PlannerMessage
	Steps   []DoneStep

	// Say publishes text while Plan runs, as the artifact of the step, whose id is s and the
	// number of the step; it becomes visible when it is durable, and is complete when the step
	// is. again: the text replaces everything that this Plan has said. A Plan that is asked again
	// after a crash replaces the text of the Plan before. Say waits while the text is too far
	// ahead of the disk. After an error, such as a full log or the end of the Plan, nothing more
	// is published. Nil if the planner is Inline. It is safe for concurrent use.
	Say func(text string, again bool) error
	// Prepare has the tools that are a [tool.RequestProcessor] change a request to a language model.
	// Nil if the planner is Inline.
	Prepare func(*tool.Request) error
	// Earlier returns the newest ended tasks of the context that the owner of this task has
	// sent, newest first, with at most limit bytes of text. Nil if the planner is Inline.
	Earlier func(ctx context.Context, limit int) ([]EarlierTask, error)
	// Meanwhile returns the ended tasks to which the first message refers (referenceTaskIds), at most
	// [MaxMeanwhile]. The engine adds to the references of the client the tasks of the context that
	// have waited, and have ended since the client's last new task there. Nil if the planner is Inline.
	Meanwhile func(ctx context.Context) ([]EndedTask, error)
	// Spent returns the tokens of all steps that were planned for the owner of this task since
	// midnight UTC, in tasks that still exist. Nil if the planner is Inline.
	Spent func(ctx context.Context) (tokens int, err error)
}

// An EarlierTask is an ended task of the same context and caller.
type EarlierTask struct {
	ID       string
	Asked    string // the texts of its messages
	Answered string // the text that its planner said last or, without that or after it, the results of its tools
	Said     bool   // Answered is what its planner said
	State    a2a.TaskState
}

// An EndedTask is a task to which a message refers.
type EndedTask struct {
	ID    string
	State a2a.TaskState
	Ended
}

// MaxMeanwhile bounds the tasks of [Progress].Meanwhile, and how many the engine adds to a message.
const MaxMeanwhile = 10

// Ranking returns the passages of entries that match a query, best first. It may change the
// content, the score and the metadata of an entry. It is safe for concurrent use.
type Ranking func(ctx context.Context, query string, entries []agent.MemoryResult) ([]agent.MemoryResult, error)

// PlannerMessage is a message to the planner.
type PlannerMessage struct {
	Message *a2a.Message
	After   int
}

// A DoneStep is a finished step, with its results.
type DoneStep struct {
	State json.RawMessage // Step.State
	Calls []Result        // in the order of the step
	Asked bool            // it had a question, which the next PlannerMessage answers
}

// Result is how a call ended.
type Result struct {
	Call    tool.ToolCall
	Outcome Outcome
	Content json.RawMessage // of OutcomeOK and OutcomeResponded, and of a Refusal
	Error   string          // of all other outcomes, for the planner to read
	// Decision is a person's last decision about the call, or "", and Note the reason given
	// with it, in that person's words. After an edit, Call has the arguments of the edit, and
	// Decision and Note stay those of the edit when it is approved again.
	Decision approval.DecisionType
	Note     string
	// Actions are the tool's requests beside its result: RequireInput for the planner to ask
	// InputPrompt, ArtifactDelta with the artifacts that it saved, and LongRunningToolIDs for
	// information. Changes of the state have been made, and are not repeated here.
	// SkipSummarization, WithholdResult, TransferToAgent and Escalate are for planners with a model, as package
	// llm; for any other they are information.
	Actions agent.EventActions
}

// Refusal reports whether Content is the result that a [tool.DecisionTool] has for a call that was
// not approved: the call has done what it was for.
func (r *Result) Refusal() bool {
	return r.Content != nil && (r.Outcome == OutcomeRejected || r.Outcome == OutcomeExpired)
}

// Outcome is how a call ended. Its values are on disk.
type Outcome = event.Outcome

// The outcomes of a call.
const (
	OutcomeOK        = event.OutcomeOK
	OutcomeResponded = event.OutcomeResponded // a person supplied the result
	OutcomeError     = event.OutcomeError     // of the tool, or of its arguments
	OutcomeInvalid   = event.OutcomeInvalid   // the tool no longer exists, or the arguments are invalid
	OutcomeDenied    = event.OutcomeDenied    // by a policy
	OutcomeRejected  = event.OutcomeRejected  // by a person
	OutcomeExpired   = event.OutcomeExpired   // no decision before the deadline
	OutcomeUnknown   = event.OutcomeUnknown   // it was started, and may or may not have had its effect
	OutcomeCanceled  = event.OutcomeCanceled  // by a person, before it had any effect; or together with its task
)

// Step is a planner's next step: Output first, in order, then at most one of Calls, Ask, Wait
// and End. A step with none of these is done immediately.
type Step struct {
	Output []Output
	Calls  []PlannedCall
	Ask    *InputRequest
	Wait   time.Duration // durable; at least a millisecond
	End    *End
	State  json.RawMessage // kept for the planner, at most 256 KiB; not kept with End
	Tokens int             // that a language model has used for the step; see [Progress].Spent
}

// Output is something to publish: a piece of an artifact, or a status update while working.
type Output struct {
	Status   *a2a.Message   // of a status; may be nil
	Metadata map[string]any // of a status
	Artifact *ArtifactPiece // nil: a status
}

// ArtifactPiece is an artifact, or a chunk of it.
type ArtifactPiece struct {
	ID, Name, Description string
	Parts                 []*a2a.Part
	Append, Last          bool
	Metadata              map[string]any
	Extensions            []string // URIs of the extensions that its content or metadata uses
}

// PlannedCall is a call to make. Args is a JSON object, as received. It need not be
// valid: if it is not, the error becomes the call's result.
type PlannedCall struct {
	Tool  string
	Args  json.RawMessage
	Alias string // an id that the caller chose for it, accepted in answers
}

// EncodeArgs returns args as JSON for [PlannedCall]: the same bytes as json.Marshal, but
// faster.
func EncodeArgs(args any) (json.RawMessage, error) { return event.EncodeValue(args) }

// InputRequest is a question of the planner itself: the task waits for a message.
type InputRequest struct {
	Message *a2a.Message
	Auth    bool // the state is auth-required, not input-required
}

// End ends the task. State is completed, failed, canceled or rejected; Message may
// be nil.
type End struct {
	State   a2a.TaskState
	Message *a2a.Message
}

// WaitPresenter is a [Presenter] that also says for which decisions the agents wait that a task has
// called. Without it the status of a task does not say so.
type WaitPresenter interface {
	// Waiting is Question with decisions that are made elsewhere. Pending may be empty then.
	Waiting(pending []*approval.Approval, elsewhere []tool.Waiting, no *a2a.Message) (*a2a.Message, error)
}

// Presenter encodes approvals as messages on the wire, and reads answers from messages.
// It is safe for concurrent use. Its methods use only types of package approval and of
// the SDK's core, so that it can be implemented without this package.
type Presenter interface {
	// Question returns the message that asks about all of pending, oldest first. no, if
	// not nil, is a message that decided nothing: the text begins with why not, and its
	// part is marked validation_error.
	Question(pending []*approval.Approval, no *a2a.Message) (*a2a.Message, error)

	// Cancels returns the ids or aliases of the calls that a message cancels. If it returns
	// any, the message is nothing else; an *approval.Error means that it tries to be.
	Cancels(message *a2a.Message) ([]string, error)

	// Metadata returns the metadata of every task and of every status update: a JSON object,
	// always the same. Nil means none.
	Metadata() json.RawMessage

	// Imitates reports whether clients could take a data part with this JSON for a question or
	// an answer, whatever its metadata. Such tool output is delivered as text: a tool does not
	// ask in the server's name.
	Imitates(data json.RawMessage) bool

	// Answers reads the decisions in a message to a task. approvals are all approvals of the
	// task, oldest first, pending or not. If it returns no answers and no error, the message
	// is not a decision. An *approval.Error means that it is an invalid decision in a known
	// form.
	Answers(message *a2a.Message, approvals []*approval.Approval) ([]approval.Decision, error)
}
