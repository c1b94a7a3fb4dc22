package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"a2a-server/internal/lists"
)

// MaxSuspensionState is the maximum length of [Suspension].State, in bytes.
const MaxSuspensionState = 64 << 10

// QuestionKind is the kind of answer that a [Question] wants.
type QuestionKind string

// The kinds of questions.
const (
	AskConfirm  QuestionKind = "confirm"  // may this call continue: yes or no
	AskOutcome  QuestionKind = "outcome"  // of unknown outcome, such as a call at a remote agent: may it run again
	AskQuestion QuestionKind = "question" // a question answered in words
	AskForm     QuestionKind = "form"     // a question answered by a value that fits Schema
	AskAuth     QuestionKind = "auth"     // something to do elsewhere, such as a login
)

// Authorizes reports whether an answer to a question of this kind lets something run. The approvers
// of the call decide.
func (k QuestionKind) Authorizes() bool { return k == AskConfirm || k == AskOutcome }

// Question is a question of a call.
type Question struct {
	// ID identifies the question within its call, in at most 256 bytes. It is optional:
	// without it the question is identified by its content. See [Suspension] for the effect of
	// asking again.
	ID      string       `json:"id,omitempty"`
	Kind    QuestionKind `json:"kind"`
	Hint    string       `json:"hint,omitempty"`    // the text shown to a person
	Payload any          `json:"payload,omitempty"` // a JSON value that goes with it
	// Schema is that of the answer, for AskForm. AskConfirm with a schema also takes an edit: an
	// object that fits the schema, in place of the arguments that Payload shows.
	Schema map[string]any `json:"schema,omitempty"`
	// Destructive says that a question that [QuestionKind.Authorizes] is about something that may
	// irreversibly delete or overwrite. It is then as strict as that of a destructive tool; false
	// changes nothing.
	Destructive bool `json:"destructive,omitempty"`
	// OfCall says that an answer in words, or by a form, needs the same people as an approval of the
	// call: its approvers, four eyes and elsewhere hold. They always do if the kind Authorizes.
	OfCall bool `json:"ofCall,omitempty"`
	// NoText says that no text answers it, as for a gate with no_text.
	NoText bool `json:"noText,omitempty"`
	// TakesResponse says that a Response, the result, answers AskOutcome, too.
	TakesResponse bool `json:"takesResponse,omitempty"`
}

// Suspension pauses a call. A tool returns a pointer to a Suspension as its error, from Call
// or in a yield of CallStreaming. The call runs again, with the same id, when all of Asks are
// answered or at the time Wake, whichever comes first; [Resumed] then returns State and the
// answers. A suspension survives restarts. Without Asks and Wake it would wait forever and is
// treated as a failure.
//
// A question that has no answer when Wake comes stays open while the call runs. If the call is
// suspended again and asks the same, the question is not asked twice, and a deadline does not
// move; if the answer came in the meantime, the call runs again at once with it. A question
// that it does not ask again, or with other content, is closed; so are all when the call ends.
type Suspension struct { //nolint:errname // a pause, which is an error only on its way out of a tool
	Asks  []Question
	Wake  time.Time       // zero: no timer
	State json.RawMessage // returned by Resumed; at most MaxSuspensionState bytes

	// Waits are the decisions, made elsewhere, for which the work of the call waits: the status of the
	// task says so.
	Waits []Waiting
	// Watch says that the tool, a [Watcher] that is no [Poller], looks at the call from Wake on. The call
	// then is not entered at Wake, but when its work has changed, or all of Asks are answered.
	Watch bool
}

// Error implements error.
func (s *Suspension) Error() string {
	switch {
	case len(s.Asks) == 0 && s.Wake.IsZero():
		return "the call is suspended without a question or a time to resume it"
	case len(s.Asks) == 0:
		return "the call is suspended until " + s.Wake.UTC().Format(time.RFC3339)
	}
	kinds := lists.Map(s.Asks, func(a Question) string { return string(a.Kind) })
	return fmt.Sprintf("the call is suspended until it is answered (%s)", strings.Join(kinds, ", "))
}

// Is makes errors.Is(s, ErrConfirmationRequired) true when s asks for something to be
// authorized.
func (s *Suspension) Is(target error) bool {
	return target == ErrConfirmationRequired && slices.ContainsFunc(s.Asks, func(a Question) bool { return a.Kind.Authorizes() })
}

// The values of [Answer].State.
const (
	AnswerApproved  = "approved"  // to AskConfirm, or to AskOutcome: run it again
	AnswerEdited    = "edited"    // to AskConfirm with a Schema; Response has the new arguments
	AnswerRejected  = "rejected"  // to any; to AskOutcome: give it up
	AnswerResponded = "responded" // to any but AskConfirm, with a Response; to AskOutcome: its result
	AnswerExpired   = "expired"   // not answered in time
)

// Answer is the outcome of a [Question].
type Answer struct {
	Ask      Question        `json:"ask"`
	State    string          `json:"state"`
	Response json.RawMessage `json:"response,omitempty"` // the answer itself
	Reason   string          `json:"reason,omitempty"`   // the reason, in the approver's words
	Payload  json.RawMessage `json:"payload,omitempty"`  // the payload of a confirmation
}

// Resumption is the state and the answers of a suspended call that runs again.
type Resumption struct {
	State   json.RawMessage `json:"state,omitempty"`   // of the Suspension
	Answers []Answer        `json:"answers,omitempty"` // in the order of its Asks; after Wake only the answered questions
	// Open are the questions with an ID that have no answer yet. A tool that suspends its call again
	// with them changes nothing about them.
	Open []Question `json:"open,omitempty"`
}

// Resumed returns the [Resumption] of a call that runs again after its own [Suspension] or
// [Checkpoint], and false on its first run.
func Resumed(ctx context.Context) (*Resumption, bool) {
	r := callValues(ctx).Resumption
	return r, r != nil
}
