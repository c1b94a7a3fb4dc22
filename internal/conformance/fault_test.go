package conformance

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
)

// fault is an error that the server answered with.
type fault struct {
	Name       string            // A2A's
	Own        string            `json:",omitempty"` // the more specific one of this server
	Violations []violation       `json:",omitempty"`
	Message    string            `json:",omitempty"`
	Metadata   map[string]string `json:",omitempty"`
}

// violation is a field that is wrong.
type violation struct{ Field, Description string }

// Error implements error.
func (f *fault) Error() string { return f.Name + ": " + f.Message }

// numbers are how the bindings number an error.
type numbers struct {
	rpc  int
	grpc codes.Code
	http int
}

// faults are the errors of A2A 1.0.1 §5.4, of JSON-RPC 2.0 §5.1 and of HTTP.
var faults = map[string]numbers{
	"TASK_NOT_FOUND":                     {-32001, codes.NotFound, http.StatusNotFound},
	"TASK_NOT_CANCELABLE":                {-32002, codes.FailedPrecondition, http.StatusBadRequest},
	"PUSH_NOTIFICATION_NOT_SUPPORTED":    {-32003, codes.FailedPrecondition, http.StatusBadRequest},
	"UNSUPPORTED_OPERATION":              {-32004, codes.FailedPrecondition, http.StatusBadRequest},
	"CONTENT_TYPE_NOT_SUPPORTED":         {-32005, codes.InvalidArgument, http.StatusBadRequest},
	"INVALID_AGENT_RESPONSE":             {-32006, codes.Internal, http.StatusInternalServerError},
	"EXTENDED_AGENT_CARD_NOT_CONFIGURED": {-32007, codes.FailedPrecondition, http.StatusBadRequest},
	"EXTENSION_SUPPORT_REQUIRED":         {-32008, codes.FailedPrecondition, http.StatusBadRequest},
	"VERSION_NOT_SUPPORTED":              {-32009, codes.FailedPrecondition, http.StatusBadRequest},
	"PARSE_ERROR":                        {-32700, codes.InvalidArgument, http.StatusBadRequest},
	"INVALID_REQUEST":                    {-32600, codes.InvalidArgument, http.StatusBadRequest},
	"METHOD_NOT_FOUND":                   {-32601, codes.Unimplemented, http.StatusNotFound},
	"INVALID_PARAMS":                     {-32602, codes.InvalidArgument, http.StatusBadRequest},
	"INTERNAL_ERROR":                     {-32603, codes.Internal, http.StatusInternalServerError},
	"UNAUTHENTICATED":                    {-32600, codes.Unauthenticated, http.StatusUnauthorized},
	"PERMISSION_DENIED":                  {-32600, codes.PermissionDenied, http.StatusForbidden},
	"NOT_FOUND":                          {-32600, codes.NotFound, http.StatusNotFound},
	"METHOD_NOT_ALLOWED":                 {-32600, codes.Unimplemented, http.StatusMethodNotAllowed},
	"RATE_LIMIT_EXCEEDED":                {-32603, codes.ResourceExhausted, http.StatusTooManyRequests},
	"RESOURCE_EXHAUSTED":                 {-32603, codes.ResourceExhausted, http.StatusInsufficientStorage},
	"UNAVAILABLE":                        {-32603, codes.Unavailable, http.StatusServiceUnavailable},
	"REQUEST_TOO_LARGE":                  {-32600, codes.ResourceExhausted, http.StatusRequestEntityTooLarge},
}

// transport are the errors that have an HTTP status of their own also in JSON-RPC.
var transport = []string{"UNAUTHENTICATED", "PERMISSION_DENIED", "REQUEST_TOO_LARGE", "RATE_LIMIT_EXCEEDED", "UNAVAILABLE"}

// detail is an entry of the details of an error, in any binding.
type detail struct {
	Type            string            `json:"@type"`
	Domain          string            `json:"domain"`
	Reason          string            `json:"reason"`
	Metadata        map[string]string `json:"metadata"`
	FieldViolations []struct {
		Field       string `json:"field"`
		Description string `json:"description"`
	} `json:"fieldViolations"`
}

// faultOf returns the error that details describe. A2A's own ErrorInfo is required.
func faultOf(message string, details []detail) (*fault, error) {
	f := &fault{Message: message}
	for _, d := range details {
		switch {
		case d.Type == "type.googleapis.com/google.rpc.ErrorInfo" && d.Domain == "a2a-protocol.org":
			if f.Name != "" {
				return nil, fmt.Errorf("the error has two ErrorInfo of A2A: %+v", details)
			}
			f.Name, f.Metadata = d.Reason, d.Metadata
		case d.Type == "type.googleapis.com/google.rpc.ErrorInfo":
			f.Own = d.Reason
		case d.Type == "type.googleapis.com/google.rpc.BadRequest":
			for _, v := range d.FieldViolations {
				f.Violations = append(f.Violations, violation{v.Field, v.Description})
			}
		default:
			return nil, fmt.Errorf("the error has a detail of the type %q", d.Type)
		}
	}
	if _, ok := faults[f.Name]; !ok {
		return nil, fmt.Errorf("the error %q (%s) has no reason of A2A: %+v", f.Name, message, details)
	}
	return f, nil
}

// names03 are the names that fields have in HTTP+JSON and gRPC of 0.3, and in JSON-RPC, in
// which the cases compare them.
var names03 = []struct {
	in *regexp.Regexp
	is string
}{
	{regexp.MustCompile(`^request\b`), "message"},
	{regexp.MustCompile(`^message\.content\b`), "message.parts"},
	{regexp.MustCompile(`^(message\.parts\[\d+\]\.data)\.data\b`), "$1"},
	{regexp.MustCompile(`^config\.pushNotificationConfig\b`), "pushNotificationConfig"},
	{regexp.MustCompile(`^configuration\.pushNotification\b`), "configuration.pushNotificationConfig"},
	{regexp.MustCompile(`^lastUpdatedTime\b`), "statusTimestampAfter"},
}

// ofProto03 gives the fields of an error of HTTP+JSON or gRPC of 0.3 the names that the cases
// compare. It fails if one has a name of another binding already.
func (f *fault) ofProto03() error {
	for i := range f.Violations {
		v := &f.Violations[i]
		if regexp.MustCompile(`^message\.parts|taskPushNotificationConfig|statusTimestampAfter|authentication\.scheme$`).MatchString(v.Field) {
			return fmt.Errorf("the error names the field %s, which 0.3 has not: %w", v.Field, f)
		}
		field := v.Field
		for _, name := range names03 {
			field = name.in.ReplaceAllString(field, name.is)
		}
		if i == 0 {
			f.Message = strings.Replace(f.Message, v.Field, field, 1)
		}
		v.Field = field
	}
	return f
}

// ofCode returns the error of A2A with a JSON-RPC code, for answers without details.
func ofCode(code int, message string) (*fault, error) {
	var names []string
	for name, n := range faults {
		if n.rpc == code && !slices.Contains(transport, name) && !strings.HasPrefix(name, "METHOD_NOT_A") && name != "NOT_FOUND" {
			names = append(names, name)
		}
	}
	if len(names) != 1 {
		return nil, fmt.Errorf("the code %d is that of %d errors", code, len(names))
	}
	return &fault{Name: names[0], Message: message}, nil
}
