package approval

import (
	"fmt"
	"strings"
	"time"
)

// Reason says which case an [Error] is. It goes out on the wire as it is.
type Reason string

// The reasons.
const (
	ReasonUnknown    Reason = "APPROVAL_UNKNOWN"     // no such approval in this task
	ReasonMalformed  Reason = "APPROVAL_MALFORMED"   // a known shape, filled in wrongly
	ReasonNotAllowed Reason = "APPROVAL_NOT_ALLOWED" // not this verb, person or way
	ReasonConflict   Reason = "APPROVAL_CONFLICT"    // decided, and differently
	ReasonExpired    Reason = "APPROVAL_EXPIRED"     // after the deadline
	ReasonChanged    Reason = "APPROVAL_CHANGED"     // not what the decider was shown
	ReasonDecided    Reason = "APPROVAL_DECIDED"     // decided already, in just this way
)

// A Case says of a [Reason] when it happens, and what to do next.
type Case struct {
	Reason     Reason
	When, Next string // sentences in Markdown
}

// Cases returns every reason. docs/errors.md is generated from it.
func Cases() []Case {
	return []Case{
		{ReasonUnknown, "No approval of this task has that id.", "Answer one of those in `pending`."},
		{ReasonMalformed, "A known shape is filled in wrongly or contradicts itself, it has a payload that nobody reads, arguments do not fit the tool's schema, a name is that of several calls, or one approval is answered in two ways.", "Correct each of the `fieldViolations`, and send the message again."},
		{ReasonNotAllowed, "Not this decision, not by this person, or not this way.", "Use one of the decisions in `allowed`, or have a permitted person decide; the message names the rule."},
		{ReasonConflict, "It was decided differently; `by`, `at` and `verb` say by whom, when and how.", "Nothing: that decision is final. Read the task for its result."},
		{ReasonDecided, "It was already decided this way, and its task has ended.", "Nothing: it was done. Read the task for its result."},
		{ReasonExpired, "Its `deadline` has passed.", "If the call is still wanted, ask for it again with a new message."},
		{ReasonChanged, "What was shown has changed since.", "Read the task, review the approval in `successor` or, without one, this one again, and answer it with the given `digest`."},
	}
}

// The keys of [Error.Metadata].
const (
	MetaApproval  = "approval"  // id
	MetaState     = "state"     // of the approval
	MetaVerb      = "verb"      // of its resolution
	MetaBy        = "by"        // subject of who decided
	MetaAt        = "at"        // when, RFC 3339
	MetaDigest    = "digest"    // that an answer has to name now
	MetaSuccessor = "successor" // id of the approval to answer instead
	MetaAllowed   = "allowed"   // verbs, separated by commas
	MetaPending   = "pending"   // ids, separated by commas
	MetaDeadline  = "deadline"  // RFC 3339
)

// Violation is one thing wrong with one field of an answer.
type Violation struct {
	Field       string // "args", or followed by a JSON pointer: "args/to"
	Description string
}

// An Error is a refused answer. It is safe to show to its sender: the message says what
// was wrong and how to answer instead.
type Error struct {
	Reason     Reason
	ID         string // of the approval or, when there is none, as it was given
	Message    string
	Violations []Violation       // of ReasonUnknown and ReasonMalformed
	Metadata   map[string]string // see the Meta constants
	// Barred is why the sender may not answer, whatever the answer is; "": it is the answer
	// that is wrong. It is one of the Barred constants, for logs.
	Barred string
}

// Why somebody may not answer, see [Error].
const (
	BarredUnknown   = "unknown"   // nobody knows who they are
	BarredWay       = "way"       // not over A2A
	BarredRole      = "role"      // they have no role to decide it
	BarredDelegated = "delegated" // a service, or somebody for whom another acts
	BarredApprovers = "approvers" // the rule names others
	BarredFourEyes  = "four eyes" // they are, or act for, those who asked
)

// BarredText returns one of the Barred constants in words.
func BarredText(barred string) string {
	switch barred {
	case BarredUnknown:
		return "nobody knows who they are"
	case BarredWay:
		return "the client may not decide it, only somebody else through the approvals API"
	case BarredRole:
		return "they have no role that may decide it"
	case BarredDelegated:
		return "they are a service, or somebody acts for them"
	case BarredApprovers:
		return "the gate names other approvers"
	case BarredFourEyes:
		return "they requested the call, or act for whoever did"
	}
	return barred
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unknown says that id names no approval of the task. pending are its approvals;
// those that are pending are listed.
func Unknown(id string, pending []*Approval) *Error {
	ids := pendingIDs(pending)
	return &Error{
		Reason:     ReasonUnknown,
		ID:         id,
		Message:    fmt.Sprintf("%s names no approval of this task; %s", quote(id), answerPending(ids)),
		Violations: []Violation{{Field: "id", Description: "names no approval of this task"}},
		Metadata:   meta(MetaPending, strings.Join(ids, ",")),
	}
}

// Malformed says that an answer to id is not valid, with one violation for each problem.
// next says what to send instead.
func Malformed(id, next string, violations ...Violation) *Error {
	what := make([]string, len(violations))
	for i, v := range violations {
		what[i] = v.Field + ": " + v.Description
	}
	return &Error{
		Reason:     ReasonMalformed,
		ID:         id,
		Message:    fmt.Sprintf("the answer to %s is not valid: %s; %s", quote(id), strings.Join(what, "; "), next),
		Violations: violations,
		Metadata:   meta(MetaApproval, id),
	}
}

// NotAllowed says that a may not be answered like this. why names the rule, and what to
// do instead.
func NotAllowed(a *Approval, why string) *Error {
	return &Error{
		Reason:   ReasonNotAllowed,
		ID:       a.ID,
		Message:  fmt.Sprintf("approval %s cannot be answered like this: %s", a.ID, why),
		Metadata: meta(MetaApproval, a.ID, MetaAllowed, joinVerbs(a.Verbs(), ",")),
	}
}

// barred says that the sender may not answer a at all.
func barred(a *Approval, as, why string) *Error {
	e := NotAllowed(a, why)
	e.Barred = as
	return e
}

// Conflict says that a has ended in another way than an answer wants, and how.
func Conflict(a *Approval) *Error {
	return &Error{
		Reason:   ReasonConflict,
		ID:       a.ID,
		Message:  fmt.Sprintf("approval %s %s; that is final; read the task for its result", a.ID, ended(a)),
		Metadata: endMeta(a),
	}
}

// Decided says that a had already been decided in just this way. It is for answers
// that cannot be served with the current task, because that has ended.
func Decided(a *Approval) *Error {
	return &Error{
		Reason:   ReasonDecided,
		ID:       a.ID,
		Message:  fmt.Sprintf("approval %s %s, as this answer says; nothing is left to do", a.ID, ended(a)),
		Metadata: endMeta(a),
	}
}

// tooLate says that the deadline of a has passed.
func tooLate(a *Approval) *Error {
	when := ""
	m := endMeta(a)
	if a.Deadline != nil {
		when = " at " + stamp(*a.Deadline)
		m[MetaDeadline] = stamp(*a.Deadline)
	}
	return &Error{
		Reason:   ReasonExpired,
		ID:       a.ID,
		Message:  fmt.Sprintf("approval %s expired%s before it was answered; if the call is still wanted, ask for it again", a.ID, when),
		Metadata: m,
	}
}

// Changed says that the decider was shown something other than the current question. With
// a successor, that is what to look at and answer; otherwise it is a itself, whose
// current digest is in the metadata.
func Changed(a, successor *Approval) *Error {
	if successor == nil {
		return &Error{
			Reason: ReasonChanged,
			ID:     a.ID,
			Message: fmt.Sprintf("approval %s is not what you were shown: its digest is %s; read the task, look again, and answer with that digest",
				a.ID, a.Digest),
			Metadata: meta(MetaApproval, a.ID, MetaState, string(a.State), MetaDigest, a.Digest),
		}
	}
	return &Error{
		Reason:   ReasonChanged,
		ID:       a.ID,
		Message:  fmt.Sprintf("approval %s was replaced by %s, because what it asked for has changed; look at that one and answer it", a.ID, successor.ID),
		Metadata: meta(MetaApproval, a.ID, MetaState, string(a.State), MetaSuccessor, successor.ID, MetaDigest, successor.Digest),
	}
}

// joined combines several refusals: the first gives the reason, all say what is wrong. It
// returns nil for none.
func joined(errs []*Error) error {
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	all := &Error{Reason: errs[0].Reason, ID: errs[0].ID, Metadata: errs[0].Metadata}
	messages := make([]string, len(errs))
	for i, err := range errs {
		messages[i] = err.Message
		all.Violations = append(all.Violations, err.Violations...)
	}
	all.Message = strings.Join(messages, "\n")
	return all
}

// ended says how a ended, by whom and when, as the rest of a sentence.
func ended(a *Approval) string {
	r := a.Resolution
	if r == nil {
		return "is " + string(a.State)
	}
	by := ""
	if !r.By.IsZero() {
		by = " by " + quote(r.By.Subject)
	}
	at := ""
	if !r.At.IsZero() {
		at = " at " + stamp(r.At)
	}
	why := ""
	if a.State == Superseded && r.Via == ViaSystem && r.Reason != "" {
		why = ": " + r.Reason
	}
	return "was already " + string(a.State) + by + at + why
}

func endMeta(a *Approval) map[string]string {
	m := meta(MetaApproval, a.ID, MetaState, string(a.State))
	if r := a.Resolution; r != nil {
		for k, v := range meta(MetaVerb, string(r.Verb), MetaBy, r.By.Subject, MetaAt, stamp(r.At)) {
			m[k] = v
		}
	}
	return m
}

// meta returns a map of the pairs that have a value.
func meta(pairs ...string) map[string]string {
	m := make(map[string]string, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			m[pairs[i]] = pairs[i+1]
		}
	}
	return m
}

func pendingIDs(approvals []*Approval) []string {
	var ids []string
	for _, a := range approvals {
		if a.State == Pending {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

func joinVerbs(verbs []Verb, sep string) string {
	names := make([]string, len(verbs))
	for i, v := range verbs {
		names[i] = string(v)
	}
	return strings.Join(names, sep)
}

// stamp writes a time as the rest of the server does: UTC, milliseconds.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
