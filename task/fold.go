package task

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/internal/auth"
	"a2a-server/store"
)

// fold is a task as its log tells it: what a client sees (view) and what the
// engine has to know to go on. It is a pure function of the log; nothing in it is
// decided by a clock or by chance.
type fold struct {
	header store.Header
	view   *View

	tail, snapshotSize int // bytes of events since the last snapshot, and of that

	Owner     auth.Principal     `json:"owner"`
	Messages  []received         `json:"messages,omitempty"`
	Steps     []*step            `json:"steps,omitempty"`
	Approvals []*pendingApproval `json:"approvals,omitempty"`
	State     map[string]any     `json:"state,omitempty"` // of the tools
}

// received is a message that a planner may still want to read.
type received struct {
	Message json.RawMessage `json:"message"`
	Hash    string          `json:"hash,omitempty"`
	For     messageFor      `json:"for"`
	Step    int             `json:"step"` // steps planned when it came

	decoded *a2a.Message // when it is at hand
}

// pendingApproval is an approval, pending or not, and the rev of its row.
type pendingApproval struct {
	approval.Approval
	Row uint64 `json:"row"`
}

type step struct {
	stepPlanned
	Progress []*call `json:"progress,omitempty"`
	Done     bool    `json:"done,omitempty"` // ask answered, or wait elapsed
}

type callState string

const (
	callPlanned   callState = "planned"
	callAsked     callState = "asked"     // an approval of kind call or outcome is pending
	callDecided   callState = "decided"   // approved or edited, not started
	callRunning   callState = "started"   // started or resumed, no result
	callWaiting   callState = "suspended" // questions or a timer are open
	callUncertain callState = "unknown"   // started, and nobody knows what became of it
	callDone      callState = "finished"
)

// call is one call of a step.
type call struct {
	plannedCall
	State     callState       `json:"state"`
	Attempt   int             `json:"attempt,omitempty"`  // runs that a human or the first start allowed
	Approval  string          `json:"approval,omitempty"` // newest of kind call or outcome
	Suspended int             `json:"suspended,omitempty"`
	ToolState json.RawMessage `json:"toolState,omitempty"`
	Asks      []suspendedAsk  `json:"asks,omitempty"`     // of the newest suspension
	Answered  []suspendedAsk  `json:"answered,omitempty"` // of all, oldest first
	Fresh     int             `json:"fresh,omitempty"`    // of Answered, by the newest suspension
	Wake      *time.Time      `json:"wake,omitempty"`
	Why       string          `json:"why,omitempty"` // unknown
	Outcome   Outcome         `json:"outcome,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     string          `json:"error,omitempty"`

	// Args as they were decoded to be checked, for the run that follows at once; nil
	// when they have to be decoded for it.
	decoded map[string]any
}

// maxHashes is how many follow-up messages are remembered for idempotency.
const maxHashes = 1024

func (f *fold) step() *step {
	if len(f.Steps) == 0 {
		return nil
	}
	return f.Steps[len(f.Steps)-1]
}

func (f *fold) call(id string) *call {
	for i := len(f.Steps) - 1; i >= 0; i-- {
		for _, c := range f.Steps[i].Progress {
			if c.ID == id {
				return c
			}
		}
	}
	return nil
}

func (f *fold) approval(id string) *pendingApproval {
	for i := len(f.Approvals) - 1; i >= 0; i-- {
		if f.Approvals[i].ID == id {
			return f.Approvals[i]
		}
	}
	return nil
}

// pending returns the approvals that wait for an answer, oldest first.
func (f *fold) pending() []*approval.Approval {
	var pending []*approval.Approval
	for _, a := range f.Approvals {
		if a.State == approval.Pending {
			pending = append(pending, &a.Approval)
		}
	}
	return pending
}

// apply folds one event of the log.
func (f *fold) apply(e *store.Event) error {
	if e.Public {
		return f.view.apply(e.Kind, e.Data)
	}
	v, err := decodePrivate(e.Kind, e.Data)
	if err != nil {
		return err
	}
	return f.applyPrivate(v)
}

// applyView folds what clients see of an event.
func (f *fold) applyView(e *store.Event) error {
	if e.Public {
		return f.view.apply(e.Kind, e.Data)
	}
	if e.Kind != kindMessage {
		return nil
	}
	if m, ok := parseMessage(e.Data); ok {
		f.view.addMessage(bytes.Clone(m))
		return nil
	}
	return f.apply(e)
}

// applyPrivate folds the struct of a private event.
func (f *fold) applyPrivate(v any) error {
	switch e := v.(type) {
	case *messageReceived:
		if len(f.Messages) == 0 {
			f.Owner = e.By
		}
		f.Messages = append(f.Messages, received{Message: e.Message, Hash: e.Hash, For: e.For, Step: len(f.Steps)})
		f.view.addMessage(e.Message)
		if s := f.step(); s != nil && s.Ask != nil && e.For == forPlanner {
			s.Done = true
		}
	case *stepPlanned:
		s := &step{stepPlanned: *e}
		for _, c := range e.Calls {
			s.Progress = append(s.Progress, &call{plannedCall: c, State: callPlanned})
		}
		f.Steps = append(f.Steps, s)
	case *waitElapsed:
		if s := f.step(); s != nil && s.Step == e.Step {
			s.Done = true
		}
	case *approval.Approval:
		return f.applyAsked(e)
	case *approvalResolved:
		return f.applyResolved(e)
	case *approvalKept:
		if a := f.approval(e.ID); a != nil {
			a.Deadline = nil
			a.Row++
		}
	case *turnFailed:
	case *callStarted, *callSuspended, *callResumed, *callFinished, *callUnknown, *callLate:
		return f.applyCall(v)
	default:
		return fmt.Errorf("fold: no rule for %T", v)
	}
	return nil
}

func (f *fold) applyAsked(a *approval.Approval) error {
	f.Approvals = append(f.Approvals, &pendingApproval{Approval: *a, Row: 1})
	c := f.call(a.Call)
	if c == nil {
		return fmt.Errorf("fold: approval %s is of call %s, which was never planned", a.ID, a.Call)
	}
	if a.Ask != "" {
		return nil // the suspension that follows names it
	}
	c.Approval = a.ID
	if a.Kind == approval.KindCall {
		c.State, c.Args = callAsked, a.Args
	}
	return nil
}

func (f *fold) applyResolved(e *approvalResolved) error {
	a := f.approval(e.ID)
	if a == nil {
		return fmt.Errorf("fold: approval %s was resolved and never asked", e.ID)
	}
	resolution := e.Resolution
	a.State, a.Resolution = e.State, &resolution
	a.Row++
	if c := f.call(a.Call); c != nil && c.Approval == a.ID && c.State != callDone && e.State != approval.Superseded {
		c.State = callDecided
	}
	return nil
}

func (f *fold) applyCall(v any) error {
	var id string
	switch e := v.(type) {
	case *callStarted:
		id = e.Call
	case *callSuspended:
		id = e.Call
	case *callResumed:
		id = e.Call
	case *callFinished:
		id = e.Call
	case *callUnknown:
		id = e.Call
	case *callLate:
		id = e.Call
	}
	c := f.call(id)
	if c == nil {
		return fmt.Errorf("fold: call %s was never planned", id)
	}
	switch e := v.(type) {
	case *callStarted:
		c.State, c.Attempt = callRunning, e.Attempt
		if e.Args != nil {
			c.Args = e.Args
		}
	case *callSuspended:
		c.State, c.Suspended, c.ToolState, c.Asks, c.Wake = callWaiting, e.N, e.State, e.Asks, e.Wake
	case *callResumed:
		c.State, c.Wake = callRunning, nil
		c.Answered = append(c.Answered, c.Asks...)
		c.Fresh, c.Asks = len(c.Asks), nil
	case *callUnknown:
		c.State, c.Why, c.Approval = callUncertain, e.Why, ""
	case *callFinished:
		c.State, c.Outcome, c.Result, c.Error = callDone, e.Outcome, e.Result, e.Error
		if len(e.Delta) > 0 && f.State == nil {
			f.State = map[string]any{}
		}
		maps.Copy(f.State, e.Delta)
	case *callLate: // recorded for people; changes nothing
	}
	return nil
}

// seen reports whether a follow-up with this hash is among the newest that the
// task remembers.
func (f *fold) seen(hash store.Hash) bool {
	h := hex.EncodeToString(hash[:])
	for i, n := len(f.Messages)-1, 0; i >= 0 && n < maxHashes; i, n = i-1, n+1 {
		if f.Messages[i].Hash == h {
			return true
		}
	}
	return false
}

// toPlanner returns the newest message to the planner, nil when there is none.
func (f *fold) toPlanner() json.RawMessage {
	for i := len(f.Messages) - 1; i >= 0; i-- {
		if f.Messages[i].For == forPlanner {
			return f.Messages[i].Message
		}
	}
	return nil
}

// planned returns the arguments of a call as the planner gave them.
func (f *fold) planned(id string) json.RawMessage {
	for i := len(f.Steps) - 1; i >= 0; i-- {
		for _, c := range f.Steps[i].Calls {
			if c.ID == id {
				return c.Args
			}
		}
	}
	return nil
}
