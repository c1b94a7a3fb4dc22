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

// Planner turns a message into steps. It is safe for concurrent use. It keeps
// nothing about a task itself: what it wants to remember goes into [Step.State],
// so that a restart changes nothing. A step that is in the log is never asked for
// again.
type Planner interface {
	// Accept looks at a message that would make a new task. It must be pure and
	// quick. A non-nil message is the whole answer, in the context of the one it
	// answers or in a new one: nothing is stored, and nothing is remembered for
	// idempotency. An error refuses the message: one of the SDK's, such as
	// a2a.ErrUnsupportedOperation with a text of its own by a2a.NewError, is told to the
	// client as it is, any other as an internal error.
	Accept(ctx agent.ReadonlyContext, r *Request) (*a2a.Message, error)

	// Plan returns what to do next. Every call of the steps before has a result. An
	// error ends the task as failed.
	Plan(ctx context.Context, p *Progress) (*Step, error)

	// Inline reports whether Plan is pure and quick, so that the engine may call it
	// while it puts a batch together, and call it again when the batch conflicts.
	Inline() bool
}

// Request is a message that asks for a new task.
type Request struct {
	Message *a2a.Message
	Tools   []tool.Tool // what the caller may use
}

// Progress is what a planner knows of a task.
type Progress struct {
	Task, Context string
	Tools         []tool.Tool
	// Messages are those that are for the planner: the first, and each answer to
	// what it asked. After says how many steps were planned when one came.
	Messages []PlannerMessage
	Steps    []DoneStep
}

// PlannerMessage is a message to the planner.
type PlannerMessage struct {
	Message *a2a.Message
	After   int
}

// A DoneStep is a finished step, with its results.
type DoneStep struct {
	State json.RawMessage // Step.State
	Calls []Result        // in the order of the step
	Asked bool            // it asked, and was answered by the next PlannerMessage
}

// Result is how a call ended.
type Result struct {
	Call    tool.ToolCall
	Outcome Outcome
	Content json.RawMessage // of OutcomeOK and OutcomeResponded
	Error   string          // of all others, for the planner to read
}

// Outcome is how a call ended. Its values are on disk.
type Outcome = event.Outcome

// The outcomes of a call.
const (
	OutcomeOK        = event.OutcomeOK
	OutcomeResponded = event.OutcomeResponded // a person gave the result
	OutcomeError     = event.OutcomeError     // of the tool, or of its arguments
	OutcomeInvalid   = event.OutcomeInvalid   // there is no such tool any more, or its arguments are wrong
	OutcomeDenied    = event.OutcomeDenied    // by a policy
	OutcomeRejected  = event.OutcomeRejected  // by a person
	OutcomeExpired   = event.OutcomeExpired   // nobody answered in time
	OutcomeCanceled  = event.OutcomeCanceled  // with its task; no planner sees it
)

// Step is what a planner wants done: Output first, in its order, then at most one
// of Calls, Ask, Wait and End. A step with none of them is done at once.
type Step struct {
	Output []Output
	Calls  []PlannedCall
	Ask    *Ask
	Wait   time.Duration // durable; at least a millisecond
	End    *End
	State  json.RawMessage // kept for the planner, at most 64 KiB
}

// Output is something to publish: a piece of an artifact, or that the task is working.
type Output struct {
	Status   *a2a.Message   // of a status; may be nil
	Metadata map[string]any // of a status
	Artifact *ArtifactPiece // nil: a status
}

// ArtifactPiece is an artifact, or a chunk of one.
type ArtifactPiece struct {
	ID, Name, Description string
	Parts                 []*a2a.Part
	Append, Last          bool
	Metadata              map[string]any
	Extensions            []string // URIs of those that its content or metadata is of
}

// PlannedCall is a call to make. Args is a JSON object, as received; it need not be
// valid: what is wrong with it becomes the result.
type PlannedCall struct {
	Tool  string
	Args  json.RawMessage
	Alias string // an id that somebody else gave it, accepted in answers
}

// EncodeArgs returns arguments as [PlannedCall] has them, just as json.Marshal does and
// with less work.
func EncodeArgs(args any) (json.RawMessage, error) { return event.EncodeValue(args) }

// Ask is a question of the planner itself: the task waits for a message.
type Ask struct {
	Message *a2a.Message
	Auth    bool // for authorisation: auth-required
}

// End ends the task. State is completed, failed, canceled or rejected; Message may
// be nil.
type End struct {
	State   a2a.TaskState
	Message *a2a.Message
}

// Presenter gives approvals their shape on the wire, and reads answers. It is safe
// for concurrent use. Its methods name only types of approval and of the SDK's
// core, so that it can be written without this package.
type Presenter interface {
	// Question returns the message that asks for all of pending, oldest first. no, when
	// not nil, is a message that decided nothing: why, and what does, is added as a text
	// part marked validation_error.
	Question(pending []*approval.Approval, no *a2a.Message) (*a2a.Message, error)

	// Metadata returns the metadata of every task and of every status update, whatever
	// it says: an object, compact, always the same. Nil: none.
	Metadata() json.RawMessage

	// Answers reads the decisions in a message to a task. approvals are all of the
	// task, oldest first, pending or not. No answers and no error: the message is
	// no decision. An *approval.Error: it is one, in a known shape, and wrong.
	Answers(message *a2a.Message, approvals []*approval.Approval) ([]approval.Answer, error)
}
