// Package auth says who is calling (the [Principal]), what proves that ([Authenticator]),
// and what a caller wants to do ([Action]). It does not know how a call came in, or where
// anything is stored.
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
	// Chain holds those who act for Subject, outermost first: an agent that brings the
	// token of a person is in it, and the person is Subject (RFC 8693, section 4.1). Only
	// what a credential proves is in it. Empty: Subject acts.
	Chain []string `json:"chain,omitempty"`
	// Method says how the caller was authenticated: "none" for [Anonymous].
	Method string `json:"method,omitempty"`
}

// Anonymous is the caller of a server without authentication.
func Anonymous() Principal { return Principal{Subject: "anonymous", Method: "none"} }

// IsZero reports whether p is nobody.
func (p Principal) IsZero() bool { return p.Subject == "" }

// The bounds of a [Principal], in bytes.
const (
	MaxOwner = 1 << 10  // of Tenant and Subject together
	MaxRest  = 64 << 10 // of Roles, Chain and Method together
)

// Validate says why p can be nobody's: one of its texts is not UTF-8, so that what is
// stored of it would be somebody else, or it is larger than its bounds.
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
		return fmt.Errorf("a text of principal %q is not UTF-8: convert it where it comes from", p.Subject[:min(len(p.Subject), 100)])
	case owner > MaxOwner:
		return fmt.Errorf("tenant and subject of a principal have %d bytes, at most %d are possible: use a shorter name", owner, MaxOwner)
	case rest > MaxRest:
		return fmt.Errorf("roles, chain and method of principal %q have %d bytes, at most %d are possible: leave out what no rule needs", p.Subject, rest, MaxRest)
	}
	return nil
}

// Involves reports whether subject, of p's tenant, is p or somebody who acts for p.
func (p Principal) Involves(subject string) bool {
	return p.Subject == subject || slices.Contains(p.Chain, subject)
}
