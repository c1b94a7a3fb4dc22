package approval

import (
	"encoding/json"
	"time"

	"a2a-server/auth"
)

// Kind says what is asked.
type Kind string

// The kinds of approval.
const (
	KindCall     Kind = "call"     // may this call run
	KindOutcome  Kind = "outcome"  // what came of a call whose result is unknown
	KindQuestion Kind = "question" // something a tool wants to know; it authorizes nothing
)

// State is where an approval stands. All but [Pending] are final.
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
	Superseded State = "superseded" // by a new approval that names it
)

// A Verb is a decision. A person rejects; a policy denies.
type Verb string

// The decisions.
const (
	Approve Verb = "approve"
	Edit    Verb = "edit" // a full replacement of the arguments
	Reject  Verb = "reject"
	Respond Verb = "respond" // never starts a tool
	Cancel  Verb = "cancel"  // the whole task
)

// OnExpiry is what happens when a deadline passes.
type OnExpiry string

// The outcomes of a deadline.
const (
	ExpiryRejects OnExpiry = "reject" // the default
	ExpiryCancels OnExpiry = "cancel" // the whole task
	ExpiryKeeps   OnExpiry = "keep"   // pending, without a deadline
)

// Terms are what a rule sets for an approval. They are frozen when it is asked.
type Terms struct {
	Rule      string        `json:"rule"`                // name of the rule that asked
	Expires   time.Duration `json:"expires,omitempty"`   // after asking, in ns; 0: never
	OnExpiry  OnExpiry      `json:"onExpiry,omitempty"`  // "": ExpiryRejects
	Allowed   []Verb        `json:"allowed,omitempty"`   // nil: all that the kind has
	FourEyes  bool          `json:"fourEyes,omitempty"`  // not the requester, nor its chain
	Elsewhere bool          `json:"elsewhere,omitempty"` // not answered by the A2A client
	// AuthRequired lets a task that only others can continue with wait in auth-required, not
	// in input-required, where clients may ask a user who cannot answer.
	AuthRequired bool `json:"authRequired,omitempty"`
	Destructive  bool `json:"destructive,omitempty"` // a word approves it only with its code
	NoText       bool `json:"noText,omitempty"`      // text never decides it, be it JSON
	CancelsTask  bool `json:"cancelsTask,omitempty"` // a rejection cancels the task
	// Approvers are the only ones who may answer; nil: everybody who may decide the
	// approvals of the task. It gives nobody the right to decide, see [auth.Decide].
	Approvers *Approvers `json:"approvers,omitempty"`
	Risk      Risk       `json:"risk,omitempty"` // "": see [Approval.Risk]
	// Mask are JSON pointers (RFC 6901) into the arguments, with * for every member or element.
	// Lists, mails and logs have [Masked] in these places; whoever decides sees everything. A
	// pointer that meets nothing masks nothing.
	Mask []string `json:"mask,omitempty"`
	// Notify names those to notify. Nothing reads it yet; it is kept for the notifications that
	// a later version sends.
	Notify []string `json:"notify,omitempty"`
}

// Approval is what was asked, bound to what was shown, and how it ended. Its JSON
// is stored forever: a change of meaning is a new V.
type Approval struct {
	V          int             `json:"v"`  // 1
	ID         string          `json:"id"` // "<task id>.a<n>"
	Kind       Kind            `json:"kind"`
	State      State           `json:"state"`
	Task       string          `json:"task"`
	Context    string          `json:"context"`
	Call       string          `json:"call"`            // "c<step>.<n>", unique in the task
	Alias      string          `json:"alias,omitempty"` // the id that the caller gave the call
	Agent      string          `json:"agent"`
	Tool       string          `json:"tool"`
	Definition string          `json:"definition"` // digest of the tool's definition
	Args       json.RawMessage `json:"args"`       // as received
	Digest     string          `json:"digest"`     // see [Digest] and [OutcomeDigest]
	Hint       string          `json:"hint"`
	Payload    json.RawMessage `json:"payload,omitempty"` // of the tool that asks
	// About is what the tool of a call that may run says about itself; nil: nothing.
	About *About `json:"about,omitempty"`
	// TakesPayload says that the tool reads a payload of the answer; see
	// [Approval.AcceptsPayload].
	TakesPayload bool `json:"takesPayload,omitempty"`
	// Ask names the question within its call when a running tool asks; AskKind is
	// then "confirm", "question", "form" or "auth".
	Ask     string `json:"ask,omitempty"`
	AskKind string `json:"askKind,omitempty"`
	// Held says that the call runs and waits for the answer, in the memory of its process:
	// when that stops, the question is closed.
	Held    bool            `json:"held,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`  // of a response
	Attempt int             `json:"attempt,omitempty"` // of the call, for KindOutcome
	Terms   Terms           `json:"terms"`
	// Code is what has to be typed with a word that approves the call; "": nothing, or, if
	// it [Approval.NeedsCode], no text approves it.
	Code       string         `json:"code,omitempty"`
	WrongCodes int            `json:"wrongCodes,omitempty"` // that were typed instead
	Requester  auth.Principal `json:"requester"`
	Asked      time.Time      `json:"asked"`
	Deadline   *time.Time     `json:"deadline,omitempty"`
	Extensions int            `json:"extensions,omitempty"` // of the deadline
	Supersedes string         `json:"supersedes,omitempty"`
	Resolution *Resolution    `json:"resolution,omitempty"` // nil while pending
}

// Elsewhere reports whether somebody other than the A2A client has to answer: the terms
// say so, or the requester is none of the approvers.
func (a *Approval) Elsewhere() bool {
	return a.Terms.Elsewhere || a.Terms.FourEyes || a.AskKind == "auth" || !a.Terms.Approvers.Include(a.Requester)
}

// AuthRequired reports whether a task that waits for a alone does so in auth-required:
// nobody in its conversation can answer, and the rule asks for it, or the tool wants an
// authorisation.
func (a *Approval) AuthRequired() bool {
	return a.Elsewhere() && (a.Terms.AuthRequired || a.AskKind == "auth")
}

// AcceptsPayload reports whether an answer to a may have a payload: the tool declares
// that it takes one, or asked with one of its own. To any other tool it would be
// nothing, though whoever sent it may believe that it changes what runs.
func (a *Approval) AcceptsPayload() bool { return a.TakesPayload || len(a.Payload) > 0 }

// Resolution is how an approval ended, and who said so. By is the zero Principal
// when nobody did: a deadline, a cancel, a successor.
type Resolution struct {
	Verb     Verb            `json:"verb,omitempty"`
	By       auth.Principal  `json:"by"`
	Via      string          `json:"via"` // "a2a", "api", "provider" or "system"
	At       time.Time       `json:"at"`
	Reason   string          `json:"reason,omitempty"`
	Args     json.RawMessage `json:"args,omitempty"`     // of an edit
	Digest   string          `json:"digest,omitempty"`   // of the edited arguments
	Response json.RawMessage `json:"response,omitempty"` // of a respond
	Payload  json.RawMessage `json:"payload,omitempty"`  // for the tool, as ADK has it
}

// Answer is one decision as it came in, before it is matched with what is asked.
type Answer struct {
	ID string // of an approval, or with ByCall what its call is called
	// ByCall says that ID may name a call instead: by its id, or by the alias that its
	// caller gave it. Only dialects that ask by the call set it; see [Find] for how
	// little it can reach.
	ByCall   bool
	Verb     Verb
	Args     json.RawMessage // of an edit
	Response json.RawMessage // of a respond
	Payload  json.RawMessage
	Reason   string
	Digest   string // what the decider was shown; "": not said
	Code     string // that was typed with the word, see [Approval.WrongCode]; "": none
}
