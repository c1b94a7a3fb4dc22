package approval

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"time"

	"a2a-server/internal/failure"
)

// Reason says which case an [Error] is. It goes out on the wire as it is.
type Reason string

// The reasons.
const (
	ReasonUnknown    Reason = "APPROVAL_UNKNOWN"     // no such approval in this task
	ReasonMalformed  Reason = "APPROVAL_MALFORMED"   // a known shape, filled in wrongly
	ReasonNotAllowed Reason = "APPROVAL_NOT_ALLOWED" // not this decision, person or way
	ReasonConflict   Reason = "APPROVAL_CONFLICT"    // decided, and differently
	ReasonExpired    Reason = "APPROVAL_EXPIRED"     // after the deadline
	ReasonChanged    Reason = "APPROVAL_CHANGED"     // not the digest shown to the decider
	ReasonDecided    Reason = "APPROVAL_DECIDED"     // decided already, in just this way
)

// The keys of [Error.Metadata].
const (
	metaApproval  = "approval"  // id
	metaState     = "state"     // of the approval
	metaDecision  = "verb"      // of its resolution
	metaBy        = "by"        // subject of the decider
	metaAt        = "at"        // when, RFC 3339
	metaDigest    = "digest"    // that an answer has to name now
	metaSuccessor = "successor" // id of the approval to answer instead
	metaAllowed   = "allowed"   // decisions, separated by commas
	metaPending   = "pending"   // ids, separated by commas
	metaDeadline  = "deadline"  // RFC 3339
)

// Violation is a mistake in a field of an answer.
type Violation struct {
	Field       string // "args", or followed by a JSON pointer: "args/to"
	Description string
}

// An Error is a refused answer. It is safe to show to its sender: the message names the
// mistake and the valid answer.
type Error struct {
	Reason     Reason
	ID         string // of the approval or, when there is none, as it was given
	Message    string
	Violations []Violation       // of ReasonUnknown and ReasonMalformed
	Next       string            // of ReasonMalformed: the valid answer
	Metadata   map[string]string // see the meta constants
	// Barred is the reason why the sender may not answer at all, a Barred constant; "": the
	// answer is wrong. It is for logs.
	Barred string
}

// The reasons why a sender may not answer, see [Error].
const (
	BarredUnknown   = "unknown"   // unknown sender
	BarredWay       = "way"       // not over A2A
	BarredRole      = "role"      // they have no role to decide it
	BarredDelegated = "delegated" // a service, or a principal with an acting agent
	BarredApprovers = "approvers" // the gate names other approvers
	BarredFourEyes  = "four eyes" // a requester, or acting for a requester
	BarredPerson    = "person"    // not known to be another person than the requester or a voter
	BarredHuman     = "human"     // a program
)

// barredTexts are the Barred constants in words.
var barredTexts = map[string]string{
	BarredUnknown:   "they are not authenticated",
	BarredWay:       "the A2A client may not decide it, only an approver through the approvals API",
	BarredRole:      "they have no role that may decide it",
	BarredDelegated: "they are a service, or an agent acts for them",
	BarredApprovers: "the gate names other approvers",
	BarredFourEyes:  "they requested the call, or act for its requester",
	BarredPerson:    "they may be the person of another login: name the persons in auth.people",
	BarredHuman:     "the gate wants a person's own answer",
}

// BarredText returns a Barred constant in words.
func BarredText(barred string) string { return cmp.Or(barredTexts[barred], barred) }

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Kind says that a decision is wrong.
func (*Error) Kind() failure.Kind { return failure.Decision }

// Unknown returns the error for an id that names no approval of the task. It lists the pending
// approvals.
func Unknown(id string, pending []*Approval) *Error {
	ids := pendingIDs(pending)
	return &Error{
		Reason:     ReasonUnknown,
		ID:         id,
		Message:    fmt.Sprintf("%s names no approval of this task; %s", quote(id), answerPending(ids)),
		Violations: []Violation{{Field: "id", Description: "names no approval of this task"}},
		Metadata:   meta(metaPending, strings.Join(ids, ",")),
	}
}

// Malformed returns the error for an invalid answer to id, with a violation for each problem.
// next describes a valid answer.
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
		Next:       next,
		Metadata:   meta(metaApproval, id),
	}
}

// refused returns the error for an answer to a. format describes it after the name of a.
func refused(reason Reason, a *Approval, metadata map[string]string, format string, args ...any) *Error {
	return &Error{Reason: reason, ID: a.ID, Message: "approval " + a.ID + " " + fmt.Sprintf(format, args...), Metadata: metadata}
}

// NotAllowed returns the error for an answer that a does not allow. why names the gate and the
// alternative.
func NotAllowed(a *Approval, why string) *Error {
	return refused(ReasonNotAllowed, a, meta(metaApproval, a.ID, metaAllowed, join(a.Decisions(), ",")), "cannot be answered like this: %s", why)
}

// barred says that the sender may not answer a at all.
func barred(a *Approval, as, why string) *Error {
	e := NotAllowed(a, why)
	e.Barred = as
	return e
}

// Conflict says that a has ended in another way than an answer wants, and how.
func Conflict(a *Approval) *Error {
	return refused(ReasonConflict, a, endMeta(a), "%s; that is final; read the task for its result", ended(a))
}

// Decided says that a had already been decided in just this way. It is for answers
// that cannot be served with the current task, because that has ended.
func Decided(a *Approval) *Error {
	return refused(ReasonDecided, a, endMeta(a), "%s, as this answer says; nothing is left to do", ended(a))
}

// tooLate says that the deadline of a has passed.
func tooLate(a *Approval) *Error {
	when, m := "", endMeta(a)
	if a.Deadline != nil {
		when, m[metaDeadline] = " at "+stamp(*a.Deadline), stamp(*a.Deadline)
	}
	return refused(ReasonExpired, a, m, "expired%s before it was answered; if the call is still wanted, ask for it again", when)
}

// Changed returns the error for a decision with an outdated digest. With a successor, the
// decider has to review and answer that; otherwise a itself, whose current digest is in the
// metadata.
func Changed(a, successor *Approval) *Error {
	if successor == nil {
		return refused(ReasonChanged, a, meta(metaApproval, a.ID, metaState, string(a.State), metaDigest, a.Digest),
			"is not what you were shown: its digest is %s; read the task, look again, and answer with that digest", a.Digest)
	}
	return refused(ReasonChanged, a, meta(metaApproval, a.ID, metaState, string(a.State), metaSuccessor, successor.ID, metaDigest, successor.Digest),
		"was replaced by %s, because its question or its terms have changed; look at that one and answer it", successor.ID)
}

// joined combines several refusals: the first gives the reason, the message has all mistakes.
// It returns nil without any.
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
	text := "was already " + string(a.State)
	if !r.By.IsZero() {
		text += " by " + quote(r.By.Subject)
	}
	if !r.At.IsZero() {
		text += " at " + stamp(r.At)
	}
	if (a.State == Superseded && r.Via == ViaSystem || r.Via == ViaPolicy) && r.Reason != "" {
		text += ": " + r.Reason
	}
	return text
}

func endMeta(a *Approval) map[string]string {
	m := meta(metaApproval, a.ID, metaState, string(a.State))
	if r := a.Resolution; r != nil {
		maps.Copy(m, meta(metaDecision, string(r.Decision), metaBy, r.By.Subject, metaAt, stamp(r.At)))
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

func join[T ~string](words []T, sep string) string {
	names := make([]string, len(words))
	for i, w := range words {
		names[i] = string(w)
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
