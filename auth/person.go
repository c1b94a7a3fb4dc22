package auth

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// DistinctFrom reports whether p and q are known to be different persons. Two subjects of one
// authenticator are, unless they share a person or a party. Subjects of two authenticators are only
// if the credential or auth.people names the person of both, or names for one of them a subject of
// the authenticator of the other: else they may be two logins of one person. A name counts only if its
// person has been seen ([Principal.PersonSeen]): one that nobody has ever had may be a mistake for
// any other. Only of two names that are the operator's own, with no authenticator behind either, are
// both believed. A login and the name of a person may be one person. A principal that is
// [Principal.Doubtful] is known to differ from nobody. [Anonymous] differs from the [Persona] of a demo
// alone.
func (p Principal) DistinctFrom(q Principal) bool {
	switch {
	case p.IsZero() || q.IsZero() || p.Shares(q) || p.Doubtful() || q.Doubtful():
		return false
	case p.IsAnonymous() || q.IsAnonymous() || p.IsPersona() || q.IsPersona():
		return p.IsAnonymous() && q.IsPersona() || p.IsPersona() && q.IsAnonymous()
	case source(p.Subject) == source(q.Subject) && (source(p.Subject) != "" || p.Method == q.Method):
		return true
	case p.Person != "" && q.Person != "":
		return p.PersonSeen == q.PersonSeen && source(p.Person) == source(q.Person) // neither is Doubtful
	case p.Person != "":
		return p.PersonSeen && source(p.Person) != "" && source(p.Person) == source(q.Subject)
	case q.Person != "":
		return q.PersonSeen && source(q.Person) != "" && source(q.Person) == source(p.Subject)
	}
	return false
}

// Doubtful reports whether p names a person of another authenticator, such as corp:alice, who has not
// been seen from there. Nothing says then who p is: it has no vote, and decides nothing where persons
// must differ.
func (p Principal) Doubtful() bool {
	from := source(p.Person)
	return from != "" && from != source(p.Subject) && !p.PersonSeen
}

// PersonNames returns the names under which p may be named as a person: its subject and, if it has been
// seen, its person as issuers agree on it.
func (p Principal) PersonNames() []string {
	if p.Person == "" || !p.PersonSeen {
		return []string{folded(p.Subject)}
	}
	return []string{folded(p.Subject), folded(p.Person)}
}

// PersonName returns the form of a person's name in which [Principal.PersonNames] has it.
func PersonName(name string) string { return folded(name) }

// SamePerson reports whether p and q are known to be the same person, whoever acts for them. Two
// principals may be neither the same person nor known to be different persons.
func (p Principal) SamePerson(q Principal) bool { return common(p.names(), q.names()) }

// common reports whether two lists have the name of a person in common.
func common(a, b []string) bool {
	return slices.ContainsFunc(b, func(y string) bool {
		y = folded(y)
		return slices.ContainsFunc(a, func(x string) bool { return folded(x) == y })
	})
}

// folded returns the name of a person in the form in which issuers agree on it: names that differ in
// nothing but case are one person's.
func folded(person string) string {
	if !strings.ContainsFunc(person, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return strings.TrimSpace(strings.ToLower(person)) // the same, for many people at once
	}
	return strings.TrimSpace(norm.NFKC.String(cases.Fold().String(norm.NFKC.String(person))))
}

// source returns the name of the authenticator with which a subject begins; "": none.
func source(subject string) string {
	name, _, found := strings.Cut(folded(subject), ":")
	if !found {
		return ""
	}
	return name
}

// People are persons by name, each with the subjects that are theirs: "corp:alice", in any tenant, or
// "acme/corp:alice", in the tenant before the slash, which counts more.
type People map[string][]string

// Known returns p with the name of the person who has its subject. It is an error if the credential
// of p names another person: neither name would then cover all of its subjects.
func (of People) Known(p Principal) (Principal, error) {
	named := p.Person
	if name := of.nameOf(p.Tenant, p.Subject); name != "" {
		named, p.PersonSeen = name, true
	}
	if p.Person != "" && folded(p.Person) != folded(named) {
		return Principal{}, fmt.Errorf("%q is the person %q in auth.people, and %q in its credential: use one name", p.Subject, named, p.Person)
	}
	p.Person = named
	return p, nil
}

// Also returns a principal that was stored earlier, with the persons who have its subject, its person or a
// party of its chain now. They are in its chain, so that [Principal.Shares] counts them: no name that it had
// goes.
func (of People) Also(p Principal) Principal {
	for _, party := range p.involved() {
		if name := of.nameOf(p.Tenant, party); name != "" {
			p = p.With(Principal{Subject: name})
		}
	}
	return p
}

// nameOf returns the name of the person who has a subject; "": nobody.
func (of People) nameOf(tenant, subject string) (named string) {
	for name, subjects := range of {
		if tenant != "" && common(subjects, []string{tenant + "/" + subject}) {
			return name
		}
		if common(subjects, []string{subject}) {
			named = name
		}
	}
	return named
}
