package fold

import (
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/view"
	"a2a-server/tool"
)

// Fold is the state that results from applying a task's log: the View for clients, and the
// state that the rules need to continue. It is a pure function of the log: no clock and no
// randomness influence it, and only events change it.
//
// A Fold is not safe for concurrent use. A draft consumes the Fold that it is based on.
type Fold struct {
	// Header is the task's header as the store has it. Seq and Bytes are ahead of the
	// store's by the events that have been folded but are not durable yet.
	Header store.Header
	// View is the task as clients see it. It may be incomplete if the task is large: see
	// [Fold.Lighten].
	View *view.View

	tail, snapshotSize int // bytes of events since the last snapshot, and of the snapshot

	// Unsettled says that the task was open when the store was restored from a backup, and was not
	// brought up to date yet: the rules accept nothing else. It is not part of the log.
	Unsettled bool

	session *Session       // nil: not known; see Join
	joined  map[string]any // State with that of the context on top; nil: the same as State

	saved
}

// saved is the private part of a snapshot.
type saved struct {
	Owner     auth.Principal  `json:"owner"`
	Requester *auth.Principal `json:"requester,omitempty"` // see [Fold.Sender]; nil: Owner
	Messages  []received      `json:"messages,omitempty"`
	Steps     []*Step         `json:"steps,omitempty"`
	Approvals []*Approval     `json:"approvals,omitempty"`
	State     map[string]any  `json:"state,omitempty"`    // of the tools
	AuditKey  []byte          `json:"auditKey,omitempty"` // see [event.AuditKey]; nil: none yet
	// ArtifactsAt is the size of the log, in bytes, at the last snapshot of its
	// artifacts.
	ArtifactsAt uint64 `json:"artifactsAt,omitempty"`

	Restored Restorations `json:"restored,omitempty"`

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

// Step is a step of the planner, and its progress.
type Step struct {
	event.StepPlanned
	Progress []*Call `json:"progress,omitempty"`
	Done     bool    `json:"done,omitempty"` // ask answered, or wait elapsed
}

// CallState is the state of a call. Its values are on disk.
type CallState string

// The states of a call.
const (
	CallPlanned   CallState = "planned"
	CallAsked     CallState = "asked"     // an approval of kind call or outcome is pending
	CallDecided   CallState = "decided"   // that approval is resolved, but not acted on yet
	CallRunning   CallState = "started"   // started or resumed, no result
	CallWaiting   CallState = "suspended" // questions or a timer are open
	CallUncertain CallState = "unknown"   // started; its outcome is unknown
	CallDone      CallState = "finished"
)

// Call is a call of a step.
type Call struct {
	event.PlannedCall
	State     CallState            `json:"state"`
	Attempt   int                  `json:"attempt,omitempty"`  // entries that a person or the policy allowed
	Approval  string               `json:"approval,omitempty"` // newest of kind call or outcome
	Grant     string               `json:"grant,omitempty"`    // that has let the newest attempt start
	Digest    string               `json:"digest,omitempty"`   // of the definition of its tool at the newest entry
	Changed   bool                 `json:"changed,omitempty"`  // the definition was another at an earlier entry of the attempt
	Safe      bool                 `json:"safe,omitempty"`     // the tool said at each of them that repeating the call has no further effect
	Suspended int                  `json:"suspended,omitempty"`
	Paused    bool                 `json:"paused,omitempty"` // suspended and not resumed since
	ToolState json.RawMessage      `json:"toolState,omitempty"`
	Asks      []event.SuspendedAsk `json:"asks,omitempty"`     // of the newest suspension
	Answered  []event.SuspendedAsk `json:"answered,omitempty"` // of all, oldest first
	Fresh     int                  `json:"fresh,omitempty"`    // of Answered, by the newest suspension
	Used      int                  `json:"used,omitempty"`     // of Answered, the oldest: the tool goes on after them
	Open      []event.SuspendedAsk `json:"open,omitempty"`     // while it runs: not answered when it was resumed
	Wake      *time.Time           `json:"wake,omitempty"`
	Watch     bool                 `json:"watch,omitempty"`   // it is looked at from Wake on: see tool.Watcher
	Looked    bool                 `json:"looked,omitempty"`  // a look has found that it is to be entered
	Waits     []tool.Waiting       `json:"waits,omitempty"`   // the newest, which are over unless Waiting
	Held      string               `json:"held,omitempty"`    // while it runs: the approval that it waits for; see rules.Held
	Why       string               `json:"why,omitempty"`     // unknown
	Cause     event.Cause          `json:"cause,omitempty"`   // unknown
	Repeats   int                  `json:"repeats,omitempty"` // of this attempt, after its process died
	// Checkpoint: its tool has kept a state while it ran, and is prepared to be entered
	// again with the newest state whenever its process dies.
	Checkpoint bool `json:"checkpoint,omitempty"`

	Output  int64           `json:"output,omitempty"` // bytes that it had published by its newest suspension
	Outcome task.Outcome    `json:"outcome,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   string          `json:"error,omitempty"`
	Actions json.RawMessage `json:"actions,omitempty"` // as rules.EncodeActions encodes them

	Canceled bool `json:"canceled,omitempty"` // see rules.CancelCall
	// Restored: it was planned before the store was restored from a backup, so it may have run
	// since. It is entered with an approval only, whatever the policy says.
	Restored bool `json:"restored,omitempty"`

	// While the call cannot be entered: the tries so far, why, since when, and the next try.
	Tries   int        `json:"tries,omitempty"`
	Trouble string     `json:"trouble,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
	Retry   *time.Time `json:"retry,omitempty"`
}

// maxHashes is how many follow-up messages are remembered for idempotency.
const maxHashes = 1024

// New returns the fold of an empty log.
func New(id store.TaskID, contextID string) *Fold { return NewWithText(id, id.String(), contextID) }

// NewWithText is [New] with the text of the id.
func NewWithText(id store.TaskID, text, contextID string) *Fold {
	return &Fold{Header: store.Header{Task: id, Context: contextID}, View: view.New(text, contextID)}
}

// Step returns the newest step, nil before the first.
func (f *Fold) Step() *Step {
	if len(f.Steps) == 0 {
		return nil
	}
	return f.Steps[len(f.Steps)-1]
}

// Opening returns the message that created a task, as A2A JSON, from the task's first event.
func Opening(first *store.Event) (message []byte, ok bool) {
	if first.Kind != event.KindMessage {
		return nil, false
	}
	m, _, err := event.ReadMessage(first.Data)
	return m, err == nil
}

// Begun returns when a task was created, from its first events.
func Begun(first []store.Event) (at store.Millis, ok bool) {
	for i := range first {
		if first[i].Kind == event.KindTask {
			u, err := event.ReadTask(first[i].Data)
			return u.At, err == nil
		}
	}
	return 0, false
}

// Sender returns the requester of calls that nobody has edited: the task's owner with the chains of all
// principals that sent a message, and with the roles of the newest message.
func (f *Fold) Sender() auth.Principal {
	if f.Requester == nil {
		return f.Owner
	}
	return *f.Requester
}

// sentBy returns the requester after by has sent a follow-up.
func sentBy(before, by auth.Principal) (after auth.Principal, changed bool) {
	after = before.With(by)
	after.Roles = by.Roles
	return after, len(after.Chain) > len(before.Chain) || !slices.Equal(after.Roles, before.Roles)
}

// Seen reports whether a follow-up with this hash is among the newest follow-ups, which the
// task remembers.
func (f *Fold) Seen(hash [16]byte) bool {
	h := hex.EncodeToString(hash[:])
	newest := f.Messages[max(0, len(f.Messages)-maxHashes):]
	return slices.ContainsFunc(newest, func(m received) bool { return m.Hash == h })
}

// ToPlanner returns the newest message to the planner, nil if there is none.
func (f *Fold) ToPlanner() json.RawMessage {
	for _, m := range slices.Backward(f.Messages) {
		if m.For == event.ForPlanner {
			return m.Message
		}
	}
	return nil
}

// MaxProblem bounds the description of a problem, in characters.
const MaxProblem = 8 << 10

// webhookID is a webhook as the fold knows it.
type webhookID struct {
	ID string `json:"id"`
	N  uint64 `json:"n"`
}

// Webhook returns the number of a webhook of the task, 0 if there is none.
func (f *Fold) Webhook(id string) uint64 {
	if i := slices.IndexFunc(f.Webhooks, func(w webhookID) bool { return w.ID == id }); i >= 0 {
		return f.Webhooks[i].N
	}
	return 0
}

// dropWebhook forgets a webhook.
func (f *Fold) dropWebhook(id string) {
	f.Webhooks = slices.DeleteFunc(f.Webhooks, func(w webhookID) bool { return w.ID == id })
}
