package a2a

import (
	"net/http"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

// The errors that A2A 1.0 §5.4 and JSON-RPC name.
var (
	errParse           = wireError{code: -32700, status: http.StatusBadRequest, grpc: "INVALID_ARGUMENT", reason: "PARSE_ERROR", theirs: sdk.ErrParseError}
	errInvalidRequest  = wireError{code: -32600, status: http.StatusBadRequest, grpc: "INVALID_ARGUMENT", reason: "INVALID_REQUEST", theirs: sdk.ErrInvalidRequest}
	errMethodNotFound  = wireError{code: -32601, status: http.StatusNotFound, grpc: "UNIMPLEMENTED", reason: "METHOD_NOT_FOUND", theirs: sdk.ErrMethodNotFound}
	errInvalidParams   = wireError{code: -32602, status: http.StatusBadRequest, grpc: "INVALID_ARGUMENT", reason: "INVALID_PARAMS", theirs: sdk.ErrInvalidParams}
	errInternal        = wireError{code: -32603, status: http.StatusInternalServerError, grpc: "INTERNAL", reason: "INTERNAL_ERROR", message: "internal error", theirs: sdk.ErrInternalError}
	errDataLoss        = wireError{code: -32603, status: http.StatusInternalServerError, grpc: "DATA_LOSS", reason: "DATA_LOSS", message: "the stored data of this task is damaged and cannot be read: the operator of this server has to restore a backup"}
	errReadOnly        = wireError{code: -32603, status: http.StatusServiceUnavailable, grpc: "UNAVAILABLE", reason: "UNAVAILABLE", message: "the store of this server is damaged and read-only: its operator has to restore a backup; nothing was written"}
	errBusy            = wireError{code: -32603, status: http.StatusServiceUnavailable, grpc: "UNAVAILABLE", reason: "UNAVAILABLE", message: "the server cannot accept this now: try again later"}
	errDiskFull        = wireError{code: -32603, status: http.StatusInsufficientStorage, grpc: "RESOURCE_EXHAUSTED", reason: "RESOURCE_EXHAUSTED"}
	errTaskNotFound    = wireError{code: -32001, status: http.StatusNotFound, grpc: "NOT_FOUND", reason: "TASK_NOT_FOUND", message: "task not found", theirs: sdk.ErrTaskNotFound}
	errNotCancelable   = wireError{code: -32002, status: http.StatusBadRequest, grpc: "FAILED_PRECONDITION", reason: "TASK_NOT_CANCELABLE", theirs: sdk.ErrTaskNotCancelable}
	errPushUnsupported = wireError{code: -32003, status: http.StatusBadRequest, grpc: "FAILED_PRECONDITION", reason: "PUSH_NOTIFICATION_NOT_SUPPORTED", message: "this agent does not send push notifications", theirs: sdk.ErrPushNotificationNotSupported}
	errUnsupported     = wireError{code: -32004, status: http.StatusBadRequest, grpc: "FAILED_PRECONDITION", reason: "UNSUPPORTED_OPERATION", theirs: sdk.ErrUnsupportedOperation}
	errContentType     = wireError{code: -32005, status: http.StatusBadRequest, grpc: "INVALID_ARGUMENT", reason: "CONTENT_TYPE_NOT_SUPPORTED", theirs: sdk.ErrUnsupportedContentType}
	errInvalidAgent    = wireError{code: -32006, status: http.StatusInternalServerError, grpc: "INTERNAL", reason: "INVALID_AGENT_RESPONSE", theirs: sdk.ErrInvalidAgentResponse}
	errNoExtendedCard  = wireError{code: -32007, status: http.StatusBadRequest, grpc: "FAILED_PRECONDITION", reason: "EXTENDED_AGENT_CARD_NOT_CONFIGURED", theirs: sdk.ErrExtendedCardNotConfigured}
	errNeedsExtension  = wireError{code: -32008, status: http.StatusBadRequest, grpc: "FAILED_PRECONDITION", reason: "EXTENSION_SUPPORT_REQUIRED", theirs: sdk.ErrExtensionSupportRequired}
	errVersion         = wireError{code: -32009, status: http.StatusBadRequest, grpc: "FAILED_PRECONDITION", reason: "VERSION_NOT_SUPPORTED", theirs: sdk.ErrVersionNotSupported}
	errDenied          = wireError{code: -32600, status: http.StatusForbidden, grpc: "PERMISSION_DENIED", reason: "PERMISSION_DENIED", message: "the credential lacks a role for this operation"}
	errForbidden       = wireError{code: -32600, status: http.StatusForbidden, grpc: "PERMISSION_DENIED", reason: "PERMISSION_DENIED"}
)

// The errors of HTTP itself, before a binding sees the request.
var (
	errUnauthenticated  = wireError{code: -32600, status: http.StatusUnauthorized, grpc: "UNAUTHENTICATED", reason: "UNAUTHENTICATED", message: "the caller could not be authenticated: send a credential of a kind listed in WWW-Authenticate"}
	errTooMany          = wireError{code: -32603, status: http.StatusTooManyRequests, grpc: "RESOURCE_EXHAUSTED", reason: "RATE_LIMIT_EXCEEDED", message: "too many requests", after: 1}
	errNoPath           = wireError{code: -32600, status: http.StatusNotFound, grpc: "NOT_FOUND", reason: "NOT_FOUND", message: "there is nothing at this path"}
	errMethodNotAllowed = wireError{code: -32600, status: http.StatusMethodNotAllowed, grpc: "UNIMPLEMENTED", reason: "METHOD_NOT_ALLOWED", message: "this path does not accept this method"}
	errMediaType        = wireError{code: -32005, status: http.StatusUnsupportedMediaType, grpc: "INVALID_ARGUMENT", reason: "CONTENT_TYPE_NOT_SUPPORTED", message: "the Content-Type must be application/json or application/a2a+json, in UTF-8"}
	errTooLarge         = wireError{code: -32600, status: http.StatusRequestEntityTooLarge, grpc: "RESOURCE_EXHAUSTED", reason: "REQUEST_TOO_LARGE", message: "the request is larger than this server accepts"}
	errTooSlow          = wireError{code: -32600, status: http.StatusRequestTimeout, grpc: "DEADLINE_EXCEEDED", reason: "INVALID_REQUEST", message: "the request did not arrive in time"}
)

// wireErrors lists every error that clients get, when it happens and the next step.
// docs/errors.md is generated from it.
var wireErrors = []struct {
	*wireError
	when, next string
}{
	{&errParse, "The body is not JSON, or parsers could disagree: a duplicate name, invalid UTF-8, an integer beyond a double, deep nesting.", "Correct the place in the message."},
	{&errInvalidRequest, "A member of the JSON-RPC request is missing or has the wrong type, or the query string cannot be parsed.", "Correct the place in the message."},
	{&errMethodNotFound, "No A2A version here has this JSON-RPC method.", "Use a method such as `SendMessage` (1.0) or `message/send` (0.3)."},
	{&errInvalidParams, "A field is missing or invalid, or a decision is refused (see below).", "Correct the `fieldViolations`. Nothing was changed."},
	{&errTaskNotFound, "There is no such task, or it belongs to another caller.", "Check the id and your credential; ListTasks lists your tasks."},
	{&errNotCancelable, "The task has already ended in another way.", "Get the task to see how it ended."},
	{&errPushUnsupported, "This agent sends no push notifications (see its card).", "Use a stream, or poll GetTask."},
	{&errUnsupported, "The task's state does not allow the request, or the agent does not offer the operation.", "If the task has ended, get its result, or omit `taskId` for a new task."},
	{&errContentType, "The agent does not accept the media type of a part.", "Use a media type in the card's `defaultInputModes`."},
	{&errInvalidAgent, "The planner reports an invalid response of its agent.", "Tell the operator of the agent."},
	{&errNoExtendedCard, "The planner reports that there is no extended agent card.", "Use the agent card."},
	{&errNeedsExtension, "The card or planner requires an extension that the request does not activate.", "Implement the extension in the message, and activate it in `A2A-Extensions`."},
	{&errVersion, "The A2A version is unsupported, or contradicts method or path.", "Send an `A2A-Version` in `supportedVersions` of the metadata."},
	{&errDenied, "The caller has no role for this operation.", "Ask the operator for a role in the message."},
	{&errForbidden, "Requests with this Host or Origin, or from this site, are not allowed.", "Use a name of the server, or have `allowed_hosts` or `allowed_origins` extended."},
	{&errInternal, "The server, or a component plugged into it, failed.", "Retry once, then tell the operator; the log has the cause."},
	{&errDataLoss, "The task's stored data is damaged; or a message was recorded, as the error then says, and nothing after it.", "Have a backup restored. Do not send a recorded message again."},
	{&errReadOnly, "The store is damaged and read-only. Nothing was written.", "Have a backup restored. Reading still works."},
	{&errBusy, "The server is at a limit, cannot write now, or is stopping. Nothing was written, unless the error says that the message was recorded.", "Retry after `Retry-After`, with backoff; after a recorded message get the task."},
	{&errDiskFull, "The caller's tasks, or all tasks, have reached their disk limit.", "Have `limits.disk_per_caller` or `limits.disk` raised. Existing tasks continue, with decisions."},
	{&errUnauthenticated, "The caller could not be authenticated.", "Send a credential of a kind in `WWW-Authenticate`."},
	{&errTooMany, "The caller exceeds `limits.rate`, or invalid credentials of its address `limits.auth_failures`.", "Wait for `Retry-After`, then send fewer requests, or a valid credential."},
	{&errNoPath, "Nothing is at this path, or the request names a foreign tenant.", "Take URL and tenant from the agent card, the path from the specification."},
	{&errMethodNotAllowed, "The path does not accept this HTTP method.", "Use a method in `Allow`."},
	{&errMediaType, "The body is not declared as JSON in UTF-8, or has a `Content-Encoding`.", "Send `Content-Type: application/json`, uncompressed."},
	{&errTooLarge, "The body is larger than `limits.body`.", "Send less, or have the limit raised."},
	{&errTooSlow, "The body did not arrive in time.", "Send it again, or have `limits.read_timeout` raised."},
}

// transportError returns the error for an HTTP status that the transport refuses with.
func transportError(status int) *wireError {
	for _, e := range []*wireError{&errUnauthenticated, &errTooMany, &errNoPath, &errMethodNotAllowed, &errMediaType, &errTooLarge, &errTooSlow, &errBusy, &errForbidden} {
		if e.status == status {
			return e.saying(e.message)
		}
	}
	if status >= http.StatusInternalServerError {
		return errInternal.saying(errInternal.message)
	}
	e := errInvalidRequest.saying("the request cannot be read")
	e.status = status
	return e
}
