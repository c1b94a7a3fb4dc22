package a2a

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
)

// wireError is an error as every binding sends it.
type wireError struct {
	code       int    // JSON-RPC
	status     int    // HTTP
	grpc       string // google.rpc.Code, the status of an HTTP+JSON body
	reason     string // of the ErrorInfo: A2A's, by which clients recognize the error
	own        string // a more specific reason, in an ErrorInfo of our own domain
	message    string
	metadata   map[string]string
	violations []violation
	undecoded  string   // why the request could not be decoded; "": it could
	after      int      // seconds, of Retry-After; 0: the default
	challenges []string // values of WWW-Authenticate; only with 401
	theirs     error    // the SDK's error for it, which planners use; nil: none
}

type violation struct {
	Field       string `json:"field"`
	Description string `json:"description"`
}

// Error returns the message that clients get.
func (e *wireError) Error() string { return e.message }

// saying returns a copy of the error with a message.
func (e wireError) saying(message string) *wireError {
	e.message = message
	return &e
}

// about adds the reason, metadata and violations of an error about a decision.
func (e *wireError) about(wrong *approval.Error) *wireError {
	e.own, e.metadata = string(wrong.Reason), maps.Clone(wrong.Metadata)
	for _, v := range wrong.Violations {
		e.violations = append(e.violations, violation{v.Field, v.Description})
	}
	return e
}

// ofKind has the error for every kind of failure but [failure.Refused].
var ofKind = map[failure.Kind]*wireError{
	failure.Internal:      &errInternal,
	failure.Recorded:      &errBusy,
	failure.RecordedLoss:  &errDataLoss,
	failure.Denied:        &errDenied,
	failure.NotFound:      &errTaskNotFound,
	failure.Invalid:       &errInvalidParams,
	failure.Decision:      &errInvalidParams,
	failure.State:         &errUnsupported,
	failure.NotCancelable: &errNotCancelable,
	failure.NotDeletable:  &errUnsupported,
	failure.NoPush:        &errPushUnsupported,
	failure.Uncertain:     &errBusy,
	failure.Stopping:      &errBusy,
	failure.Busy:          &errBusy,
	failure.DiskFull:      &errDiskFull,
	failure.ReadOnly:      &errReadOnly,
	failure.Ended:         &errInternal,
	failure.DataLoss:      &errDataLoss,
}

// toWire returns the form of err on the wire. known is false if the log needs the cause.
func toWire(err error) (w *wireError, known bool) {
	if wire, is := errors.AsType[*wireError](err); is {
		return wire, true
	}
	f := failure.Of(err)
	if f.Kind == failure.Refused {
		return refusal(f.Refused), true
	}
	if f.Kind == failure.Internal {
		for _, e := range wireErrors {
			if e.theirs != nil && errors.Is(err, e.theirs) {
				return e.saying(err.Error()), true
			}
		}
	}
	row := ofKind[f.Kind]
	w = row.saying(cmp.Or(f.Message, row.message))
	if f.Invalid != nil {
		w.violations = []violation{{f.Invalid.Field, f.Invalid.Reason}}
	}
	if f.Decision != nil {
		w = w.about(f.Decision)
	}
	return w, !f.Logged()
}

const (
	errorDomain  = "a2a-protocol.org"
	ownDomain    = "a2a-server"
	typeErrInfo  = "type.googleapis.com/google.rpc.ErrorInfo"
	typeBadField = "type.googleapis.com/google.rpc.BadRequest"
)

type errorInfo struct {
	Type     string            `json:"@type"`
	Domain   string            `json:"domain"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Reason   string            `json:"reason"`
}

type badRequest struct {
	Type            string      `json:"@type"`
	FieldViolations []violation `json:"fieldViolations"`
}

// retries reports whether the error is temporary.
func (e *wireError) retries() bool { return e.status == http.StatusServiceUnavailable || e.after > 0 }

// retry sets Retry-After if the error is temporary, and WWW-Authenticate if it has
// challenges.
func (e *wireError) retry(h http.Header) {
	if e.retries() {
		h.Set("Retry-After", strconv.Itoa(max(1, e.after)))
	}
	if len(e.challenges) > 0 {
		h["Www-Authenticate"] = slices.Clone(e.challenges)
	}
}

// The bounds of an error on the wire, in characters. A character takes at most six bytes in
// JSON, so no error reaches 64 KiB.
const (
	maxErrorText  = 10_000 // all strings of an error together
	maxMessage    = 3_000
	maxMetadata   = 3_000 // for each value
	maxField      = 200
	maxDescribed  = 500
	maxViolations = 16  // further violations are only counted
	maxEcho       = 100 // for each value from a request, within a message
)

// clip returns a string from a request in a form fit for an error or the log.
func clip(text string) string { return visible.Clip(text, maxEcho) }

// limited returns e as every binding writes it: invisible characters are escaped, and its
// size is bounded. Every error goes through it.
func (e *wireError) limited() *wireError {
	left := maxErrorText
	take := func(text string, most int) string {
		text = visible.ClipText(text, max(0, min(most, left)))
		left -= utf8.RuneCountInString(text)
		return text
	}
	out := *e
	out.message = take(e.message, maxMessage)
	out.metadata = nil
	for _, name := range slices.Sorted(maps.Keys(e.metadata)) { // the names are ours
		if out.metadata == nil {
			out.metadata = make(map[string]string, len(e.metadata))
		}
		out.metadata[name] = take(e.metadata[name], min(maxMetadata, left/2))
		left -= utf8.RuneCountInString(out.metadata[name]) // it is written twice
	}
	out.violations = nil
	for i, v := range e.violations {
		if i == maxViolations || left < maxField+maxDescribed {
			out.violations = append(out.violations, violation{"", fmt.Sprintf("%d more mistakes", len(e.violations)-i)})
			break
		}
		out.violations = append(out.violations, violation{take(v.Field, maxField), take(v.Description, maxDescribed)})
	}
	return &out
}

// details returns the typed details that every binding sends (§9.5, §11.6). Clients take
// the kind of an error from the reason in A2A's domain and do not know ours, so ours is in
// a second ErrorInfo, and in the metadata, which clients keep.
func (e *wireError) details() []any {
	metadata := e.metadata
	if e.own != "" {
		metadata = maps.Clone(metadata)
		if metadata == nil {
			metadata = map[string]string{}
		}
		metadata["reason"] = e.own
	}
	details := []any{errorInfo{Type: typeErrInfo, Domain: errorDomain, Reason: e.reason, Metadata: metadata}}
	if e.own != "" {
		details = append(details, errorInfo{Type: typeErrInfo, Domain: ownDomain, Reason: e.own, Metadata: metadata})
	}
	if len(e.violations) > 0 {
		details = append(details, badRequest{Type: typeBadField, FieldViolations: e.violations})
	}
	return details
}

// write answers with the body of an error and its HTTP status.
func (e *wireError) write(w http.ResponseWriter, body []byte) error {
	w.Header().Set("Content-Type", typeJSON)
	e.retry(w.Header())
	httpd.Bound(w)
	w.WriteHeader(e.status)
	_, err := w.Write(body)
	return err
}

// refusal returns the form of a refused request on the wire.
func refusal(e *httpd.Error) *wireError {
	w := transportError(e.Status)
	if e.Message != "" {
		w.message = e.Message
	}
	if e.After > 0 {
		w.after = e.After
	}
	w.challenges = e.Challenges
	return w
}

// invalidField is the error for a field of a request.
func invalidField(field, description string) *wireError {
	w := errInvalidParams.saying(field + " " + description)
	w.violations = []violation{{field, description}}
	return w
}

// notJSON is the error for a body that is not JSON. at, which may be nil, says where.
func notJSON(at *strictjson.Error) error {
	if at == nil {
		return errParse.saying("the body is not JSON")
	}
	where := ""
	if at.Pointer != "" {
		where = " at " + visible.Clip(at.Pointer, 2*maxEcho)
	}
	return errParse.saying("the body is not JSON" + where + ": " + at.Reason)
}

// refusedJSON is the error for the value at pointer, a JSON Pointer from the request's
// object.
func refusedJSON(pointer, reason string) error {
	pointer = visible.Clip(pointer, 2*maxEcho)
	w := errInvalidParams.saying(strings.TrimPrefix(pointer+": "+reason, ": "))
	w.violations = []violation{{pointer, reason}}
	return w
}
