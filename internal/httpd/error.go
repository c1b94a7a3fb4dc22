package httpd

import (
	"net/http"

	"a2a-server/internal/failure"
)

// ErrStopping is the cause with which the contexts of requests end when the server shuts down.
var ErrStopping = failure.New(failure.Stopping, "the server is shutting down")

// Error refuses a request before its protocol has read it. The protocol writes it in its own
// form.
type Error struct {
	Status     int      // of HTTP
	Message    string   // for the client; empty: the protocol's own words for Status
	After      int      // seconds, of Retry-After; 0: the default
	Challenges []string // values of WWW-Authenticate; only with 401
}

func (e *Error) Error() string {
	if e.Message == "" {
		return http.StatusText(e.Status)
	}
	return e.Message
}

// Kind says that the request was refused.
func (*Error) Kind() failure.Kind { return failure.Refused }

func refused(status int, message string) *Error { return &Error{Status: status, Message: message} }
func forbidden(message string) *Error           { return refused(http.StatusForbidden, message) }
func busy(message string) *Error                { return refused(http.StatusServiceUnavailable, message) }
