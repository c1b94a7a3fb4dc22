package a2a

import (
	"errors"
	"maps"
	"net/http"
	"time"

	"a2a-server/approval"
	"a2a-server/task"
)

// wireError is an error as every binding sends it.
type wireError struct {
	code       int    // JSON-RPC
	status     int    // HTTP
	grpc       string // google.rpc.Code, the status of an HTTP+JSON body
	reason     string // of the ErrorInfo
	message    string
	metadata   map[string]string
	violations []violation
}

type violation struct {
	Field       string `json:"field"`
	Description string `json:"description"`
}

// Error returns the message that goes out.
func (e *wireError) Error() string { return e.message }

// The errors that A2A 1.0 §5.4 and JSON-RPC name. message is completed by toWire.
var (
	errParse           = wireError{code: -32700, status: http.StatusBadRequest, grpc: "INVALID_ARGUMENT", reason: "PARSE_ERROR"}
	errInvalidRequest  = wireError{code: -32600, status: http.StatusBadRequest, grpc: "INVALID_ARGUMENT", reason: "INVALID_REQUEST"}
	errMethodNotFound  = wireError{code: -32601, status: http.StatusNotFound, grpc: "UNIMPLEMENTED", reason: "METHOD_NOT_FOUND"}
	errInvalidParams   = wireError{code: -32602, status: http.StatusBadRequest, grpc: "INVALID_ARGUMENT", reason: "INVALID_PARAMS"}
	errInternal        = wireError{code: -32603, status: http.StatusInternalServerError, grpc: "INTERNAL", reason: "INTERNAL_ERROR", message: "internal error"}
	errBusy            = wireError{code: -32603, status: http.StatusServiceUnavailable, grpc: "UNAVAILABLE", reason: "UNAVAILABLE"}
	errTaskNotFound    = wireError{code: -32001, status: http.StatusNotFound, grpc: "NOT_FOUND", reason: "TASK_NOT_FOUND", message: "task not found"}
	errNotCancelable   = wireError{code: -32002, status: http.StatusBadRequest, grpc: "FAILED_PRECONDITION", reason: "TASK_NOT_CANCELABLE"}
	errPushUnsupported = wireError{code: -32003, status: http.StatusBadRequest, grpc: "FAILED_PRECONDITION", reason: "PUSH_NOTIFICATION_NOT_SUPPORTED", message: "this agent does not send push notifications"}
	errUnsupported     = wireError{code: -32004, status: http.StatusBadRequest, grpc: "FAILED_PRECONDITION", reason: "UNSUPPORTED_OPERATION"}
	errVersion         = wireError{code: -32009, status: http.StatusBadRequest, grpc: "FAILED_PRECONDITION", reason: "VERSION_NOT_SUPPORTED"}
)

// saying returns the error with a message.
func (e wireError) saying(message string) *wireError {
	e.message = message
	return &e
}

// toWire is the one table from errors of the domain to errors on the wire. What is
// not in it is an internal error outside, and known is false, so that it is logged
// inside.
func toWire(err error) (w *wireError, known bool) {
	var wire *wireError
	var invalid *task.InvalidError
	var state *task.StateError
	var wrong *approval.Error
	switch {
	case errors.As(err, &wire):
		return wire, true
	case errors.Is(err, task.ErrTaskNotFound):
		return errTaskNotFound.saying(errTaskNotFound.message), true
	case errors.Is(err, task.ErrBusy):
		return errBusy.saying(err.Error()), true
	case errors.As(err, &invalid):
		w := errInvalidParams.saying(invalid.Error())
		w.violations = []violation{{invalid.Field, invalid.Reason}}
		return w, true
	case errors.As(err, &state):
		w := errUnsupported.saying(state.Error())
		if state.NotCancelable {
			w = errNotCancelable.saying(state.Error())
		}
		w.metadata = maps.Clone(state.Metadata)
		return w, true
	case errors.As(err, &wrong):
		w := errInvalidParams.saying(wrong.Error())
		w.reason, w.metadata = string(wrong.Reason), maps.Clone(wrong.Metadata)
		for _, v := range wrong.Violations {
			w.violations = append(w.violations, violation{v.Field, v.Description})
		}
		return w, true
	}
	return errInternal.saying(errInternal.message), false
}

const (
	errorDomain  = "a2a-protocol.org"
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

// details returns the typed details that every binding sends (§9.5, §11.6).
func (e *wireError) details(now time.Time) []any {
	metadata := map[string]string{"timestamp": now.UTC().Format(time.RFC3339)}
	maps.Copy(metadata, e.metadata)
	details := []any{errorInfo{Type: typeErrInfo, Domain: errorDomain, Reason: e.reason, Metadata: metadata}}
	if len(e.violations) > 0 {
		details = append(details, badRequest{Type: typeBadField, FieldViolations: e.violations})
	}
	return details
}
