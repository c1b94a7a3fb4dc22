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
	errDataLoss        = wireError{code: -32603, status: http.StatusInternalServerError, grpc: "DATA_LOSS", reason: "DATA_LOSS", message: "what is stored of this task is damaged and cannot be read: whoever runs this server has to restore a copy"}
	errReadOnly        = wireError{code: -32603, status: http.StatusServiceUnavailable, grpc: "UNAVAILABLE", reason: "UNAVAILABLE", message: "the store of this server is damaged and takes nothing new: whoever runs it has to restore a copy; nothing was written"}
	errBusy            = wireError{code: -32603, status: http.StatusServiceUnavailable, grpc: "UNAVAILABLE", reason: "UNAVAILABLE"}
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
	errForbidden       = wireError{code: -32600, status: http.StatusForbidden, grpc: "PERMISSION_DENIED", reason: "PERMISSION_DENIED"}
)

// What HTTP itself refuses, before a binding has the request.
var (
	errUnauthenticated  = wireError{code: -32600, status: http.StatusUnauthorized, grpc: "UNAUTHENTICATED", reason: "UNAUTHENTICATED", message: "who makes this request could not be proved"}
	errNoPath           = wireError{code: -32600, status: http.StatusNotFound, grpc: "NOT_FOUND", reason: "NOT_FOUND", message: "there is nothing at this path"}
	errMethodNotAllowed = wireError{code: -32600, status: http.StatusMethodNotAllowed, grpc: "UNIMPLEMENTED", reason: "METHOD_NOT_ALLOWED", message: "this path takes another method"}
	errMediaType        = wireError{code: -32005, status: http.StatusUnsupportedMediaType, grpc: "INVALID_ARGUMENT", reason: "CONTENT_TYPE_NOT_SUPPORTED", message: "the Content-Type must be application/json or application/a2a+json, in UTF-8"}
	errTooLarge         = wireError{code: -32600, status: http.StatusRequestEntityTooLarge, grpc: "OUT_OF_RANGE", reason: "REQUEST_TOO_LARGE", message: "the request is larger than this server takes"}
	errTooSlow          = wireError{code: -32600, status: http.StatusRequestTimeout, grpc: "DEADLINE_EXCEEDED", reason: "INVALID_REQUEST", message: "the request did not arrive in time"}
)

// wireErrors is every error that goes out, with what a person has to know of it.
// docs/errors.md is made from it.
var wireErrors = []struct {
	*wireError
	when, next string
}{
	{&errParse, "The body is not JSON, or not JSON that every reader understands the same way: a duplicate name, invalid UTF-8, an integer that a double cannot hold, deep nesting.", "Correct the place that the message names, and send it again."},
	{&errInvalidRequest, "The request is JSON and no request: a member of JSON-RPC is missing or of another type, or the query cannot be read.", "Correct what the message names, and send it again."},
	{&errMethodNotFound, "JSON-RPC: A2A 1.0 has no such method.", "Use one of A2A 1.0, such as `SendMessage`."},
	{&errInvalidParams, "A field is missing or wrong, or a decision does not fit (see the approval errors).", "Correct each of the `fieldViolations`. Nothing has been done."},
	{&errTaskNotFound, "There is no such task, or it is another caller's.", "Check the id, and who you are authenticated as; ListTasks lists your tasks."},
	{&errNotCancelable, "The task has ended, and not by being canceled.", "Get the task for how it ended."},
	{&errPushUnsupported, "Push notifications were asked for.", "Use a stream, or get the task from time to time."},
	{&errUnsupported, "The task takes no such request in its state, or this agent does not offer what was asked for.", "Read the message: of a task that has ended get the result, or send a new message without `taskId`."},
	{&errContentType, "A part of the message has a media type that this agent does not take.", "Use one of the card's `defaultInputModes`, which the message names."},
	{&errInvalidAgent, "A planner says that its agent has answered wrongly.", "Tell whoever runs the agent."},
	{&errNoExtendedCard, "A planner says that there is no extended agent card.", "Use the agent card."},
	{&errNeedsExtension, "A planner wants an extension that the message does not name.", "Activate the extension that the message names in `A2A-Extensions`."},
	{&errVersion, "The request is of a version of A2A that is not served, or calls a method of 0.3.", "Use a client for one of `supportedVersions` in the metadata, and send `A2A-Version`."},
	{&errForbidden, "The Host, the Origin or the site that the request comes from may not call this server.", "Call the server by its own name, or have the name added to `allowed_hosts` or `allowed_origins`."},
	{&errInternal, "The server, or a part that was added to it, has failed.", "Try again once. If that fails too, tell whoever runs the server: the log has the cause."},
	{&errDataLoss, "What is stored of this task is damaged.", "Tell whoever runs the server to restore a copy. Other tasks are not affected."},
	{&errReadOnly, "The store is damaged and takes nothing new. Nothing was written.", "Read what you need, and tell whoever runs the server to restore a copy."},
	{&errBusy, "There is no room for the request now: as many wait, are open or are being answered as may; or the server stops. Nothing was written.", "Try again after `Retry-After`, with growing pauses."},
	{&errDiskFull, "The tasks of the caller, or all, use as much of the disk as they may.", "Have `limits.disk_per_caller` or `limits.disk` raised. Tasks that have begun continue, and can be decided."},
	{&errUnauthenticated, "Who makes the request could not be proved.", "Send a credential of the kind that `WWW-Authenticate` asks for."},
	{&errNoPath, "There is nothing at this path.", "Take the URL from the agent card, and compare the path with the specification."},
	{&errMethodNotAllowed, "The path takes another method.", "Use one of those in `Allow`."},
	{&errMediaType, "The body is not declared as JSON in UTF-8, or has a `Content-Encoding`.", "Send `Content-Type: application/json`, and the body as it is."},
	{&errTooLarge, "The body is larger than `limits.body`.", "Send less, or have the limit raised."},
	{&errTooSlow, "The body did not arrive in time.", "Send it again, over a connection that takes it faster."},
}

// transportError is what HTTP itself refuses with a status.
func transportError(status int) *wireError {
	for _, e := range []*wireError{&errUnauthenticated, &errNoPath, &errMethodNotAllowed, &errMediaType, &errTooLarge, &errTooSlow, &errBusy} {
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
