// Package auth says who is calling (the [Principal]), what proves that ([Authenticator]),
// and what a caller wants to do ([Action]). It does not know how a call came in, or where
// anything is stored.
package auth

import "slices"

// A Principal is the authenticated caller. It is a value: safe to copy and to keep. The
// zero Principal is nobody.
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

// Involves reports whether subject, of p's tenant, is p or somebody who acts for p.
func (p Principal) Involves(subject string) bool {
	return p.Subject == subject || slices.Contains(p.Chain, subject)
}
