// Package auth defines who is calling (a [Principal]), how that is proved (an
// [Authenticator]), and what the caller wants to do (an [Action]). It does not know how a
// call arrived, or where anything is stored.
package auth

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// A Principal is the authenticated caller. It is a value: safe to copy and to keep. The
// zero Principal is nobody; one that [Principal.Validate] rejects sees nothing and may do
// nothing.
type Principal struct {
	Tenant  string   `json:"tenant,omitempty"`
	Subject string   `json:"subject"`
	Roles   []string `json:"roles,omitempty"`
	// Chain lists who acts for Subject, outermost first: if an agent presents the token of
	// a person, the person is Subject and the agent is in Chain (RFC 8693, section 4.1). It
	// has only what the credential proves. Empty: Subject acts directly.
	Chain []string `json:"chain,omitempty"`
	// Method is how the caller was authenticated: "none" for [Anonymous].
	Method string `json:"method,omitempty"`
}

// Anonymous returns the caller of a server without authentication.
func Anonymous() Principal { return Principal{Subject: "anonymous", Method: "none"} }

// IsZero reports whether p is nobody.
func (p Principal) IsZero() bool { return p.Subject == "" }

// The bounds of a [Principal], in bytes.
const (
	MaxOwner = 1 << 10  // of Tenant and Subject together
	MaxRest  = 64 << 10 // of Roles, Chain and Method together
)

// Validate returns an error if p cannot be a caller: a string in it is not valid UTF-8, so
// that it would be stored as somebody else, or it exceeds [MaxOwner] or [MaxRest].
func (p Principal) Validate() error {
	rest := len(p.Method)
	valid := utf8.ValidString(p.Tenant) && utf8.ValidString(p.Subject) && utf8.ValidString(p.Method)
	for _, list := range [][]string{p.Roles, p.Chain} {
		for _, text := range list {
			rest += len(text)
			valid = valid && utf8.ValidString(text)
		}
	}
	switch owner := len(p.Tenant) + len(p.Subject); {
	case !valid:
		return fmt.Errorf("principal %q has a string that is not valid UTF-8: convert it at its source", p.Subject[:min(len(p.Subject), 100)])
	case owner > MaxOwner:
		return fmt.Errorf("tenant and subject of a principal have %d bytes together; at most %d are allowed: use a shorter name", owner, MaxOwner)
	case rest > MaxRest:
		return fmt.Errorf("roles, chain and method of principal %q have %d bytes together; at most %d are allowed: omit what no rule needs", p.Subject, rest, MaxRest)
	}
	return nil
}

// Involves reports whether subject, of p's tenant, is p or somebody who acts for p.
func (p Principal) Involves(subject string) bool {
	return p.Subject == subject || slices.Contains(p.Chain, subject)
}
