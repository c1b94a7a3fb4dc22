package event

import (
	"encoding/json"
	"fmt"
	"time"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/tool"
)

// Kinds of events. Public events are the bytes of an A2A StreamResponse; the others are JSON
// of the struct named beside them. A change of shape is a new version; see docs/design/formats.md.
const (
	KindTask     = "task"             // public: the Task, always the first public event
	KindStatus   = "status"           // public: TaskStatusUpdateEvent
	KindMasked   = "status.masked.v1" // public: a TaskStatusUpdateEvent in two forms, see [Forms]
	KindArtifact = "artifact"         // public: TaskArtifactUpdateEvent
	KindProgress = "progress"         // public: TaskStatusUpdateEvent that adds metadata and leaves the status as it is

	KindMessage   = "message.received.v1"   // *MessageReceived
	KindPlanned   = "step.planned.v1"       // *StepPlanned
	KindElapsed   = "wait.elapsed.v1"       // *WaitElapsed
	KindAsked     = "approval.requested.v1" // *approval.Approval
	KindVoted     = "approval.voted.v1"     // *ApprovalVoted
	KindResolved  = "approval.resolved.v1"  // *ApprovalResolved
	KindKept      = "approval.kept.v1"      // *ApprovalKept
	KindExtended  = "approval.extended.v1"  // *ApprovalExtended
	KindReminded  = "approval.reminded.v1"  // *ApprovalReminded
	KindEscalated = "approval.escalated.v1" // *ApprovalEscalated
	KindOpened    = "approval.opened.v1"    // *ApprovalOpened
	KindStarted   = "call.started.v1"       // *CallStarted
	KindSuspended = "call.suspended.v1"     // *CallSuspended
	KindLooked    = "call.looked.v1"        // *CallLooked
	KindResumed   = "call.resumed.v1"       // *CallResumed
	KindFinished  = "call.finished.v1"      // *CallFinished
	KindUnknown   = "call.unknown.v1"       // *CallUnknown
	KindPostponed = "call.postponed.v1"     // *CallPostponed
	KindLate      = "call.finished_late.v1" // *CallLate
	KindFailed    = "turn.failed.v1"        // *TurnFailed

	KindCallCancel = "call.cancel.v1"     // *CallCancel
	KindCheckpoint = "call.checkpoint.v1" // *CallCheckpoint

	KindAuditKey = "audit.key.v1"     // *AuditKey
	KindRestored = "task.restored.v1" // *TaskRestored

	KindPushSet     = "push.set.v1"     // *PushSet
	KindPushDeleted = "push.deleted.v1" // *PushDeleted
)

// MessageReceived is a message from the user, as A2A JSON with its ids filled in.
type MessageReceived struct {
	Message json.RawMessage `json:"message"`
	Hash    string          `json:"hash,omitempty"` // of a follow-up, in hexadecimal
	By      auth.Principal  `json:"by"`
	// WrongCodes are the approvals for which the message has a wrong code, see
	// [approval.Approval.WrongCode].
	WrongCodes []string `json:"wrongCodes,omitempty"`
	// For is the reader of the message: the planner, or none, because it was a decision or did
	// not answer any question.
	For Reader `json:"for"`
}

// Reader is the reader of a message. Its values are on disk.
type Reader string

// The readers.
const (
	ForPlanner  Reader = "planner"
	ForDecision Reader = "decision"
	ForNobody   Reader = "nobody"
	// ForRemark is the reader of a message that came while others than the client decided: they, and
	// afterwards the planner.
	ForRemark Reader = "remark"
)

// StepPlanned is the next step of the planner.
type StepPlanned struct {
	Step  int             `json:"step"` // 1, 2, 3 …
	Calls []PlannedCall   `json:"calls,omitempty"`
	Ask   *PlannedAsk     `json:"ask,omitempty"`
	Until *time.Time      `json:"until,omitempty"` // a wait
	State json.RawMessage `json:"state,omitempty"` // the planner's own
}

// PlannedCall is a call of a step, as the planner wants it.
type PlannedCall struct {
	ID    string          `json:"id"`
	Tool  string          `json:"tool"`
	Args  json.RawMessage `json:"args"`
	Alias string          `json:"alias,omitempty"`
	// Mask and MaskTask are of the gates of Tool, see [approval.Terms].
	Mask     []string `json:"mask,omitempty"`
	MaskTask bool     `json:"maskTask,omitempty"`
}

// PlannedAsk is a question of the planner itself, answered by any message.
type PlannedAsk struct {
	Auth bool `json:"auth,omitempty"`
}

// WaitElapsed says that the wait of a step is over.
type WaitElapsed struct {
	Step int `json:"step"`
}

// ApprovalVoted is the vote of a person for a pending approval. A client that has voted waits for
// others: Waits says so, as in an approval.
type ApprovalVoted struct {
	ID    string                `json:"id"`
	Vote  approval.Vote         `json:"vote"`
	Waits approval.WaitingState `json:"waits,omitempty"`
}

// ApprovalResolved says how an approval ended.
type ApprovalResolved struct {
	ID         string              `json:"id"`
	State      approval.State      `json:"state"`
	Resolution approval.Resolution `json:"resolution"`
}

// ApprovalKept says that a deadline has passed and the approval stays pending.
type ApprovalKept struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
}

// ApprovalExtended moves the deadline of a pending approval.
type ApprovalExtended struct {
	ID    string         `json:"id"`
	Until time.Time      `json:"until"`
	At    time.Time      `json:"at"`
	By    auth.Principal `json:"by"`
}

// ApprovalReminded says that the routes of a pending approval are told again.
type ApprovalReminded struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
}

// ApprovalEscalated says that a pending approval is escalated, as its terms say: from then on the
// roles that they add may decide, too, among them perhaps its client: Waits says so, as in an approval.
type ApprovalEscalated struct {
	ID    string                `json:"id"`
	At    time.Time             `json:"at"`
	Waits approval.WaitingState `json:"waits,omitempty"`
}

// CallStarted says that a call starts; its tool runs once this is durable.
type CallStarted struct {
	Call    string          `json:"call"`
	Attempt int             `json:"attempt"`
	Digest  string          `json:"digest,omitempty"` // of an approved call, or one that a grant lets start
	Grant   string          `json:"grant,omitempty"`  // id of the grant that lets the call start
	Args    json.RawMessage `json:"args,omitempty"`   // if they differ from the planned arguments
	Tool    string          `json:"tool,omitempty"`   // digest of the definition
	Safe    bool            `json:"safe,omitempty"`   // the tool said that repeating the call has no further effect
}

// CallCancel cancels a call that has not ended.
type CallCancel struct {
	Call string         `json:"call"`
	By   auth.Principal `json:"by"`
	Via  string         `json:"via"`
}

// CallCheckpoint is the state that the tool of a running call keeps, in case its process dies.
type CallCheckpoint struct {
	Call  string          `json:"call"`
	State json.RawMessage `json:"state"` // the tool's own
}

// CallSuspended says that the tool of a call waits for answers, a timer, or both.
type CallSuspended struct {
	Call  string          `json:"call"`
	N     int             `json:"n"`               // 1, 2, 3 … within the call
	State json.RawMessage `json:"state,omitempty"` // the tool's own
	Asks  []SuspendedAsk  `json:"asks,omitempty"`
	Wake  *time.Time      `json:"wake,omitempty"`
	Again bool            `json:"again,omitempty"` // State is a checkpoint, too: see CallCheckpoint

	Output int64 `json:"output,omitempty"` // bytes that the call has published so far, in all of its runs

	Watch bool           `json:"watch,omitempty"` // it is looked at from Wake on: see tool.Watcher
	Waits []tool.Waiting `json:"waits,omitempty"` // decisions that are made elsewhere
}

// CallLooked says that a look has found that the work of a suspended call waits for other decisions;
// without any, that the call is to be entered.
type CallLooked struct {
	Call  string         `json:"call"`
	Waits []tool.Waiting `json:"waits,omitempty"`
}

// SuspendedAsk is a question of a suspended call.
type SuspendedAsk struct {
	Ask      string `json:"ask"`      // identity of the question within the call
	Approval string `json:"approval"` // id
}

// CallResumed says that a suspended call is entered again.
type CallResumed struct {
	Call string `json:"call"`
	N    int    `json:"n"`
	Tool string `json:"tool,omitempty"` // digest of the definition
	Safe bool   `json:"safe,omitempty"` // the tool has said at each entry that repeating the call has no further effect
}

// CallFinished says how a call ended.
type CallFinished struct {
	Call    string          `json:"call"`
	Outcome Outcome         `json:"outcome"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   string          `json:"error,omitempty"`
	Delta   map[string]any  `json:"delta,omitempty"` // of the tool state
	Actions json.RawMessage `json:"actions,omitempty"`
}

// Outcome is how a call ended. Its values are on disk.
type Outcome string

// The outcomes of a call.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeResponded Outcome = "responded" // a person supplied the result
	OutcomeError     Outcome = "error"     // of the tool, or of its arguments
	OutcomeInvalid   Outcome = "invalid"   // the tool no longer exists, or the arguments are invalid
	OutcomeDenied    Outcome = "denied"    // by a policy
	OutcomeRejected  Outcome = "rejected"  // by a person
	OutcomeExpired   Outcome = "expired"   // no decision before the deadline
	OutcomeUnknown   Outcome = "unknown"   // it was started, and may or may not have had its effect
	OutcomeCanceled  Outcome = "canceled"  // by a person, before it had any effect; or together with its task
)

// CallUnknown says that a call was started and its outcome is unknown.
type CallUnknown struct {
	Call  string `json:"call"`
	Why   string `json:"why"` // for people
	Cause Cause  `json:"cause"`
}

// Cause is why the outcome of a call is unknown. Its values are on disk.
type Cause string

// The causes.
const (
	CauseDied    Cause = "died"    // the process that ran it is gone
	CauseTimeout Cause = "timeout" // it did not end at its timeout
	CauseCut     Cause = "cut"     // it was told to end for another reason, and did not
	CauseTool    Cause = "tool"    // the tool returned that it does not know

	CauseRestored Cause = "restored" // it was open when the backup was taken from which the store was restored
)

// CallPostponed says that a call cannot be entered now and is retried later: its toolset
// fails, or its process has died repeatedly while it ran.
type CallPostponed struct {
	Call  string    `json:"call"`
	N     int       `json:"n"`             // 1, 2, 3 … tries in a row
	Why   string    `json:"why,omitempty"` // "": the same as in the previous event
	Since time.Time `json:"since"`         // time of the first of these tries
	Until time.Time `json:"until"`
}

// ApprovalOpened ends the confirmation provider's exclusive time to decide an approval.
type ApprovalOpened struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// CallLate is a result that arrived after its call had been abandoned. It changes nothing.
type CallLate struct {
	Call   string          `json:"call"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// TurnFailed says why a task cannot continue.
type TurnFailed struct {
	Error string `json:"error"`
}

// AuditKey is the key of the digests in the audit entries of the task; see
// [approval.KeyedDigest]. It is written once, before the first of them.
type AuditKey struct {
	Key []byte `json:"key"` // 16 random bytes
}

// TaskRestored says that the store was restored from a backup when the task was open: after the
// moment of the backup, calls may have started and approvals may have been decided that the log
// does not know. No earlier approval lets a call run any more.
type TaskRestored struct {
	ID     string    `json:"id"`     // of the restoration
	Moment time.Time `json:"moment"` // of the backup
}

// PushSet says that a webhook was set, or set again. A row has its other fields.
type PushSet struct {
	ID string         `json:"id"`
	N  uint64         `json:"n"` // 1, 2, 3 … among the webhooks set in the task
	By auth.Principal `json:"by"`
}

// PushDeleted says that a webhook was deleted.
type PushDeleted struct {
	ID string         `json:"id"`
	By auth.Principal `json:"by"`
}

// OfCall is an event of a call. CallID returns the id of the call.
type OfCall interface{ CallID() string }

// CallID implements [OfCall].
func (e *CallCancel) CallID() string { return e.Call }

// CallID implements [OfCall].
func (e *CallCheckpoint) CallID() string { return e.Call }

// CallID implements [OfCall].
func (e *CallFinished) CallID() string { return e.Call }

// CallID implements [OfCall].
func (e *CallLate) CallID() string { return e.Call }

// CallID implements [OfCall].
func (e *CallLooked) CallID() string { return e.Call }

// CallID implements [OfCall].
func (e *CallPostponed) CallID() string { return e.Call }

// CallID implements [OfCall].
func (e *CallResumed) CallID() string { return e.Call }

// CallID implements [OfCall].
func (e *CallStarted) CallID() string { return e.Call }

// CallID implements [OfCall].
func (e *CallSuspended) CallID() string { return e.Call }

// CallID implements [OfCall].
func (e *CallUnknown) CallID() string { return e.Call }

// kinds are the kinds of private events, with the structs that hold them.
var kinds = map[string]func() any{
	KindMessage:     made[MessageReceived],
	KindPlanned:     made[StepPlanned],
	KindElapsed:     made[WaitElapsed],
	KindAsked:       made[approval.Approval],
	KindVoted:       made[ApprovalVoted],
	KindResolved:    made[ApprovalResolved],
	KindKept:        made[ApprovalKept],
	KindExtended:    made[ApprovalExtended],
	KindReminded:    made[ApprovalReminded],
	KindEscalated:   made[ApprovalEscalated],
	KindOpened:      made[ApprovalOpened],
	KindStarted:     made[CallStarted],
	KindCallCancel:  made[CallCancel],
	KindCheckpoint:  made[CallCheckpoint],
	KindSuspended:   made[CallSuspended],
	KindLooked:      made[CallLooked],
	KindResumed:     made[CallResumed],
	KindFinished:    made[CallFinished],
	KindUnknown:     made[CallUnknown],
	KindPostponed:   made[CallPostponed],
	KindLate:        made[CallLate],
	KindFailed:      made[TurnFailed],
	KindAuditKey:    made[AuditKey],
	KindRestored:    made[TaskRestored],
	KindPushSet:     made[PushSet],
	KindPushDeleted: made[PushDeleted],
}

func made[T any]() any { return new(T) }

// Decode returns the struct of a private event.
func Decode(kind string, data []byte) (any, error) {
	made, known := kinds[kind]
	if !known {
		return nil, fmt.Errorf("event of kind %q is not known to this program: use the newer one that wrote it", kind)
	}
	v := made()
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("decode event %s: %w", kind, err)
	}
	if a, ok := v.(*approval.Approval); ok {
		if err := a.CheckVersion(); err != nil {
			return nil, err
		}
	}
	return v, nil
}
