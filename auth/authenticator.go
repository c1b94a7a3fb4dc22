package auth

import (
	"context"
	"crypto/tls"
	"errors"
	"net/netip"
)

// Credentials are what a request carries to prove who makes it. The body is not part of
// them: it is not read before the caller is known.
type Credentials struct {
	// Header returns the values of a header field, in whatever case its name is written;
	// nil when there are none. They must not be changed.
	Header func(name string) []string
	TLS    *tls.ConnectionState // nil: the connection is not encrypted
	Remote netip.AddrPort       // of the peer, which may be a proxy; zero when it is not known
}

// An Authenticator finds out who makes a request. It must be safe for concurrent use, and
// should return quickly: nothing of the request is read meanwhile.
//
// Its error decides what the caller is told:
//
//   - [ErrNone], when there is no credential of its kind, and an [*Error], when one is
//     invalid: 401 (UNAUTHENTICATED), with a challenge;
//   - any other, when the credential could not be checked: 503 (UNAVAILABLE), so that an
//     entitled client tries again. The error is logged, and not shown.
//
// Returning the zero [Principal] has the effect of ErrNone, and one that
// [Principal.Validate] rejects that of any other error.
type Authenticator interface {
	Authenticate(ctx context.Context, c *Credentials) (Principal, error)
}

// Func is a function that is an [Authenticator].
type Func func(ctx context.Context, c *Credentials) (Principal, error)

// Authenticate calls f.
func (f Func) Authenticate(ctx context.Context, c *Credentials) (Principal, error) { return f(ctx, c) }

// ErrNone says that a request has no credential of the kind that an Authenticator
// knows.
var ErrNone = errors.New("no credential")

// Error says that a credential is invalid. The caller is shown all of it, so it must not
// say more than the caller may know.
type Error struct {
	Scheme      string // of the challenge (RFC 9110, section 11.6.1). Defaults to "Bearer".
	Code        string // as RFC 6750, section 3.1 has it, such as "invalid_token"; may be empty
	Description string // what is wrong, and what to do; may be empty
}

// Error returns the description.
func (e *Error) Error() string {
	switch {
	case e.Description != "":
		return e.Description
	case e.Code != "":
		return "the credential is invalid: " + e.Code
	}
	return "the credential is invalid"
}

// maxChallenge bounds each text of a challenge: proxies refuse an answer whose header is
// large.
const maxChallenge = 500

// Challenge returns the value of the WWW-Authenticate header for the error. Characters
// that could end a quoted string early are left out, and each text is cut at 500.
func (e *Error) Challenge() string {
	scheme, comma := e.Scheme, " "
	if !isToken(scheme) {
		scheme = "Bearer"
	}
	add := func(name, value string) {
		if value = printable(value); value != "" {
			scheme, comma = scheme+comma+name+`="`+value+`"`, ", "
		}
	}
	add("error", e.Code)
	add("error_description", e.Description)
	return scheme
}

// isToken reports whether s is a token of RFC 9110, section 5.6.2, made of letters,
// digits, "-" and "_".
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}

// printable returns s without what RFC 6750, section 3 does not allow in the values of a
// challenge.
func printable(s string) string {
	kept := make([]byte, 0, min(len(s), maxChallenge))
	for i := 0; i < len(s) && len(kept) < maxChallenge; i++ {
		if c := s[i]; c >= 0x20 && c <= 0x7e && c != '"' && c != '\\' {
			kept = append(kept, c)
		}
	}
	return string(kept)
}

// An Action is what a caller wants to do, in the terms in which rights are granted,
// whatever the binding and the operation.
type Action uint8

// The actions.
const (
	Create Action = iota + 1 // a task, by a message
	Read                     // a task, or one's approvals
	List                     // tasks, or approvals
	Follow                   // the stream of a task
	Decide                   // an approval
	Cancel                   // a task
	Push                     // configure push notifications of a task
	Delete                   // a task
	Admin                    // keys and the configuration
)

var actionNames = [...]string{"", "create", "read", "list", "follow", "decide", "cancel", "push", "delete", "admin"}

// String returns the name of the action, in lower case.
func (a Action) String() string {
	if int(a) >= len(actionNames) || a == 0 {
		return "unknown"
	}
	return actionNames[a]
}
