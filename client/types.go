package client

import (
	"encoding/json"
	"strings"
	"time"
)

// Kind is the kind of an [Approval].
type Kind string

// The kinds of approvals.
const (
	KindCall     Kind = "call"     // may this call run
	KindOutcome  Kind = "outcome"  // the outcome of a call whose result is unknown
	KindQuestion Kind = "question" // input for a running tool; it authorizes nothing
)

// State is the state of an [Approval]. All but [Pending] are final.
type State string

// The states of an approval.
const (
	Pending    State = "pending"
	Approved   State = "approved"
	Edited     State = "edited" // approved with other arguments
	Rejected   State = "rejected"
	Responded  State = "responded"
	Expired    State = "expired"
	Canceled   State = "canceled"   // with its task or its call
	Superseded State = "superseded" // by a newer approval of the same call
)

// DecisionType is the type of a [Decision].
type DecisionType string

// The types of decisions.
const (
	Approve DecisionType = "approve" // run the call with the arguments that are shown
	Edit    DecisionType = "edit"    // run the call with other arguments
	Reject  DecisionType = "reject"  // do not run the call
	Respond DecisionType = "respond" // answer a question, or give the result of an unknown outcome
	Cancel  DecisionType = "cancel"  // cancel the whole task
)

// A Principal is a verified identity.
type Principal struct {
	Tenant  string   `json:"tenant,omitempty"`
	Subject string   `json:"subject"`
	Person  string   `json:"person,omitempty"` // the person of Subject, if that is known and has another name
	Kind    string   `json:"kind,omitempty"`   // "service", or empty for a person
	Roles   []string `json:"roles,omitempty"`
	Through []string `json:"through,omitempty"` // the parties that act for Subject, outermost first
	Method  string   `json:"method,omitempty"`  // of authentication; "none": the server has none
}

// An Approval is a stored request for a decision about a call.
type Approval struct {
	ID      string `json:"id"`
	Kind    Kind   `json:"kind"`
	State   State  `json:"state"`
	Task    string `json:"task"`
	Context string `json:"context"`
	Call    string `json:"call"` // unique in the task
	Agent   string `json:"agent"`
	Tool    string `json:"tool"`

	// Description, Declared and Claimed are the tool's own words. Declared are the hints that
	// the operator of this server configured or compiled in; Claimed are the unverified hints
	// of an MCP server.
	Description string   `json:"description,omitempty"`
	Declared    []string `json:"declared,omitempty"`
	Claimed     []string `json:"claimed,omitempty"`

	// Arguments is the JSON object of the call; in the detail of a confirmation that takes an edit,
	// the object that the edit replaces. Lists mask the values that the gate names in
	// mask; the detail has them all.
	Arguments json.RawMessage `json:"arguments"`
	Masked    bool            `json:"masked,omitempty"` // Arguments are not complete
	// Cut says that a list leaves out parts of Arguments or of other values and texts, because they
	// are large. Then Digest is empty, and May nil unless the caller may not decide: the detail has all.
	Cut      bool            `json:"cut,omitempty"`
	Digest   string          `json:"digest,omitempty"` // of the question; a decision repeats it. Empty: the caller sees masked or cut arguments
	Hint     string          `json:"hint,omitempty"`   // explains the approval to a person
	Words    string          `json:"words,omitempty"`  // the hint as far as it says more than the tool and its arguments
	Payload  json.RawMessage `json:"payload,omitempty"`
	Question string          `json:"question,omitempty"` // of a running tool: "confirm", "outcome", "question", "form" or "auth"
	Schema   json.RawMessage `json:"schema,omitempty"`   // JSON Schema of a response

	Gate        string         `json:"gate"` // the gate that asked
	Risk        string         `json:"risk"` // "low", "medium" or "high"
	Destructive bool           `json:"destructive,omitempty"`
	FourEyes    bool           `json:"fourEyes,omitempty"`  // the requester may not decide
	Approvers   *Approvers     `json:"approvers,omitempty"` // nil: all with the right to decide
	Decisions   []DecisionType `json:"decisions"`           // the types that are accepted
	Votes       *Votes         `json:"votes,omitempty"`     // nil: one decision is enough
	Human       bool           `json:"human,omitempty"`     // programs may not decide
	Grants      *GrantTerms    `json:"grants,omitempty"`    // what an approve may grant; nil: nothing

	Requester Principal `json:"requester"`
	// RequesterRevoked says that the credential of the requester is known to be invalid by now.
	RequesterRevoked bool       `json:"requesterRevoked,omitempty"`
	Requested        time.Time  `json:"requested"`
	Deadline         *time.Time `json:"deadline,omitempty"`
	OnDeadline       string     `json:"onDeadline,omitempty"`  // "reject", "cancel" or "keep"
	Reminded         *time.Time `json:"reminded,omitempty"`    // when its routes were told again
	Escalated        *time.Time `json:"escalated,omitempty"`   // when others were asked, too
	EscalatedTo      []string   `json:"escalatedTo,omitempty"` // roles that may decide since then, beside the others in Approvers
	Supersedes       string     `json:"supersedes,omitempty"`  // id of the approval that this approval replaces
	// EqualTo are the ids of other pending approvals that ask the same, at most 20: each lets its call run.
	EqualTo []string `json:"equalTo,omitempty"`

	Resolution *Resolution `json:"resolution,omitempty"` // nil while pending
	// May lists the caller's permissions for a pending approval of a list.
	May *May `json:"may,omitempty"`
}

// Approvers limits the deciders to principals with any of the roles or subjects.
type Approvers struct {
	Roles    []string `json:"roles,omitempty"`
	Subjects []string `json:"subjects,omitempty"`
	When     string   `json:"when,omitempty"` // and of these only those for whom this is true (CEL)
}

// String returns the approvers on a line, such as "role finance or corp:alice", as unsafe to show
// as any text of this package; "": anybody who may decide at all.
func (s *Approvers) String() string {
	if s == nil {
		return ""
	}
	var all []string
	for _, role := range s.Roles {
		all = append(all, "role "+role)
	}
	text := strings.Join(append(all, s.Subjects...), " or ")
	if s.When != "" {
		text += " for whom " + strings.Join(strings.Fields(s.When), " ")
	}
	return text
}

// Votes are the approvals of several persons that a call needs.
type Votes struct {
	Have    int    `json:"have"`              // persons
	Need    int    `json:"need"`              // persons in all, if as few as possible vote: one may meet several needs
	Missing string `json:"missing,omitempty"` // in words, such as "1 of role finance"
	Given   []Vote `json:"given"`             // for the call as it is shown, the oldest first
	Needs   []Need `json:"needs"`
}

// A Vote is the approval of one person.
type Vote struct {
	By     Principal `json:"by"`
	Via    string    `json:"via"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// A Need is what a gate demands of the votes.
type Need struct {
	Gate      string     `json:"gate"`
	People    int        `json:"people"`
	Missing   int        `json:"missing"`             // of them
	Approvers *Approvers `json:"approvers,omitempty"` // nil: all with the right to decide
}

// A Resolution is how an approval ended.
type Resolution struct {
	Decision  DecisionType    `json:"decision,omitempty"` // empty: a deadline, a cancel or a successor
	By        *Principal      `json:"by,omitempty"`       // nil: the server, as at a deadline
	Via       string          `json:"via"`                // "a2a", "api", "provider", "policy" or "system"
	At        time.Time       `json:"at"`
	Reason    string          `json:"reason,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // of an edit
	Response  json.RawMessage `json:"response,omitempty"`
	Grant     string          `json:"grant,omitempty"` // id of the grant that an approve has made
}

// ApprovalDetail is an approval with the context that a person needs to decide it.
type ApprovalDetail struct {
	Approval Approval `json:"approval"`
	May      May      `json:"may"`
	// Gates are the gates that asked about the call, as they were.
	Gates []AskedGate `json:"gates,omitempty"`
	// Stricter is what the gates of now demand beyond the terms of a pending call, in words, for a caller who
	// may decide it: see [Client.AskAnew].
	Stricter []string `json:"stricter,omitempty"`
	// Parameters is the JSON Schema of the tool's arguments, for an editor; nil if the tool has
	// none, or can not be looked up now.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Conversation has the messages of the task before the approval, and those of the client since, oldest
	// first, at most the newest 20; Earlier counts the omitted messages.
	Conversation []Message `json:"conversation"`
	Earlier      int       `json:"earlier,omitempty"`
	// Before are the newest 10 settled approvals of the tenant with the same tool and the same
	// digest, and Tool the newest 10 with the same tool, both newest first, as far as the caller
	// may review them. Their arguments are masked as in lists.
	Before []Approval `json:"before"`
	Tool   []Approval `json:"tool"`
	Run    *Call      `json:"run,omitempty"` // the call now; nil: the caller may not read the task
	Caller Principal  `json:"caller"`        // the requester
}

// AskedGate is a gate as it was when it asked. Long texts are cut.
type AskedGate struct {
	Name string `json:"name"` // "tool": the tool's own
	When string `json:"when,omitempty"`
	Who  string `json:"who,omitempty"` // JSON
	Hint string `json:"hint,omitempty"`
	More int    `json:"more,omitempty"` // of the last: how many more asked
}

// May lists the caller's permissions.
type May struct {
	Decide bool   `json:"decide"`
	Extend bool   `json:"extend"`
	Voted  bool   `json:"voted,omitempty"`  // the caller has approved, and may still reject
	WhyNot string `json:"whyNot,omitempty"` // a sentence, if Decide is false
	Reason string `json:"reason,omitempty"` // of the refusal, as in [Error]
}

// A Message is a message of a conversation, as text.
type Message struct {
	Role string `json:"role"` // "user" or "agent"
	ID   string `json:"id,omitempty"`
	Text string `json:"text"` // of its text parts; other parts as "[file NAME, TYPE, N bytes]" or their JSON
	Cut  int    `json:"cut,omitempty"`
}

// Call is a call of a task as it stands.
type Call struct {
	ID        string          `json:"id"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"` // as planned, masked as in lists
	State     string          `json:"state"`     // "planned", "asked", "decided", "started", "suspended", "unknown" or "finished"
	Attempt   int             `json:"attempt,omitempty"`
	Outcome   string          `json:"outcome,omitempty"`  // of a finished call: "ok", "error", "rejected", "denied", "invalid", "expired", "canceled" or "unknown"
	Result    json.RawMessage `json:"result,omitempty"`   // of outcome ok; up to 64 KiB
	Error     string          `json:"error,omitempty"`    // of any other outcome
	Canceled  bool            `json:"canceled,omitempty"` // the call has been canceled
	Approvals []string        `json:"approvals,omitempty"`
}

// ApprovalQuery selects approvals.
type ApprovalQuery struct {
	State  State  // Defaults to Pending; "settled" selects every final state.
	Task   string // of this task, in any state unless State is set
	Tool   string // "": any
	Gate   string // "": any
	Mine   bool   // only approvals that the caller may decide now
	Order  string // "time" (default) or "deadline"; of pending approvals
	Limit  int    // Defaults to 50; at most 200.
	Cursor string // Next of the page before
}

// Rows says whose rows a list has.
type Rows string

// The values of Rows.
const (
	OwnRows       Rows = "own"       // of the caller's tasks
	TenantRows    Rows = "tenant"    // of all tasks of the caller's tenant
	AnonymousRows Rows = "anonymous" // of tasks that were created without authentication
)

// Reach says which rows the caller of a list may see: there may be more.
type Reach struct {
	Rows   Rows     `json:"rows"`
	Tenant string   `json:"tenant,omitempty"` // of TenantRows
	Inert  []string `json:"inert,omitempty"`  // roles of the caller that have no effect, because its credential has no tenant
	Note   string   `json:"note,omitempty"`   // says so to a person; "": no credential sees others
}

// NoteFor returns the note that a person needs beside so many rows: "" if they cannot mislead. Without a
// row, or with an inert role, they can. A nil Reach has none.
func (r *Reach) NoteFor(rows int) string {
	if r == nil || rows > 0 && len(r.Inert) == 0 {
		return ""
	}
	return r.Note
}

// ApprovalPage is a page of approvals: pending ones with the oldest, or with the least time
// left, first; settled ones with the newest first. A page may have fewer items than its limit,
// even none, while Next is set.
type ApprovalPage struct {
	Items   []Approval `json:"items"`
	Next    string     `json:"next,omitempty"`
	Damaged int        `json:"damaged,omitempty"` // approvals that cannot be read
	Reach   *Reach     `json:"reach,omitempty"`   // rows that the caller may see
}

// A Decision decides an approval.
type Decision struct {
	Decision  DecisionType    `json:"decision"`
	Digest    string          `json:"digest"`              // of the approval that was shown; required
	Arguments json.RawMessage `json:"arguments,omitempty"` // of an edit: the complete object
	Response  json.RawMessage `json:"response,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Grant     *GrantRequest   `json:"grant,omitempty"` // with an approve, as Approval.Grants allow
}

// GrantTerms are the bounds of the grants that an approve of an approval may make.
type GrantTerms struct {
	Scopes  []string `json:"scopes"`         // "task", "context" or "time"
	Seconds int64    `json:"seconds"`        // the longest time
	Uses    int      `json:"uses,omitempty"` // at most; 0: any number
	Vary    []string `json:"vary,omitempty"` // JSON pointers to the arguments that may differ
}

// A GrantRequest asks for a grant: later calls that differ from the approved call in nothing but
// GrantTerms.Vary start without being asked about.
type GrantRequest struct {
	Scope   string `json:"scope"`             // "task", "context" or "time": the same task, the same context, or any
	Seconds int64  `json:"seconds,omitempty"` // 0: as long as the terms allow
	Uses    int    `json:"uses,omitempty"`    // 0: as often as the terms allow
	Exact   bool   `json:"exact,omitempty"`   // no argument may vary, whatever the terms say
}

// AskOnce returns the request not to ask again, in the same context, for exactly the approved call.
func AskOnce() *GrantRequest { return &GrantRequest{Scope: "context", Exact: true} }

// A Grant is in force.
type Grant struct {
	ID       string    `json:"id"`
	Words    string    `json:"words"` // what it lets start, in a sentence
	Scope    string    `json:"scope"`
	Task     string    `json:"task"`
	Context  string    `json:"context,omitempty"`
	Agent    string    `json:"agent"`
	Tool     string    `json:"tool"`
	Gate     string    `json:"gate"`
	Approval string    `json:"approval"` // whose approve has made it
	Owner    Principal `json:"owner"`    // of the tasks
	By       Principal `json:"by"`
	Made     time.Time `json:"made"`
	Until    time.Time `json:"until"`
	Uses     int       `json:"uses,omitempty"` // 0: any number
	Used     int       `json:"used,omitempty"` // counted with Uses only
}

// GrantPage is a page of grants, the first to end first. It may have fewer items than its limit
// while Next is set.
type GrantPage struct {
	Items   []Grant `json:"items"`
	Next    string  `json:"next,omitempty"`
	Damaged int     `json:"damaged,omitempty"` // grants that cannot be read
	Reach   *Reach  `json:"reach,omitempty"`   // rows that the caller may see
}

// GrantQuery selects grants.
type GrantQuery struct {
	Limit  int // Defaults to 50; at most 200.
	Cursor string
}

// A BatchDecision is a decision of a batch.
type BatchDecision struct {
	ID string `json:"id"`
	Decision
}

// Decided is the result of a decision.
type Decided struct {
	Approval *Approval `json:"approval,omitempty"` // as it is now; nil: decided, but it cannot be read
	// Already says that the same decision had been made before.
	Already bool      `json:"already,omitempty"`
	Caller  Principal `json:"caller"`
}

// A Batch is decisions that are made with one request.
type Batch struct {
	Items []BatchDecision `json:"items"`
}

// BatchResults are the results of a [Batch], in its order.
type BatchResults struct {
	Items []BatchResult `json:"items"`
}

// BatchResult is the result of a decision of a batch.
type BatchResult struct {
	ID      string   `json:"id"`
	Status  int      `json:"status"` // as the decision alone would be answered
	Decided *Decided `json:"decided,omitempty"`
	Error   *Error   `json:"error,omitempty"`
}

// Extension moves the deadline of a pending approval.
type Extension struct {
	Digest string    `json:"digest"`
	Until  time.Time `json:"until"`
}

// Anew asks a pending approval anew.
type Anew struct {
	Digest string `json:"digest"`
}

// TaskQuery selects tasks.
type TaskQuery struct {
	Context   string
	State     string // an A2A name, or its short form such as "input-required"
	Principal string // subject of the owner
	Limit     int    // Defaults to 50; at most 200.
	Cursor    string
}

// Task is a task without its log.
type Task struct {
	ID      string    `json:"id"`
	Context string    `json:"context,omitempty"`
	State   string    `json:"state"` // an A2A 1.0 name
	Since   time.Time `json:"since"` // when it entered the state
	Created time.Time `json:"created"`
	Tenant  string    `json:"tenant,omitempty"`
	Owner   string    `json:"owner"`
	Pending int       `json:"pending"` // approvals
	Bytes   uint64    `json:"bytes"`   // of its log
	Damaged bool      `json:"damaged,omitempty"`
	// OwnerRevoked says that the credential of the owner is known to be invalid by now.
	OwnerRevoked bool `json:"ownerRevoked,omitempty"`
}

// TaskPage is a page of tasks, the newest first.
type TaskPage struct {
	Items []Task `json:"items"`
	Next  string `json:"next,omitempty"`
	Reach *Reach `json:"reach,omitempty"` // rows that the caller may see
}

// TaskDetail is a task with its log.
type TaskDetail struct {
	Task      Task            `json:"task"`
	A2A       json.RawMessage `json:"a2a"` // the Task of A2A 1.0, as its client sees it
	Calls     []Call          `json:"calls"`
	Approvals []Approval      `json:"approvals"` // as in lists
	Webhooks  []Webhook       `json:"webhooks,omitempty"`
	May       TaskMay         `json:"may"`
	Caller    Principal       `json:"caller"`
}

// TaskMay lists the caller's permissions for a task.
type TaskMay struct {
	Cancel bool `json:"cancel"`
	Delete bool `json:"delete"`
	Send   bool `json:"send"` // messages: the caller is its owner
}

// Webhook is the state of a webhook of a task.
type Webhook struct {
	ID     string     `json:"id"`
	Task   string     `json:"task"`
	Number uint64     `json:"number"`
	Owner  string     `json:"owner"`
	SetBy  *Principal `json:"setBy,omitempty"` // nil: it cannot be read
	Set    time.Time  `json:"set,omitzero"`
	Host   string     `json:"host"` // of its URL; the rest may be secret
	State  string     `json:"state"`
	Tries  int        `json:"tries,omitempty"`
	Next   time.Time  `json:"next,omitzero"`
	Error  string     `json:"error,omitempty"`
	Lag    float64    `json:"lag,omitempty"` // seconds since the first event that was not delivered
}

// Deleted says whether a webhook was there.
type Deleted struct {
	Deleted bool `json:"deleted"`
}

// WebhookQuery selects webhooks.
type WebhookQuery struct {
	Task, State, Principal string
	Limit                  int
	Cursor                 string
	Anonymous              bool
}

// WebhookPage is a page of webhooks.
type WebhookPage struct {
	Items []Webhook `json:"items"`
	Next  string    `json:"next,omitempty"`
	Off   bool      `json:"off,omitempty"`   // the server sends no push notifications
	Reach *Reach    `json:"reach,omitempty"` // rows that the caller may see
}

// Notification is a message of a route that is not sent.
type Notification struct {
	ID       string    `json:"id"`
	Route    string    `json:"route"`
	Event    string    `json:"event"`    // "asked", "reminded", "escalated" or "resolved"; "summary", which only admins see
	Task     string    `json:"task"`     // "": of a summary
	Approval string    `json:"approval"` // likewise
	State    string    `json:"state"`    // "waiting", "retrying", "failed" or "damaged"
	At       time.Time `json:"at,omitzero"`
	Tries    int       `json:"tries,omitempty"`
	Next     time.Time `json:"next,omitzero"`
	Error    string    `json:"error,omitempty"` // for admins
	Count    int       `json:"count,omitempty"` // of a summary: the messages that it stands for
}

// NotificationQuery selects messages of routes.
type NotificationQuery struct {
	State, Route string
	Limit        int
	Cursor       string
	Anonymous    bool
}

// NotificationPage is a page of messages of routes.
type NotificationPage struct {
	Items []Notification `json:"items"`
	Next  string         `json:"next,omitempty"`
	Reach *Reach         `json:"reach,omitempty"` // rows that the caller may see
}

// AuditEntry is an entry of the audit.
type AuditEntry struct {
	N        uint64     `json:"n"`
	At       time.Time  `json:"at"`
	What     string     `json:"what"` // "asked", "resolved", "started", "finished", …
	Task     string     `json:"task"`
	Tenant   string     `json:"tenant,omitempty"`
	Owner    string     `json:"owner,omitempty"`
	Call     string     `json:"call,omitempty"`
	Tool     string     `json:"tool,omitempty"`
	Approval string     `json:"approval,omitempty"`
	Digest   string     `json:"digest,omitempty"` // "hmac-sha256:…", keyed for each task
	Gate     string     `json:"gate,omitempty"`
	State    State      `json:"state,omitempty"` // of an approval that is resolved
	By       *Principal `json:"by,omitempty"`    // nil: the server
	Via      string     `json:"via,omitempty"`
	Reason   string     `json:"reason,omitempty"`
	Outcome  string     `json:"outcome,omitempty"` // of a call
	Attempt  int        `json:"attempt,omitempty"`
	Deadline *time.Time `json:"deadline,omitempty"`
	Webhook  string     `json:"webhook,omitempty"`
	Grant    string     `json:"grant,omitempty"` // id of a grant that is made, used or revoked
}

// AuditPage is a page of the audit, oldest first. It may be empty although Next is higher than
// the position asked for; the end is reached when Next does not change.
type AuditPage struct {
	Items []AuditEntry `json:"items"`
	Next  uint64       `json:"next"`
}

// An Event is an event of the feed.
type Event struct {
	ID    string // of the position after it; resume with it
	Reset bool   // entries may have been missed: list again
	Entry AuditEntry
}

// WhoAmI is the caller as the server knows it.
type WhoAmI struct {
	Caller  Principal       `json:"caller"`
	May     map[string]bool `json:"may"` // by action: "create", "read", "review", "decide", "oversee", "cancel", "delete", "admin"
	Server  string          `json:"server"`
	Version string          `json:"version"`
}

// AtAgent returns the call of a remote agent that a confirmation or an outcome asks about: the names of the agents
// that lead to it, of its tool, and its arguments. "": a is about a call of this server.
func (a *Approval) AtAgent() (agent, tool string, arguments json.RawMessage) {
	var at struct {
		Agent     string          `json:"agent"`
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if a.Question != "confirm" && a.Question != "outcome" || json.Unmarshal(a.Payload, &at) != nil || at.Tool == "" {
		return "", "", nil
	}
	return at.Agent, at.Tool, at.Arguments
}
