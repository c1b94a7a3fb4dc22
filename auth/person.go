package auth

import "strings"

// DistinctFrom reports whether p and q are known to be different persons. Two subjects of one
// authenticator are, unless they share a person or a party. Subjects of two authenticators are only
// if the credential or auth.people names the person of both, or names for one of them a subject of
// the authenticator of the other: else they may be two logins of one person.
func (p Principal) DistinctFrom(q Principal) bool {
	switch {
	case p.IsZero() || q.IsZero() || p.IsAnonymous() || q.IsAnonymous() || p.Shares(q):
		return false
	case p.Person != "" && q.Person != "":
		return true
	case p.Method == q.Method && source(p.Subject) == source(q.Subject):
		return true
	case p.Person != "":
		return source(p.Person) != "" && source(p.Person) == source(q.Subject)
	case q.Person != "":
		return source(q.Person) != "" && source(q.Person) == source(p.Subject)
	}
	return false
}

// SamePerson reports whether p and q are known to be the same person, whoever acts for them. Two
// principals may be neither the same person nor known to be different persons.
func (p Principal) SamePerson(q Principal) bool {
	return p.Subject == q.Subject || p.person() == q.person() || p.person() == q.Subject || p.Subject == q.person()
}

// source returns the name of the authenticator with which a subject begins; "": none.
func source(subject string) string {
	name, _, found := strings.Cut(subject, ":")
	if !found {
		return ""
	}
	return name
}
