package wire

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"a2a-server/approval"
	"a2a-server/internal/failure"
	"a2a-server/internal/httpd"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// Error is an error as every binding sends it.
type Error struct {
	Code       int    // JSON-RPC
	Status     int    // HTTP
	GRPC       string // google.rpc.Code, the status of an HTTP+JSON body
	Reason     string // of the ErrorInfo: A2A's, by which clients recognize the error
	Own        string // a more specific reason, in an ErrorInfo of our own domain
	Message    string
	Metadata   map[string]string
	Violations []Violation
	Undecoded  string   // why the request could not be decoded; "": it could
	After      int      // seconds, of Retry-After; 0: the default
	Challenges []string // values of WWW-Authenticate; only with 401
	SDK        error    // the SDK's error for it, which planners use; nil: none
}

// Violation is a field of a request and what is wrong with it.
type Violation struct {
	Field       string `json:"field"`
	Description string `json:"description"`
}

// Error returns the message that clients get.
func (e *Error) Error() string { return e.Message }

// Saying returns a copy of the error with a message.
func (e Error) Saying(message string) *Error {
	e.Message = message
	return &e
}

// Recorded returns a copy of the error for a message that is in effect nevertheless. The text and
// the metadata name its task.
func (e Error) Recorded(task string) *Error {
	e.Message = "the message was recorded in task " + task + " and is in effect: get the task, or repeat the message with the same messageId to wait for it (" + e.Message + ")"
	e.Metadata = map[string]string{"taskId": task}
	return &e
}

// about adds the reason, metadata and violations of an error about a decision.
func (e *Error) about(wrong *approval.Error) *Error {
	e.Own = string(wrong.Reason)
	if e.Metadata == nil {
		e.Metadata = map[string]string{}
	}
	maps.Copy(e.Metadata, wrong.Metadata)
	for _, v := range wrong.Violations {
		e.Violations = append(e.Violations, Violation{v.Field, v.Description})
	}
	return e
}

// ofKind has the error for every kind of failure but [failure.Refused].
var ofKind = map[failure.Kind]*Error{
	failure.Internal:      &ErrInternal,
	failure.Planner:       &ErrInternal,
	failure.Recorded:      &ErrBusy,
	failure.RecordedLoss:  &errDataLoss,
	failure.Denied:        &errDenied,
	failure.NotFound:      &errTaskNotFound,
	failure.Invalid:       &ErrInvalidParams,
	failure.Decision:      &ErrInvalidParams,
	failure.State:         &ErrUnsupported,
	failure.NotCancelable: &errNotCancelable,
	failure.NotDeletable:  &ErrUnsupported,
	failure.NoPush:        &ErrPushUnsupported,
	failure.Uncertain:     &ErrBusy,
	failure.Stopping:      &ErrBusy,
	failure.Busy:          &ErrBusy,
	failure.DiskFull:      &errDiskFull,
	failure.Ended:         &ErrInternal,
	failure.DataLoss:      &errDataLoss,
}

// Of returns the form of err on the wire. known is false if the log needs the cause.
func Of(err error) (w *Error, known bool) {
	if wire, is := errors.AsType[*Error](err); is {
		return wire, true
	}
	f := failure.Of(err)
	if refused, is := f.Cause.(*httpd.Error); is {
		return Refused(refused), true
	}
	if f.Kind == failure.Internal || f.Kind == failure.Planner {
		for _, e := range Errors {
			if e.SDK != nil && errors.Is(err, e.SDK) {
				return e.Saying(err.Error()), true
			}
		}
	}
	row := ofKind[f.Kind]
	w = row.Saying(cmp.Or(f.Message, row.Message))
	switch cause := f.Cause.(type) {
	case *task.InvalidError:
		w.Violations = []Violation{{cause.Field, cause.Reason}}
	case *task.StateError:
		if w.Metadata = cause.Details(); cause.Decided != nil {
			w = w.about(cause.Decided)
		}
	case *approval.Error:
		w = w.about(cause)
	case *engine.RecordedError:
		w.Metadata = map[string]string{"taskId": cause.Task.String()}
	}
	return w, !f.Logged()
}

// The domains of an [ErrorInfo], and the types of details.
const (
	ErrorDomain    = "a2a-protocol.org"
	OwnDomain      = "a2a-server"
	TypeErrorInfo  = "type.googleapis.com/google.rpc.ErrorInfo"
	TypeBadRequest = "type.googleapis.com/google.rpc.BadRequest"
)

// ErrorInfo is google.rpc.ErrorInfo in JSON.
type ErrorInfo struct {
	Type     string            `json:"@type"`
	Domain   string            `json:"domain"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Reason   string            `json:"reason"`
}

// BadRequest is google.rpc.BadRequest in JSON.
type BadRequest struct {
	Type            string      `json:"@type"`
	FieldViolations []Violation `json:"fieldViolations"`
}

// Retries reports whether the error is temporary.
func (e *Error) Retries() bool { return e.Status == http.StatusServiceUnavailable || e.After > 0 }

// Retry sets Retry-After if the error is temporary, and WWW-Authenticate if it has
// challenges.
func (e *Error) Retry(h http.Header) {
	if e.Retries() {
		h.Set("Retry-After", strconv.Itoa(max(1, e.After)))
	}
	if len(e.Challenges) > 0 {
		h["Www-Authenticate"] = slices.Clone(e.Challenges)
	}
}

// The bounds of an error on the wire, in characters. A character takes at most six bytes in
// JSON, so no error reaches 64 KiB.
const (
	maxErrorText  = 10_000 // all strings of an error together
	maxMessage    = 4_500  // the text of an ended task, and how it ended
	maxMetadata   = 3_000  // for each value
	maxField      = 200
	maxDescribed  = 500
	maxViolations = 16  // further violations are only counted
	MaxEcho       = 100 // for each value from a request, within a message
)

// Clip returns a string from a request in a form fit for an error or the log.
func Clip(text string) string { return visible.Clip(text, MaxEcho) }

// Limited returns e as every binding writes it: invisible characters are escaped, and its
// size is bounded. Every error goes through it.
func (e *Error) Limited() *Error {
	left := maxErrorText
	take := func(text string, most int) string {
		text = visible.ClipText(text, max(0, min(most, left)))
		left -= utf8.RuneCountInString(text)
		return text
	}
	out := *e
	out.Message = take(e.Message, maxMessage)
	out.Metadata = nil
	for _, name := range slices.Sorted(maps.Keys(e.Metadata)) { // the names are ours
		if out.Metadata == nil {
			out.Metadata = make(map[string]string, len(e.Metadata))
		}
		out.Metadata[name] = take(e.Metadata[name], min(maxMetadata, left/2))
		left -= utf8.RuneCountInString(out.Metadata[name]) // it is written twice
	}
	out.Violations = nil
	for i, v := range e.Violations {
		if i == maxViolations || left < maxField+maxDescribed {
			out.Violations = append(out.Violations, Violation{"", fmt.Sprintf("%d more mistakes", len(e.Violations)-i)})
			break
		}
		out.Violations = append(out.Violations, Violation{take(v.Field, maxField), take(v.Description, maxDescribed)})
	}
	return &out
}

// Details returns the typed details that every binding sends (§9.5, §11.6). Clients take
// the kind of an error from the reason in A2A's domain and do not know ours, so ours is in
// a second ErrorInfo, and in the metadata, which clients keep.
func (e *Error) Details() []any {
	metadata := e.Metadata
	if e.Own != "" {
		metadata = maps.Clone(metadata)
		if metadata == nil {
			metadata = map[string]string{}
		}
		metadata["reason"] = e.Own
	}
	details := []any{ErrorInfo{Type: TypeErrorInfo, Domain: ErrorDomain, Reason: e.Reason, Metadata: metadata}}
	if e.Own != "" {
		details = append(details, ErrorInfo{Type: TypeErrorInfo, Domain: OwnDomain, Reason: e.Own, Metadata: metadata})
	}
	if len(e.Violations) > 0 {
		details = append(details, BadRequest{Type: TypeBadRequest, FieldViolations: e.Violations})
	}
	return details
}

// Write answers with the body of an error and its HTTP status.
func (e *Error) Write(w http.ResponseWriter, body []byte) error {
	w.Header().Set("Content-Type", TypeJSON)
	e.Retry(w.Header())
	httpd.Bound(w)
	w.WriteHeader(e.Status)
	_, err := w.Write(body)
	return err
}

// Refused returns the form of a refused request on the wire.
func Refused(e *httpd.Error) *Error {
	w := Transport(e.Status)
	if e.Message != "" {
		w.Message = e.Message
	}
	if e.After > 0 {
		w.After = e.After
	}
	w.Challenges = e.Challenges
	return w
}

// InvalidField is the error for a field of a request.
func InvalidField(field, description string) *Error {
	return InvalidFields([]Violation{{field, description}})
}

// InvalidFields is the error for fields of a request, of which there is at least one.
func InvalidFields(all []Violation) *Error {
	w := ErrInvalidParams.Saying(all[0].Field + " " + all[0].Description)
	w.Violations = all
	return w
}

// NotJSON is the error for a body that is not JSON. at, which may be nil, says where.
func NotJSON(at *strictjson.Error) error {
	if at == nil {
		return ErrParse.Saying("the body is not JSON")
	}
	where := ""
	if at.Pointer != "" {
		where = " at " + visible.Clip(at.Pointer, 2*MaxEcho)
	}
	return ErrParse.Saying("the body is not JSON" + where + ": " + at.Reason)
}

// RefusedJSON is the error for the value at pointer, a JSON Pointer from the request's
// object.
func RefusedJSON(pointer, reason string) error {
	pointer = visible.Clip(pointer, 2*MaxEcho)
	w := ErrInvalidParams.Saying(strings.TrimPrefix(pointer+": "+reason, ": "))
	w.Violations = []Violation{{pointer, reason}}
	return w
}
