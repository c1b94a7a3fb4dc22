// Package auth defines the caller (a [Principal]), the proof of its identity (an
// [Authenticator]), and its intent (an [Action]). It does not know how a call arrived, or
// where anything is stored.
package auth

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"
)

// A Principal is the authenticated caller. It is a value: safe to copy and to keep. The zero
// Principal is no caller at all. A Principal that [Principal.Validate] rejects sees nothing
// and may do nothing.
type Principal struct {
	Tenant  string `json:"tenant,omitempty"`
	Subject string `json:"subject"` // unique in the tenant, and never reassigned to another caller
	// Person names the person behind Subject, if a person has several subjects in a tenant,
	// such as a key and a login: under four eyes they count once. Empty: Subject.
	Person string `json:"person,omitempty"`
	// PersonSeen says that Person is the name of somebody whom an issuer or a proxy has shown under
	// it, or whom the configuration lists with their subjects: more than what a key says. See
	// [Principal.Doubtful]. Without it, Person is no proof that p is another person.
	PersonSeen bool `json:"person_seen,omitempty"`
	// Login is the login that an operator names as the person of a key or a local user, if that login
	// has a Person of its own, which is Person then.
	Login string `json:"login,omitempty"`
	// Mark tells an API key from the others that have, or had, its subject, and a local user of the
	// configuration from those of a program. No API shows it.
	Mark  string   `json:"mark,omitempty"`
	Kind  Kind     `json:"kind,omitempty"`
	Roles []string `json:"roles,omitempty"` // permissions of the caller, see [Principal.May]; other roles are for the rules of tools and approvals
	// Chain lists the parties that act for Subject, outermost first: if an agent presents the
	// token of a person, the person is Subject and the agent is in Chain (RFC 8693, section
	// 4.1). It has only names that the credential proves. Empty: Subject acts directly.
	Chain []string `json:"chain,omitempty"`
	// Method is how the caller was authenticated: "none" for [Anonymous].
	Method string `json:"method,omitempty"`
	// Email is the mail address of the caller, verified by the issuer of the credential, which
	// messages to the requester go to. It is not stored with the principal. Empty: none is
	// verified. Authenticators must not take it from anything that a caller can write.
	Email string `json:"-"`
	// Expires is when the credential ends, and with it the streams that it opened. It is not
	// stored. Zero: it does not end by itself.
	Expires time.Time `json:"-"`
}

// Kind is the kind of a caller.
type Kind string

// The kinds of callers.
const (
	KindPerson  Kind = ""        // a person, or a program of theirs that acts as them
	KindService Kind = "service" // a program that acts as itself
)

// anonymous is the subject of [Anonymous]. No authenticated caller has it.
const anonymous = "anonymous"

// Anonymous returns the caller of a server without authentication. It has the permissions of
// [RoleRequester].
func Anonymous() Principal { return Principal{Subject: anonymous, Method: methodNone} }

const methodNone = "none"

// persona is the subject of [Persona].
const persona = "colleague"

// Persona returns the second person of a demo, in whose name the person at the pages of a server
// without authentication decides what [Anonymous] has requested. Only the pages of a demo know it:
// no credential and no message names it, and authentication never results in it.
func Persona() Principal {
	return Principal{Subject: persona, Method: methodNone, Roles: []string{RoleRequester, RoleAdmin}}
}

// IsPersona reports whether p is [Persona].
func (p Principal) IsPersona() bool { return p.Subject == persona && p.Method == methodNone }

// Trial returns the caller of a call that is judged and never made: [Anonymous] if nothing is given.
func Trial(subject, tenant string, roles, chain []string) Principal {
	if subject == "" && tenant == "" && len(roles)+len(chain) == 0 {
		return Anonymous()
	}
	return Principal{Subject: subject, Tenant: tenant, Roles: roles, Chain: chain, Method: "policy"}
}

// IsAnonymous reports whether p is the caller of a server without authentication.
func (p Principal) IsAnonymous() bool { return p.Subject == anonymous && p.Method == methodNone }

// IsZero reports whether p is no caller.
func (p Principal) IsZero() bool { return p.Subject == "" }

// The bounds of a [Principal], in bytes.
const (
	MaxOwner = 1 << 10  // of Tenant and Subject together
	maxRest  = 64 << 10 // of everything else together
)

// Validate returns an error if p cannot be a caller: a string in it is not valid UTF-8, so
// that another name would be stored, it exceeds [MaxOwner] or [maxRest], its kind is unknown,
// or it was authenticated as the subject of [Anonymous].
func (p Principal) Validate() error {
	rest := len(p.Email)
	valid := utf8.ValidString(p.Tenant) && utf8.ValidString(p.Subject)
	for _, list := range [][]string{p.Roles, p.Chain, {p.Method, p.Person, p.Login, p.Mark}} {
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
	case rest > maxRest:
		return fmt.Errorf("roles, chain, person and method of principal %q have %d bytes together; at most %d are allowed: omit what no rule needs", p.Subject, rest, maxRest)
	case p.Kind != KindPerson && p.Kind != KindService:
		return fmt.Errorf("principal %q is of kind %.100q: a kind is empty, for a person, or %q", p.Subject, p.Kind, KindService)
	case p.Subject == anonymous && p.Method != methodNone:
		return fmt.Errorf("no authenticated principal may have the subject %q: what it owns was made without authentication; use another name", p.Subject)
	}
	return nil
}

// Direct reports whether p is a person who acts directly: neither a service nor a principal
// with a chain.
func (p Principal) Direct() bool { return p.Kind == KindPerson && len(p.Chain) == 0 }

// Shares reports whether p and q have a person or agent in common, in Subject, Person or
// Chain. Tenants make no difference: the same name in two tenants counts as the same person. So do
// white space around a name, case, and characters that are compatible in Unicode.
func (p Principal) Shares(q Principal) bool { return common(p.involved(), q.involved()) }

// With returns p with all names involved in q in its chain, so that p.Shares counts them.
func (p Principal) With(q Principal) Principal {
	for _, name := range q.involved() {
		if !common(p.involved(), []string{name}) {
			p.Chain = append(slices.Clip(p.Chain), name)
		}
	}
	return p
}

// involved returns the names of all parties to p. The Subject is included even if Person is
// set, because it may be in another principal's chain.
func (p Principal) involved() []string { return append(p.names(), p.Chain...) }

// names returns the names of p itself.
func (p Principal) names() []string {
	return slices.DeleteFunc([]string{p.Subject, p.Person, p.Login}, func(name string) bool { return name == "" })
}
