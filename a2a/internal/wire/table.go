package wire

import (
	"net/http"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

// The errors that A2A 1.0 §5.4 and JSON-RPC name.
var (
	ErrParse           = Error{Code: -32700, Status: http.StatusBadRequest, GRPC: "INVALID_ARGUMENT", Reason: "PARSE_ERROR", SDK: sdk.ErrParseError}
	ErrInvalidRequest  = Error{Code: -32600, Status: http.StatusBadRequest, GRPC: "INVALID_ARGUMENT", Reason: "INVALID_REQUEST", SDK: sdk.ErrInvalidRequest}
	ErrMethodNotFound  = Error{Code: -32601, Status: http.StatusNotFound, GRPC: "UNIMPLEMENTED", Reason: "METHOD_NOT_FOUND", SDK: sdk.ErrMethodNotFound}
	ErrInvalidParams   = Error{Code: -32602, Status: http.StatusBadRequest, GRPC: "INVALID_ARGUMENT", Reason: "INVALID_PARAMS", SDK: sdk.ErrInvalidParams}
	ErrInternal        = Error{Code: -32603, Status: http.StatusInternalServerError, GRPC: "INTERNAL", Reason: "INTERNAL_ERROR", Message: "internal error", SDK: sdk.ErrInternalError}
	errDataLoss        = Error{Code: -32603, Status: http.StatusInternalServerError, GRPC: "DATA_LOSS", Reason: "DATA_LOSS", Message: "the stored data of this task is damaged and cannot be read: the operator of this server has to restore a backup"}
	ErrBusy            = Error{Code: -32603, Status: http.StatusServiceUnavailable, GRPC: "UNAVAILABLE", Reason: "UNAVAILABLE", Message: "the server cannot accept this now: try again later"}
	errDiskFull        = Error{Code: -32603, Status: http.StatusInsufficientStorage, GRPC: "RESOURCE_EXHAUSTED", Reason: "RESOURCE_EXHAUSTED"}
	errTaskNotFound    = Error{Code: -32001, Status: http.StatusNotFound, GRPC: "NOT_FOUND", Reason: "TASK_NOT_FOUND", Message: "task not found", SDK: sdk.ErrTaskNotFound}
	errNotCancelable   = Error{Code: -32002, Status: http.StatusBadRequest, GRPC: "FAILED_PRECONDITION", Reason: "TASK_NOT_CANCELABLE", SDK: sdk.ErrTaskNotCancelable}
	ErrPushUnsupported = Error{Code: -32003, Status: http.StatusBadRequest, GRPC: "FAILED_PRECONDITION", Reason: "PUSH_NOTIFICATION_NOT_SUPPORTED", Message: "this agent does not send push notifications", SDK: sdk.ErrPushNotificationNotSupported}
	ErrUnsupported     = Error{Code: -32004, Status: http.StatusBadRequest, GRPC: "FAILED_PRECONDITION", Reason: "UNSUPPORTED_OPERATION", SDK: sdk.ErrUnsupportedOperation}
	ErrContentType     = Error{Code: -32005, Status: http.StatusBadRequest, GRPC: "INVALID_ARGUMENT", Reason: "CONTENT_TYPE_NOT_SUPPORTED", SDK: sdk.ErrUnsupportedContentType}
	errInvalidAgent    = Error{Code: -32006, Status: http.StatusInternalServerError, GRPC: "INTERNAL", Reason: "INVALID_AGENT_RESPONSE", SDK: sdk.ErrInvalidAgentResponse}
	ErrNoExtendedCard  = Error{Code: -32007, Status: http.StatusBadRequest, GRPC: "FAILED_PRECONDITION", Reason: "EXTENDED_AGENT_CARD_NOT_CONFIGURED", SDK: sdk.ErrExtendedCardNotConfigured}
	ErrNeedsExtension  = Error{Code: -32008, Status: http.StatusBadRequest, GRPC: "FAILED_PRECONDITION", Reason: "EXTENSION_SUPPORT_REQUIRED", SDK: sdk.ErrExtensionSupportRequired}
	ErrVersion         = Error{Code: -32009, Status: http.StatusBadRequest, GRPC: "FAILED_PRECONDITION", Reason: "VERSION_NOT_SUPPORTED", SDK: sdk.ErrVersionNotSupported}
	errDenied          = Error{Code: -32600, Status: http.StatusForbidden, GRPC: "PERMISSION_DENIED", Reason: "PERMISSION_DENIED", Message: "the credential lacks a role for this operation"}
	errForbidden       = Error{Code: -32600, Status: http.StatusForbidden, GRPC: "PERMISSION_DENIED", Reason: "PERMISSION_DENIED"}
)

// The errors of HTTP itself, before a binding sees the request.
var (
	errUnauthenticated  = Error{Code: -32600, Status: http.StatusUnauthorized, GRPC: "UNAUTHENTICATED", Reason: "UNAUTHENTICATED", Message: "the caller could not be authenticated: send a credential of a kind listed in WWW-Authenticate"}
	errTooMany          = Error{Code: -32603, Status: http.StatusTooManyRequests, GRPC: "RESOURCE_EXHAUSTED", Reason: "RATE_LIMIT_EXCEEDED", Message: "too many requests", After: 1}
	ErrNoPath           = Error{Code: -32600, Status: http.StatusNotFound, GRPC: "NOT_FOUND", Reason: "NOT_FOUND", Message: "there is nothing at this path"}
	errMethodNotAllowed = Error{Code: -32600, Status: http.StatusMethodNotAllowed, GRPC: "UNIMPLEMENTED", Reason: "METHOD_NOT_ALLOWED", Message: "this path does not accept this method"}
	ErrMediaType        = Error{Code: -32005, Status: http.StatusUnsupportedMediaType, GRPC: "INVALID_ARGUMENT", Reason: "CONTENT_TYPE_NOT_SUPPORTED", Message: "the Content-Type must be application/json or application/a2a+json, in UTF-8"}
	errTooLarge         = Error{Code: -32600, Status: http.StatusRequestEntityTooLarge, GRPC: "RESOURCE_EXHAUSTED", Reason: "REQUEST_TOO_LARGE", Message: "the request is larger than this server accepts"}
	ErrTooSlow          = Error{Code: -32600, Status: http.StatusRequestTimeout, GRPC: "DEADLINE_EXCEEDED", Reason: "INVALID_REQUEST", Message: "the request did not arrive in time"}
)

// Documented is an error with when it happens and the next step, as docs/errors.md has it.
type Documented struct {
	*Error
	When, Next string
}

// Errors lists every error that clients get, when it happens and the next step.
// docs/errors.md is generated from it.
var Errors = []Documented{
	{&ErrParse, "The body is no JSON, or not in UTF-8.", "Correct the place in the message."},
	{&ErrInvalidRequest, "A member of the JSON-RPC request is missing or wrong, or the query string cannot be parsed.", "Correct the place in the message."},
	{&ErrMethodNotFound, "No A2A version here has this JSON-RPC method.", "Use a method such as `SendMessage` (1.0) or `message/send` (0.3)."},
	{&ErrInvalidParams, "A field is missing, invalid or ambiguous (a duplicate name, an integer beyond a double, deep nesting), or a decision is refused.", "Correct the `fieldViolations`. Nothing was changed."},
	{&errTaskNotFound, "There is no such task of this caller.", "Check the id and your credential."},
	{&errNotCancelable, "The task has already ended in another way.", "Get the task to see how it ended."},
	{&ErrPushUnsupported, "This agent sends no push notifications.", "Use a stream, or poll GetTask."},
	{&ErrUnsupported, "The task's state, or the agent, does not allow the request.", "If the task has ended, get its result, or omit `taskId` for a new task."},
	{&ErrContentType, "The agent does not accept the media type of a part.", "Use a media type in the card's `defaultInputModes`."},
	{&errInvalidAgent, "The planner reports an invalid response.", "Tell the operator."},
	{&ErrNoExtendedCard, "There is no extended agent card.", "Use the agent card."},
	{&ErrNeedsExtension, "The request does not activate a required extension.", "Activate the extension in `A2A-Extensions`."},
	{&ErrVersion, "The A2A version is unsupported, or contradicts method or path.", "Send an `A2A-Version` in `supportedVersions` of the metadata."},
	{&errDenied, "The caller has no role for this operation.", "Ask the operator for a role in the message."},
	{&errForbidden, "Requests with this Host or Origin, or from this site, are not allowed.", "Have `allowed_hosts` or `allowed_origins` extended."},
	{&ErrInternal, "The server, planner or a hook failed.", "Retry once, then tell the operator; the log has the cause."},
	{&errDataLoss, "Stored data is damaged; or a message was recorded, as the error then says, and nothing after it.", "Have a backup restored. Do not send a recorded message again."},
	{&ErrBusy, "The server is at a limit, cannot write now, waits for `store resume`, or is stopping. Nothing was written, unless the error says that the message was recorded, with `taskId` in the metadata.", "Retry after `Retry-After`, with backoff; a recorded message only with its `messageId`, or get its task."},
	{&errDiskFull, "The disk limit of the caller, or of all, is reached.", "Have `limits.disk_per_caller` or `limits.disk` raised. Existing tasks continue."},
	{&errUnauthenticated, "The caller could not be authenticated.", "Send a credential of a kind in `WWW-Authenticate`."},
	{&errTooMany, "The caller exceeds `limits.rate`, or its address `limits.auth_failures`.", "Wait for `Retry-After`, then send fewer requests, or a valid credential."},
	{&ErrNoPath, "Nothing is at this path, or the request names a foreign tenant.", "Take URL and tenant from the agent card."},
	{&errMethodNotAllowed, "The path does not accept this HTTP method.", "Use a method in `Allow`."},
	{&ErrMediaType, "The body is not declared as JSON in UTF-8, or has a `Content-Encoding`.", "Send `Content-Type: application/json`, uncompressed."},
	{&errTooLarge, "The body is larger than `limits.body`.", "Send less, or have the limit raised."},
	{&ErrTooSlow, "The body did not arrive in time.", "Send it again, or have `limits.read_timeout` raised."},
}

// Transport returns the error for an HTTP status that the transport refuses with.
func Transport(status int) *Error {
	for _, e := range []*Error{&errUnauthenticated, &errTooMany, &ErrNoPath, &errMethodNotAllowed, &ErrMediaType, &errTooLarge, &ErrTooSlow, &ErrBusy, &errForbidden} {
		if e.Status == status {
			return e.Saying(e.Message)
		}
	}
	if status >= http.StatusInternalServerError {
		return ErrInternal.Saying(ErrInternal.Message)
	}
	e := ErrInvalidRequest.Saying("the request cannot be read")
	e.Status = status
	return e
}
