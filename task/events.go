package task

import (
	"encoding/json"
	"fmt"
	"time"

	"a2a-server/approval"
	"a2a-server/internal/auth"
)

// Kinds of events. Public events are the bytes of an A2A StreamResponse; the
// others are JSON of the struct named beside them. A kind, once written, is
// readable for ever: a change of shape is a new version and a new golden file.
const (
	kindTask     = "task"     // public: the Task, always the first public event
	kindStatus   = "status"   // public: TaskStatusUpdateEvent
	kindArtifact = "artifact" // public: TaskArtifactUpdateEvent

	kindMessage   = "message.received.v1"   // *messageReceived
	kindPlanned   = "step.planned.v1"       // *stepPlanned
	kindElapsed   = "wait.elapsed.v1"       // *waitElapsed
	kindAsked     = "approval.requested.v1" // *approval.Approval
	kindResolved  = "approval.resolved.v1"  // *approvalResolved
	kindKept      = "approval.kept.v1"      // *approvalKept
	kindStarted   = "call.started.v1"       // *callStarted
	kindSuspended = "call.suspended.v1"     // *callSuspended
	kindResumed   = "call.resumed.v1"       // *callResumed
	kindFinished  = "call.finished.v1"      // *callFinished
	kindUnknown   = "call.unknown.v1"       // *callUnknown
	kindLate      = "call.finished_late.v1" // *callLate
	kindFailed    = "turn.failed.v1"        // *turnFailed
)

// messageReceived is a message of the user, as A2A JSON with its ids filled in.
type messageReceived struct {
	Message json.RawMessage `json:"message"`
	Hash    string          `json:"hash,omitempty"` // of a follow-up, hex
	By      auth.Principal  `json:"by"`
	// For says who reads it: the planner, or nobody because it was a decision, or
	// was no answer to what is asked.
	For messageFor `json:"for"`
}

type messageFor string

const (
	forPlanner  messageFor = "planner"
	forDecision messageFor = "decision"
	forNobody   messageFor = "nobody"
)

// stepPlanned is what the planner wants done next.
type stepPlanned struct {
	Step  int             `json:"step"` // 1, 2, 3 …
	Calls []plannedCall   `json:"calls,omitempty"`
	Ask   *plannedAsk     `json:"ask,omitempty"`
	Until *time.Time      `json:"until,omitempty"` // a wait
	State json.RawMessage `json:"state,omitempty"` // the planner's own
}

type plannedCall struct {
	ID    string          `json:"id"`
	Tool  string          `json:"tool"`
	Args  json.RawMessage `json:"args"`
	Alias string          `json:"alias,omitempty"`
}

// plannedAsk is a question of the planner itself, answered by any message.
type plannedAsk struct {
	Auth bool `json:"auth,omitempty"`
}

type waitElapsed struct {
	Step int `json:"step"`
}

type approvalResolved struct {
	ID         string              `json:"id"`
	State      approval.State      `json:"state"`
	Resolution approval.Resolution `json:"resolution"`
}

// approvalKept says that a deadline has passed and the approval stays pending.
type approvalKept struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
}

type callStarted struct {
	Call    string          `json:"call"`
	Attempt int             `json:"attempt"`
	Digest  string          `json:"digest,omitempty"` // of an approved call
	Args    json.RawMessage `json:"args,omitempty"`   // when edited
}

type callSuspended struct {
	Call  string          `json:"call"`
	N     int             `json:"n"`               // 1, 2, 3 … within the call
	State json.RawMessage `json:"state,omitempty"` // the tool's own
	Asks  []suspendedAsk  `json:"asks,omitempty"`
	Wake  *time.Time      `json:"wake,omitempty"`
}

type suspendedAsk struct {
	Ask      string `json:"ask"`      // identity of the question within the call
	Approval string `json:"approval"` // id
}

type callResumed struct {
	Call string `json:"call"`
	N    int    `json:"n"`
}

type callFinished struct {
	Call    string          `json:"call"`
	Outcome Outcome         `json:"outcome"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   string          `json:"error,omitempty"`
	Delta   map[string]any  `json:"delta,omitempty"` // of the tool state
}

// callUnknown says that a call was started and nobody knows what came of it.
type callUnknown struct {
	Call string `json:"call"`
	Why  string `json:"why"`
}

type callLate struct {
	Call   string          `json:"call"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

type turnFailed struct {
	Error string `json:"error"`
}

// decodePrivate returns the struct of a private event.
func decodePrivate(kind string, data []byte) (any, error) {
	var v any
	switch kind {
	case kindMessage:
		v = &messageReceived{}
	case kindPlanned:
		v = &stepPlanned{}
	case kindElapsed:
		v = &waitElapsed{}
	case kindAsked:
		v = &approval.Approval{}
	case kindResolved:
		v = &approvalResolved{}
	case kindKept:
		v = &approvalKept{}
	case kindStarted:
		v = &callStarted{}
	case kindSuspended:
		v = &callSuspended{}
	case kindResumed:
		v = &callResumed{}
	case kindFinished:
		v = &callFinished{}
	case kindUnknown:
		v = &callUnknown{}
	case kindLate:
		v = &callLate{}
	case kindFailed:
		v = &turnFailed{}
	default:
		return nil, fmt.Errorf("event of kind %q is not known to this program: use the newer one that wrote it", kind)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("decode event %s: %w", kind, err)
	}
	return v, nil
}
