package approval

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"a2a-server/auth"
	"a2a-server/internal/strictjson"
)

// Kind is the kind of question.
type Kind string

// The kinds of approval.
const (
	KindCall     Kind = "call"     // may this call run
	KindOutcome  Kind = "outcome"  // the outcome of a call whose result is unknown
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
	Canceled   State = "canceled"   // with its task or its call, or by a gate that denies the call now
	Superseded State = "superseded" // by a new approval that names it
)

// Allows reports whether an approval in state s lets its call run.
func (s State) Allows() bool { return s == Approved || s == Edited }

// DecisionType is what a decision does. A person rejects; a policy denies.
type DecisionType string

// The types of decisions.
const (
	Approve DecisionType = "approve"
	Edit    DecisionType = "edit" // a full replacement of the arguments
	Reject  DecisionType = "reject"
	Respond DecisionType = "respond" // never starts a tool
	Cancel  DecisionType = "cancel"  // the whole task
)

// OnExpiry is the effect of a passed deadline.
type OnExpiry string

// The outcomes of a deadline.
const (
	ExpiryRejects OnExpiry = "reject" // the default
	ExpiryCancels OnExpiry = "cancel" // the whole task
	ExpiryKeeps   OnExpiry = "keep"   // pending, without a deadline
)

// Terms are the conditions that a gate sets for an approval, frozen when it is asked.
type Terms struct {
	// Gate is the name of the gate that asked.
	Gate string `json:"gate"`
	// Expires is the time after asking, in ns; 0: never.
	Expires time.Duration `json:"expires,omitempty" yaml:"expires" or:"never" never:"-1" doc:"How long the approval may be pending, instead of deadlines.expires."`
	// OnExpiry "": [ExpiryRejects].
	OnExpiry OnExpiry `json:"onExpiry,omitempty" yaml:"on_expiry" oneof:"an outcome of a deadline: reject, cancel, keep" doc:"Effect of the deadline. Default: deadlines.on_expiry."`
	// Allowed nil: all that the kind has.
	Allowed []DecisionType `json:"allowed,omitempty" yaml:"allowed" oneof:"a decision: approve, edit, reject, respond, cancel" doc:"Decisions that are offered. Default: all."`
	// FourEyes excludes the requester and its chain.
	FourEyes bool `json:"fourEyes,omitempty" yaml:"four_eyes" doc:"Excludes every requester of the call from deciding. Needs auth."`
	// Elsewhere refuses the answer of the A2A client.
	Elsewhere bool `json:"elsewhere,omitempty" yaml:"elsewhere" doc:"The A2A client may not decide. Needs auth."`
	// WaitingState is the state in which a task waits for a decision that its client may not make;
	// "": [WaitsWorking].
	WaitingState WaitingState `json:"waitingState,omitempty" yaml:"waiting_state" oneof:"a waiting state: working, auth_required, input_required" doc:"State of a task that waits for a decision that its client may not make, instead of the server's waiting_state."`
	// Destructive: a word approves it only with its code.
	Destructive bool `json:"destructive,omitempty" yaml:"destructive" doc:"Shown as destructive; a word approves it only with the code of the question."`
	// NoText: text never decides it, be it JSON.
	NoText bool `json:"noText,omitempty" yaml:"no_text" doc:"Never decided by text, only by data and outside the conversation."`
	// CancelsTask: a rejection cancels the task.
	CancelsTask bool `json:"cancelsTask,omitempty" yaml:"on_reject" default:"continue" oneof:": cancel, continue" doc:"cancel: a rejection cancels the task, too."`
	// Approvers restricts deciders; nil: every principal with the right to decide the
	// approvals of the task. It grants no right to decide, see [auth.Decide].
	Approvers *Approvers `json:"approvers,omitempty" yaml:"approvers" as:"approvers" form:"{roles: [sre], subjects: [\"corp:alice\"], when: args.region in decider.roles}" doc:"Only these may decide, if they have the right, and when is true of them; acme/corp:alice names the tenant. Needs auth."`
	// People is how many persons have to approve, of those that Approvers include; 0: one. It is
	// for gates: an approval has Needs.
	People int `json:"-" yaml:"people" min:"1" max:"10" doc:"Persons who have to approve (default 1), each with one vote; a rejection by any of them ends it. Needs auth (docs/approvals.md)."`
	// Needs are the votes without which the call does not run; nil: one decision is enough. They
	// are made of the People and Approvers of all gates that ask.
	Needs []Need `json:"needs,omitempty"`
	// Human refuses the answers of programs: of a provider, of services and of agents.
	Human bool `json:"human,omitempty" yaml:"human" doc:"Services, agents that act for a person, and a provider may not decide."`
	// Risk "": see [Approval.Risk].
	Risk Risk `json:"risk,omitempty" yaml:"risk" oneof:"a risk: low, medium, high" doc:"Shown; decides nothing. Default: high if destructive, else medium."`
	// Mask lists JSON pointers (RFC 6901) into the arguments, with * for every member or
	// element. Lists, mails and logs have [Masked] in these places; the decider sees
	// everything. A pointer without a match masks nothing. A gate masks every call of its tools,
	// also those that it is not about: see [Policy.Mask].
	Mask []string `json:"mask,omitempty" yaml:"mask" text:"mask" doc:"Arguments that lists, hints, messages and logs show as •••, such as /users/*/name."`
	// MaskTask keeps conversation, results and artifacts of a task in which a call of the tool was asked
	// about from all but its requester and those who may decide. Such calls have no grants.
	MaskTask bool `json:"maskTask,omitempty" yaml:"mask_task" doc:"Only the requester and those who may decide see the task's messages, results and artifacts."`
	// Notify lists the routes on which the approval is announced, beside those that announce all.
	Notify []string `json:"notify,omitempty" yaml:"notify" text:"route" doc:"Routes that announce the approval."`
	// Remind is the time after asking at which the routes are told again, once, in ns; 0: never.
	Remind time.Duration `json:"remind,omitempty" yaml:"remind" or:"never" doc:"When the routes are told again, once, after asking."`
	// Escalate asks others, too, after a while.
	Escalate Escalation `json:"escalate,omitzero" yaml:"escalate"`
	// Grants is what a person may allow together with an approve; nil: nothing. See [Grant].
	Grants *GrantTerms `json:"grants,omitempty" yaml:"grants" as:"grants" form:"{scopes: [task, context, time], max: 8h, uses: 50, vary: [/subject]}" doc:"What an approve may allow later calls: those of its task, its context or any of the requester, for max (24h) and uses, that differ in vary at most. Default: nothing."`
}

// AddExclusions adds the exclusions of u, of deciders and of ways to decide, to those of t.
func (t *Terms) AddExclusions(u Terms) {
	t.Human, t.FourEyes = t.Human || u.Human, t.FourEyes || u.FourEyes
	t.Elsewhere, t.NoText = t.Elsewhere || u.Elsewhere, t.NoText || u.NoText
}

// Version is the V of an [Approval], an [Audit] and a [Grant].
const Version = 1

// Approval is a question bound to the call that was shown, and its end. Its JSON is stored:
// a change of meaning is a new V.
type Approval struct {
	V          int             `json:"v"`  // Version
	ID         string          `json:"id"` // see [ID]
	Kind       Kind            `json:"kind"`
	State      State           `json:"state"`
	Task       string          `json:"task"`
	Context    string          `json:"context"`
	Call       string          `json:"call"`            // see [CallID]; unique in the task
	Alias      string          `json:"alias,omitempty"` // the id that the caller gave the call
	Agent      string          `json:"agent"`
	Tool       string          `json:"tool"`
	Definition string          `json:"definition"`        // digest of the tool's definition
	Args       json.RawMessage `json:"args"`              // as received
	Digest     string          `json:"digest"`            // see [Approval.QuestionDigest]
	Hint       string          `json:"hint,omitempty"`    // the words of gates and the tool; see [Approval.Question]
	Notes      string          `json:"notes,omitempty"`   // what the server knows beside them, in sentences
	Payload    json.RawMessage `json:"payload,omitempty"` // of the tool that asks
	// About is the self-description of the tool, for an approval of a call; nil: none.
	About *About `json:"about,omitempty"`
	// TakesPayload says that the tool reads a payload of the answer; see
	// [Approval.AcceptsPayload].
	TakesPayload bool `json:"takesPayload,omitempty"`
	// Ask names the question within its call when a running tool asks; AskKind is
	// then "confirm", "outcome", "question", "form" or "auth".
	Ask     string `json:"ask,omitempty"`
	AskKind string `json:"askKind,omitempty"`
	// Held says that the call runs and waits for the answer, in the memory of its process:
	// when that stops, the question is closed.
	Held    bool            `json:"held,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`  // of a response
	Attempt int             `json:"attempt,omitempty"` // of the call
	Terms   Terms           `json:"terms"`
	// Gates are the gates that asked, as they were; nil: none.
	Gates []AskedGate `json:"gates,omitempty"`
	// Kept says that another call of the task keeps it, see Terms.MaskTask.
	Kept bool `json:"kept,omitempty"`
	// Waits is the state in which the task waits for a, as the terms say, if its client may not decide a;
	// "": the client may, and the state is input-required. It is set when a is asked, voted for, and
	// escalated: see [Approval.WaitsFor].
	Waits WaitingState `json:"waits,omitempty"`
	// Later says that the task had further messages before, or has asked another question since: a word may
	// answer something else.
	Later bool `json:"later,omitempty"`
	// Code is typed after a word that answers it; "": a word needs none, or, if it
	// [Approval.NeedsCode], no word answers it.
	Code       string         `json:"code,omitempty"`
	WrongCodes int            `json:"wrongCodes,omitempty"` // that were typed instead
	Requester  auth.Principal `json:"requester"`
	// Editors are the authors of edits of the call, under four eyes. Requester has only their names.
	Editors    []auth.Principal `json:"editors,omitempty"`
	Asked      time.Time        `json:"asked"`
	Deadline   *time.Time       `json:"deadline,omitempty"`
	Extensions int              `json:"extensions,omitempty"` // of the deadline
	Reminded   *time.Time       `json:"reminded,omitempty"`   // when Terms.Remind was over
	Escalated  *time.Time       `json:"escalated,omitempty"`  // when Terms.Escalate has happened
	Supersedes string           `json:"supersedes,omitempty"`
	// GrantKey is the key of the calls that a grant made by an approve would cover; "": it makes
	// none. See [Approval.Grantable].
	GrantKey   string      `json:"grantKey,omitempty"`
	Votes      []Vote      `json:"votes,omitempty"`      // of Terms.Needs, in their order
	Resolution *Resolution `json:"resolution,omitempty"` // nil while pending
}

// CheckVersion refuses an approval of another version.
func (a *Approval) CheckVersion() error {
	if a.V != Version {
		return fmt.Errorf("approval %s has version %d, and this program reads version %d: use the program that wrote it", a.ID, a.V, Version)
	}
	return nil
}

// restored reports whether the task was restored from a backup before a was asked, so that
// decisions from the time after the backup may arrive again. They do not know the id of a.
func (a *Approval) restored() bool { return markOf(a.ID) != "" }

// OfRestoredCall reports whether a was asked after a restoration from a backup, about a call that was
// planned before it: the call may have been decided, and may have run, in the time that was lost.
func (a *Approval) OfRestoredCall() bool { return markOf(a.ID) != markOf(a.Call) }

// AcceptsPayload reports whether an answer to a may have a payload: the tool declares that it
// takes a payload, or asked with its own. Any other tool would ignore it, although its sender
// may believe that it changes the call.
//
// Neither if it needs several votes: the persons before would not have seen the payload.
func (a *Approval) AcceptsPayload() bool {
	return (a.TakesPayload || len(a.Payload) > 0) && len(a.Terms.Needs) == 0
}

// Approvers returns who may decide a now: the approvers of its terms, with the roles that its
// escalation has added. Nil: every principal with the right to decide it. It must not be changed.
func (a *Approval) Approvers() *Approvers {
	if a.Escalated == nil {
		return a.Terms.Approvers
	}
	return a.Terms.Approvers.widened()
}

// Needs returns the needs of a now: those of its terms, with the roles that its escalation has
// added. It must not be changed.
func (a *Approval) Needs() []Need {
	if a.Escalated == nil {
		return a.Terms.Needs
	}
	all := slices.Clone(a.Terms.Needs)
	for i := range all {
		all[i].Approvers = all[i].Approvers.widened()
	}
	return all
}

// EscalateAt returns when a is to be escalated; zero: never, or it has been.
func (a *Approval) EscalateAt() time.Time {
	if a.Terms.Escalate.IsZero() || a.Escalated != nil {
		return time.Time{}
	}
	return moment(a.Asked.Add(a.Terms.Escalate.After))
}

// RemindAt returns when the routes of a are to be reminded; zero: never, or they have been.
func (a *Approval) RemindAt() time.Time {
	if a.Terms.Remind <= 0 || a.Reminded != nil {
		return time.Time{}
	}
	return moment(a.Asked.Add(a.Terms.Remind))
}

// Routes returns the routes that a names: those of its terms, and those of its escalation once it
// has happened.
func (a *Approval) Routes() []string {
	if a.Escalated == nil {
		return a.Terms.Notify
	}
	return Union(a.Terms.Notify, a.Terms.Escalate.Notify)
}

// Resolution is the end of an approval, and its author. By is the zero Principal for a
// deadline, a cancel, or a successor.
type Resolution struct {
	Decision DecisionType    `json:"decision,omitempty"`
	By       auth.Principal  `json:"by"`
	Via      string          `json:"via"` // a Via constant
	At       time.Time       `json:"at"`
	Reason   string          `json:"reason,omitempty"`
	Args     json.RawMessage `json:"args,omitempty"`     // of an edit
	Digest   string          `json:"digest,omitempty"`   // of the edited arguments
	Response json.RawMessage `json:"response,omitempty"` // of a respond
	Payload  json.RawMessage `json:"payload,omitempty"`  // for the tool, as ADK has it
	Grant    *Granted        `json:"grant,omitempty"`    // that an approve has made
}

// Decision is a decision as received, before [Match] finds its approval.
type Decision struct {
	ID string // of an approval, or with ByCall the name of a call
	// ByCall says that ID may name a call instead: by its id, or by the alias that its
	// caller gave it. Only dialects that ask by the call set it; see [Find] for how
	// little it can reach.
	ByCall   bool
	Type     DecisionType
	Args     json.RawMessage // of an edit
	Response json.RawMessage // of a respond
	Payload  json.RawMessage
	Reason   string
	Digest   string        // the digest shown to the decider; "": not sent
	Grant    *GrantRequest // with an approve, by the id of the approval; nil: none
	Code     string        // that was typed with the word, see [Approval.WrongCode]; "": none
}

// NewGrant returns the grant that a decision about a makes, whose [Approval.Check] has passed. The
// caller fills in the incarnation of the store.
func (a *Approval) NewGrant(id string, ask GrantRequest, owner, by auth.Principal, now time.Time) (*Grant, error) {
	terms, key, vary := a.Terms.Grants, a.GrantKey, a.Terms.Grants.Vary
	if ask.Exact {
		key, vary = ExactGrantKey(key, a.Digest), nil
	}
	args, err := strictjson.DecodeObject(a.Args)
	if err != nil {
		return nil, fmt.Errorf("grant of %s: %w", a.ID, err)
	}
	shown, err := strictjson.Canonical(maskedArgs(without(args, vary, "any"), a.Terms.Mask))
	if err != nil {
		return nil, fmt.Errorf("grant of %s: %w", a.ID, err)
	}
	g := &Grant{
		V: Version, ID: id, Scope: ask.Scope, Task: a.Task, Context: a.Context, Key: key,
		Owner: owner, By: by, Approval: a.ID, Gate: a.Terms.Gate, Agent: a.Agent, Tool: a.Tool, Args: shown, Vary: vary,
		Made: moment(now), Until: moment(now.Add(terms.Longest())), Uses: terms.Uses,
	}
	if ask.For > 0 {
		g.Until = moment(now.Add(ask.For))
	}
	if ask.Uses > 0 {
		g.Uses = ask.Uses
	}
	return g, nil
}

// Grantable reports whether an approve of a may make a grant: see Terms.Grants.
func (a *Approval) Grantable() bool {
	return a.Kind == KindCall && a.Ask == "" && a.GrantKey != "" && a.Terms.Grants != nil
}
