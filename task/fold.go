package task

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task/internal/event"
)

// Fold is the state that results from applying a task's log: the View for clients, and the
// state that the rules need to continue. It is a pure function of the log: no clock and no
// randomness influence it, and only events change it.
//
// A Fold is not safe for concurrent use. A [Draft] consumes the Fold that it is based on.
type Fold struct {
	// Header is the task's header as the store has it. Seq and Bytes are ahead of the
	// store's by the events that have been folded but are not durable yet.
	Header store.Header
	// View is the task as clients see it. It may be incomplete if the task is large: see
	// [Fold.Lighten].
	View *View

	tail, snapshotSize int // bytes of events since the last snapshot, and of the snapshot
	// unmarked: an earlier version wrote artifacts of the task, without marking them as
	// bulk in the store. A snapshot of the fold without them would lose them.
	unmarked bool

	session *Session       // nil: not known; see Join
	joined  map[string]any // State with that of the context on top; nil: the same as State

	saved
}

// saved is the private part of a snapshot.
type saved struct {
	Owner     auth.Principal     `json:"owner"`
	Requester *auth.Principal    `json:"requester,omitempty"` // see [Fold.requester]; nil: Owner
	Messages  []received         `json:"messages,omitempty"`
	Steps     []*step            `json:"steps,omitempty"`
	Approvals []*pendingApproval `json:"approvals,omitempty"`
	State     map[string]any     `json:"state,omitempty"`    // of the tools
	AuditKey  []byte             `json:"auditKey,omitempty"` // see [event.AuditKey]; nil: none yet
	// ArtifactsAt is the size of the log, in bytes, at the last snapshot of its
	// artifacts.
	ArtifactsAt uint64 `json:"artifactsAt,omitempty"`

	Webhooks    []webhookID `json:"webhooks,omitempty"`
	WebhooksSet uint64      `json:"webhooksSet,omitempty"` // number of the newest that was set
}

// received is a message that a planner may still need.
type received struct {
	Message json.RawMessage `json:"message"`
	Hash    string          `json:"hash,omitempty"`
	For     event.Reader    `json:"for"`
	Step    int             `json:"step"` // steps planned when it came

	Decoded *a2a.Message `json:"-"` // nil: not decoded yet
}

// pendingApproval is an approval, pending or not.
type pendingApproval struct {
	approval.Approval
	// Opened reports that the confirmation provider's exclusive time to decide it is over.
	Opened bool `json:"opened,omitempty"`
}

// digest returns the digest of the call that was approved, which an edit may have changed.
func (a *pendingApproval) digest() string {
	if a.State == approval.Edited {
		return a.Resolution.Digest
	}
	return a.Digest
}

// step is a step of the planner, and its progress.
type step struct {
	event.StepPlanned
	Progress []*call `json:"progress,omitempty"`
	Done     bool    `json:"done,omitempty"` // ask answered, or wait elapsed
}

type callState string

const (
	callPlanned   callState = "planned"
	callAsked     callState = "asked"     // an approval of kind call or outcome is pending
	callDecided   callState = "decided"   // that approval is resolved, but not acted on yet
	callRunning   callState = "started"   // started or resumed, no result
	callWaiting   callState = "suspended" // questions or a timer are open
	callUncertain callState = "unknown"   // started; its outcome is unknown
	callDone      callState = "finished"
)

// call is a call of a step.
type call struct {
	event.PlannedCall
	State     callState            `json:"state"`
	Attempt   int                  `json:"attempt,omitempty"`  // entries that a person or the policy allowed
	Approval  string               `json:"approval,omitempty"` // newest of kind call or outcome
	Suspended int                  `json:"suspended,omitempty"`
	Paused    bool                 `json:"paused,omitempty"` // suspended and not resumed since
	ToolState json.RawMessage      `json:"toolState,omitempty"`
	Asks      []event.SuspendedAsk `json:"asks,omitempty"`     // of the newest suspension
	Answered  []event.SuspendedAsk `json:"answered,omitempty"` // of all, oldest first
	Fresh     int                  `json:"fresh,omitempty"`    // of Answered, by the newest suspension
	Open      []event.SuspendedAsk `json:"open,omitempty"`     // while it runs: not answered when it was resumed
	Wake      *time.Time           `json:"wake,omitempty"`
	Held      string               `json:"held,omitempty"`    // while it runs: the approval that it waits for; see [Held]
	Why       string               `json:"why,omitempty"`     // unknown
	Cause     event.Cause          `json:"cause,omitempty"`   // unknown
	Repeats   int                  `json:"repeats,omitempty"` // of this attempt, after its process died
	// Checkpoint: its tool has kept a state while it ran, and is prepared to be entered
	// again with the newest state whenever its process dies.
	Checkpoint bool `json:"checkpoint,omitempty"`

	Output  int64           `json:"output,omitempty"` // bytes that it had published by its newest suspension
	Outcome Outcome         `json:"outcome,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   string          `json:"error,omitempty"`
	Actions json.RawMessage `json:"actions,omitempty"` // see decodeActions

	Canceled bool `json:"canceled,omitempty"` // see CancelCall

	// While the call cannot be entered: the tries so far, why, since when, and the next try.
	Tries   int        `json:"tries,omitempty"`
	Trouble string     `json:"trouble,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
	Retry   *time.Time `json:"retry,omitempty"`
}

// maxHashes is how many follow-up messages are remembered for idempotency.
const maxHashes = 1024

// NewFold returns the fold of an empty log.
func NewFold(id store.TaskID, contextID string) *Fold { return newFold(id, id.String(), contextID) }

// newFold is NewFold with the text of the id.
func newFold(id store.TaskID, text, contextID string) *Fold {
	return &Fold{Header: store.Header{Task: id, Context: contextID}, View: newView(text, contextID)}
}

func (f *Fold) step() *step {
	if len(f.Steps) == 0 {
		return nil
	}
	return f.Steps[len(f.Steps)-1]
}

func (f *Fold) call(id string) *call {
	for i := len(f.Steps) - 1; i >= 0; i-- {
		for _, c := range f.Steps[i].Progress {
			if c.ID == id {
				return c
			}
		}
	}
	return nil
}

func (f *Fold) approval(id string) *pendingApproval {
	return f.newest(func(a *pendingApproval) bool { return a.ID == id })
}

// newest returns the newest approval for which is returns true, nil if there is none.
func (f *Fold) newest(is func(*pendingApproval) bool) *pendingApproval {
	for _, a := range slices.Backward(f.Approvals) {
		if is(a) {
			return a
		}
	}
	return nil
}

// asked reports whether approval of a call was ever requested.
func (f *Fold) asked(call string) bool {
	return slices.ContainsFunc(f.Approvals, func(a *pendingApproval) bool { return a.Call == call })
}

// approvals returns every approval of the task, oldest first.
func (f *Fold) approvals() []*approval.Approval {
	all := make([]*approval.Approval, len(f.Approvals))
	for i, a := range f.Approvals {
		all[i] = &a.Approval
	}
	return all
}

// Pending returns the approvals that wait for an answer, oldest first. They are the
// fold's own and must not be changed.
func (f *Fold) Pending() []*approval.Approval {
	var pending []*approval.Approval
	for _, a := range f.Approvals {
		if a.State == approval.Pending {
			pending = append(pending, &a.Approval)
		}
	}
	return pending
}

// granted returns the approval under which a call may be entered: the newest approval with a
// decision to run it, or to run it again. It returns nil if there is none.
func (f *Fold) granted(c *call) *pendingApproval {
	return f.newest(func(a *pendingApproval) bool {
		return a.Call == c.ID && a.Ask == "" && (a.State == approval.Approved || a.Kind == approval.KindCall && a.State == approval.Edited)
	})
}

// Apply folds one event that is in the log, or about to be appended. It counts the event in
// Header.Seq and Header.Bytes.
func (f *Fold) Apply(e *store.Event) error {
	if e.Public {
		if err := f.View.apply(e.Kind, e.Data); err != nil {
			return err
		}
		f.unmarked = f.unmarked || e.Kind == event.KindArtifact && !e.Bulk
		f.count(len(e.Data))
		return nil
	}
	v, err := event.Decode(e.Kind, e.Data)
	if err != nil {
		return err
	}
	if err := f.applyPrivate(v); err != nil {
		return err
	}
	f.count(len(e.Data))
	return nil
}

// count counts an event of n bytes that has been folded.
func (f *Fold) count(n int) {
	f.Header.Seq++
	f.Header.Bytes += uint64(n)
	f.tail += n
}

// Opening returns the message that created a task, as A2A JSON, from the task's first event.
func Opening(first *store.Event) (message []byte, ok bool) {
	if first.Kind != event.KindMessage {
		return nil, false
	}
	m, _, err := event.ReadMessage(first.Data)
	return m, err == nil
}

// ApplyView folds only the part of an event that clients see.
func (f *Fold) ApplyView(e *store.Event) error {
	if e.Public {
		return f.View.apply(e.Kind, e.Data)
	}
	if e.Kind != event.KindMessage {
		return nil
	}
	m, reader, err := event.ReadMessage(e.Data)
	if err != nil {
		return fmt.Errorf("decode event %s: %w", e.Kind, err)
	}
	f.View.addMessage(bytes.Clone(m))
	f.View.answered(reader != event.ForNobody)
	return nil
}

// requester returns the requester of the task's calls: its owner, with the chains of all
// principals that sent a message.
func (f *Fold) requester() auth.Principal {
	if f.Requester == nil {
		return f.Owner
	}
	return *f.Requester
}

// applyPrivate folds the struct of a private event.
func (f *Fold) applyPrivate(v any) error {
	switch e := v.(type) {
	case *event.MessageReceived:
		if len(f.Messages) == 0 {
			f.Owner = e.By
		} else if r := f.requester().With(e.By); len(r.Chain) > len(f.requester().Chain) {
			f.Requester = &r
		}
		f.Messages = append(f.Messages, received{Message: e.Message, Hash: e.Hash, For: e.For, Step: len(f.Steps)})
		f.View.addMessage(e.Message)
		f.View.answered(e.For != event.ForNobody)
		for _, id := range e.WrongCodes {
			if a := f.approval(id); a != nil {
				a.WrongCodes++
			}
		}
		if s := f.step(); s != nil && s.Ask != nil && e.For == event.ForPlanner {
			s.Done = true
		}
	case *event.StepPlanned:
		s := &step{StepPlanned: *e}
		for _, c := range e.Calls {
			s.Progress = append(s.Progress, &call{PlannedCall: c, State: callPlanned})
		}
		f.Steps = append(f.Steps, s)
	case *event.WaitElapsed:
		if s := f.step(); s != nil && s.Step == e.Step {
			s.Done = true
		}
	case *approval.Approval:
		return f.applyAsked(e)
	case *event.ApprovalResolved:
		return f.applyResolved(e)
	case *event.ApprovalKept:
		if a := f.approval(e.ID); a != nil {
			a.Deadline = nil
		}
	case *event.ApprovalExtended:
		if a := f.approval(e.ID); a != nil {
			until := e.Until
			a.Deadline = &until
			a.Extensions++
		}
	case *event.ApprovalOpened:
		if a := f.approval(e.ID); a != nil {
			a.Opened = true
		}
	case *event.AuditKey:
		f.AuditKey = e.Key
	case *event.TurnFailed:
	case *event.PushSet:
		f.dropWebhook(e.ID)
		f.Webhooks, f.WebhooksSet = append(f.Webhooks, webhookID{e.ID, e.N}), e.N
	case *event.PushDeleted:
		f.dropWebhook(e.ID)
	case event.OfCall:
		return f.applyCall(e)
	default:
		return fmt.Errorf("fold: no rule for %T", v)
	}
	return nil
}

func (f *Fold) applyAsked(a *approval.Approval) error {
	f.Approvals = append(f.Approvals, &pendingApproval{Approval: *a})
	c := f.call(a.Call)
	if c == nil {
		return fmt.Errorf("fold: approval %s is of call %s, which was never planned", a.ID, a.Call)
	}
	switch {
	case a.Held:
		c.Held = a.ID
	case a.Ask != "": // the suspension that follows refers to it, or an earlier version asked it
	default:
		c.Approval, c.State = a.ID, callAsked
		c.reachable()
		if a.Kind == approval.KindCall {
			c.Args = a.Args
		}
	}
	return nil
}

func (f *Fold) applyResolved(e *event.ApprovalResolved) error {
	a := f.approval(e.ID)
	if a == nil {
		return fmt.Errorf("fold: approval %s was resolved and never asked", e.ID)
	}
	resolution := e.Resolution
	a.State, a.Resolution = e.State, &resolution
	c := f.call(a.Call)
	if c != nil && c.Held == a.ID {
		c.Held = ""
	}
	if c == nil || c.State == callDone {
		return nil
	}
	if c.Approval == a.ID && e.State != approval.Superseded {
		c.State = callDecided
		if e.State == approval.Edited {
			c.Args = resolution.Args
		}
	}
	return nil
}

// reachable clears the reason for which a call could not be entered.
func (c *call) reachable() {
	c.Tries, c.Trouble, c.Since, c.Retry = 0, "", nil, nil
}

func (f *Fold) applyCall(v event.OfCall) error {
	c := f.call(v.CallID())
	if c == nil {
		return fmt.Errorf("fold: call %s was never planned", v.CallID())
	}
	switch e := v.(type) {
	case *event.CallCancel:
		c.Canceled = true
	case *event.CallStarted:
		if c.Repeats++; c.State != callUncertain || e.Attempt != c.Attempt {
			c.Repeats = 0
		}
		c.State, c.Attempt, c.Cause, c.Why = callRunning, e.Attempt, "", ""
		c.reachable()
		if e.Args != nil {
			c.Args = e.Args
		}
	case *event.CallCheckpoint:
		c.keep(e)
	case *event.CallSuspended:
		c.State, c.Paused, c.Suspended, c.Wake = callWaiting, true, e.N, e.Wake
		f.suspended(c, e.Asks)
		c.Output = e.Output
		c.Checkpoint, c.Repeats = c.Checkpoint || e.Again, 0
		c.suspend(e.State)
	case *event.CallResumed:
		c.State, c.Paused, c.Wake, c.Cause, c.Why = callRunning, false, nil, "", ""
		c.reachable()
		f.resumed(c)
	case *event.CallUnknown:
		c.State, c.Why, c.Cause, c.Approval = callUncertain, e.Why, e.Cause, ""
	case *event.CallPostponed:
		c.Tries, c.Since, c.Retry = e.N, &e.Since, &e.Until
		if e.Why != "" {
			c.Trouble = e.Why
		}
	case *event.CallFinished:
		c.State, c.Paused, c.Outcome, c.Result, c.Error = callDone, false, e.Outcome, e.Result, e.Error
		c.Actions = e.Actions
		c.reachable()
		if len(e.Delta) > 0 {
			f.setState(e.Delta)
		}
	case *event.CallLate: // recorded for people only
	}
	return nil
}

// seen reports whether a follow-up with this hash is among the newest follow-ups, which the
// task remembers.
func (f *Fold) seen(hash store.Hash) bool {
	h := hex.EncodeToString(hash[:])
	newest := f.Messages[max(0, len(f.Messages)-maxHashes):]
	return slices.ContainsFunc(newest, func(m received) bool { return m.Hash == h })
}

// toPlanner returns the newest message to the planner, nil if there is none.
func (f *Fold) toPlanner() json.RawMessage {
	for _, m := range slices.Backward(f.Messages) {
		if m.For == event.ForPlanner {
			return m.Message
		}
	}
	return nil
}

// planned returns the arguments of a call as the planner gave them.
func (f *Fold) planned(id string) json.RawMessage {
	for i := len(f.Steps) - 1; i >= 0; i-- {
		for _, c := range f.Steps[i].Calls {
			if c.ID == id {
				return c.Args
			}
		}
	}
	return nil
}

// names returns the ids and aliases of all calls of the task, if an answer may name a call.
func (f *Fold) names(answers []approval.Answer) approval.Names {
	if !slices.ContainsFunc(answers, func(a approval.Answer) bool { return a.ByCall }) {
		return nil
	}
	names := approval.Names{}
	for _, s := range f.Steps {
		for _, c := range s.Calls {
			names.Add(c.ID, c.Alias)
		}
	}
	return names
}

// takes reports whether a name may become the alias of a call: it cannot be mistaken for
// an id of ours, and no call of the task has had it.
func (f *Fold) takes(alias string) bool {
	if approval.LooksLikeOurID(alias) {
		return false
	}
	for _, s := range f.Steps {
		for _, c := range s.Calls {
			if c.Alias == alias {
				return false
			}
		}
	}
	return true
}
