// Package adminsocket is the Unix socket in the data folder by which people on the server's
// machine decide approvals and look after tasks while the server runs: the [Server], and the
// [Client] that the commands use. It owns the socket's file and the protocol over it, HTTP
// with JSON. The kernel says who calls; what they may do, and to what, decide
// [auth.Principal.May] and the engine, as for every other caller.
//
// The protocol is between programs of one version; nothing else may use it.
package adminsocket

import (
	"encoding/json"
	"strings"
	"time"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/task/engine"
)

// Name is the name of the socket in the data folder.
const Name = "admin.sock"

// Host is what requests name as their host. A program that connects browsers to the socket
// would pass on another one.
const Host = "a2a-server.admin"

// The limits of the protocol, in bytes and entries.
const (
	maxBody   = 512 << 10 // of a request; arguments have at most approval.MaxJSON
	maxAnswer = 256 << 20
	// MaxPage is how many approvals or tasks one page has at most: each approval may be
	// larger than its arguments.
	MaxPage = 50
)

// Query selects what is listed.
type Query struct {
	Task      string // of approvals and webhooks: those of one task, approvals in any state; "": of all tasks, the pending approvals
	Context   string // of tasks; "": any
	State     string // of tasks, as A2A names it, or of webhooks; "": any
	Cursor    string // Next of the previous page; "": the first page
	Limit     int    // Defaults to MaxPage, and is at most that.
	Anonymous bool   // what was made without authentication, which takes the role admin
	Principal string // of webhooks: the subject of who has set them, or who has acted for that one; "": any
	Number    uint64 // of the webhook to delete; 0: whichever has the id

	webhook string // id of the webhook to delete
}

// ApprovalPage is one page of approvals.
type ApprovalPage struct {
	Approvals []approval.Approval `json:"approvals"`
	Revoked   []string            `json:"revoked,omitempty"` // ids of approvals whose requester's credential is known to be no longer valid
	Next      string              `json:"next,omitempty"`    // "": last page
	Damaged   int                 `json:"damaged,omitempty"` // how many cannot be read
}

// ShownApproval is an approval, and who reads it.
type ShownApproval struct {
	Approval *approval.Approval `json:"approval"`
	Revoked  bool               `json:"revoked,omitempty"` // the requester's credential is known to be no longer valid
	Caller   auth.Principal     `json:"caller"`
}

// Decision decides an approval.
type Decision struct {
	Verb   approval.Verb   `json:"verb"`
	Digest string          `json:"digest"` // of what was shown; required
	Args   json.RawMessage `json:"args,omitempty"`
	Reason string          `json:"reason,omitempty"`
}

// Decided is the answer to a [Decision].
type Decided struct {
	Approval *approval.Approval `json:"approval,omitempty"` // nil: it was decided, and cannot be read now
	Caller   auth.Principal     `json:"caller"`
}

// TaskPage is one page of tasks.
type TaskPage struct {
	Tasks []engine.TaskSummary `json:"tasks"`
	Next  string               `json:"next,omitempty"` // "": last page
}

// ShownTask is a task.
type ShownTask struct {
	Summary engine.TaskSummary `json:"summary"`
	Task    json.RawMessage    `json:"task"` // as its client sees it, a Task of A2A 1.0
	Caller  auth.Principal     `json:"caller"`
}

// Webhook is how a webhook of a task stands.
type Webhook struct {
	ID     string          `json:"id"`
	Task   string          `json:"task"`
	Number uint64          `json:"number"`          // of those that were set in the task
	Owner  string          `json:"owner"`           // of the task
	SetBy  *auth.Principal `json:"setBy,omitempty"` // nil: that cannot be read
	Set    time.Time       `json:"set,omitzero"`    // when
	Host   string          `json:"host"`            // of its URL; the rest may be secret
	State  string          `json:"state"`           // see push.State
	Tries  int             `json:"tries,omitempty"` // that have failed in a row
	Next   time.Time       `json:"next,omitzero"`   // of the next try
	Error  string          `json:"error,omitempty"` // class of the last failure
	Lag    float64         `json:"lag,omitempty"`   // seconds since the first event that it has not been notified of
}

// By returns who has set w, with those who acted for them. If that cannot be read it is the
// owner of the task, who alone can set webhooks.
func (w *Webhook) By() string {
	if w.SetBy == nil {
		return w.Owner
	}
	return strings.Join(append([]string{w.SetBy.Subject}, w.SetBy.Chain...), " via ")
}

// WebhookPage is one page of webhooks.
type WebhookPage struct {
	Webhooks []Webhook `json:"webhooks"`
	Next     string    `json:"next,omitempty"` // "": last page
	Off      bool      `json:"off,omitempty"`  // push notifications are switched off
	Caller   string    `json:"caller"`         // subject of who reads it
}

// DeletedWebhook is the answer to the deletion of a webhook.
type DeletedWebhook struct {
	Deleted bool `json:"deleted"` // false: there was none
}

// Error is why the server has not done something. Its text is for the person who asked.
type Error struct {
	Status  int               `json:"-"`      // of HTTP
	Reason  string            `json:"reason"` // of approvals, or one of those below
	Message string            `json:"message"`
	Details map[string]string `json:"details,omitempty"` // see approval.Error.Metadata
}

// The reasons of an [Error] besides those of approvals.
const (
	ReasonUnknownUser = "UNKNOWN_USER" // the caller's uid is not mapped
	ReasonRole        = "ROLE"         // the caller has no role for it
	ReasonNoTask      = "NO_TASK"      // there is no such task, or it is not for the caller
	ReasonInvalid     = "INVALID"      // the request
	ReasonState       = "STATE"        // the task does not allow it in its state
	ReasonBusy        = "BUSY"         // not now; nothing has happened
	ReasonBroken      = "BROKEN"       // what is stored is damaged, or cannot be changed
	ReasonUnclear     = "UNCLEAR"      // it is not known whether it has happened
)

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// failure is an error on the wire.
type failure struct {
	Error *Error `json:"error"`
}
