package auth

import (
	"context"
	"crypto/tls"
	"errors"
	"net/netip"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Credentials are the parts of a request that can prove its caller's identity. The body is not
// included: it is read only once the caller is known.
type Credentials struct {
	// Header returns the values of a header field, or nil if there are none. The name is
	// case-insensitive. The values must not be changed.
	Header func(name string) []string
	TLS    *tls.ConnectionState // nil: the connection is not encrypted
	Remote netip.AddrPort       // of the peer, which may be a proxy; zero if unknown
}

// An Authenticator determines the caller of a request. It must be safe for concurrent use, and
// should return quickly: the body of the request is read only afterwards.
//
// Its error determines the response:
//
//   - [ErrNone], if there is no credential of its kind, or an [*Error], if the credential is
//     invalid: 401 (UNAUTHENTICATED) with a challenge;
//   - any other error, if the credential could not be checked: 503 (UNAVAILABLE), so that
//     clients try again. The error is logged, and not sent to the client.
//
// A zero [Principal] counts as ErrNone, and a Principal that [Principal.Validate] rejects as
// any other error.
type Authenticator interface {
	Authenticate(ctx context.Context, c *Credentials) (Principal, error)
}

// Func adapts a function to an [Authenticator].
type Func func(ctx context.Context, c *Credentials) (Principal, error)

// Authenticate calls f.
func (f Func) Authenticate(ctx context.Context, c *Credentials) (Principal, error) { return f(ctx, c) }

// ErrNone means that a request has no credential of the kind that an Authenticator checks.
var ErrNone = errors.New("no credential")

// Error means that a credential is invalid. All of it is sent to the caller, so it must not
// contain secrets.
type Error struct {
	Scheme      string // of the challenge (RFC 9110, section 11.6.1). Defaults to "Bearer".
	Code        string // as in RFC 6750, section 3.1, such as "invalid_token"; may be empty
	Description string // the fault and the next step; may be empty
}

// Error returns the description or, without one, a sentence with the code.
func (e *Error) Error() string {
	switch {
	case e.Description != "":
		return e.Description
	case e.Code != "":
		return "the credential is invalid: " + e.Code
	}
	return "the credential is invalid"
}

// maxChallenge bounds each value in a challenge, in bytes: proxies refuse answers with large
// headers.
const maxChallenge = 500

// Challenge returns the value of the WWW-Authenticate header for the error. Characters that
// RFC 6750 does not allow are removed, and each value is truncated to 500 bytes.
func (e *Error) Challenge() string {
	scheme, comma := e.Scheme, " "
	if !httpguts.ValidHeaderFieldName(scheme) {
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

// printable returns s without the characters that RFC 6750, section 3 does not allow in a
// challenge, truncated to maxChallenge bytes.
func printable(s string) string {
	kept := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return -1
		}
		return r
	}, s)
	return kept[:min(len(kept), maxChallenge)]
}
