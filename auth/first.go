package auth

import (
	"context"
	"errors"
	"slices"
)

// A Challenger is an [Authenticator] with its own challenges for a caller without a
// credential.
type Challenger interface {
	// Challenges returns values of WWW-Authenticate (RFC 9110, section 11.6.1), at least one.
	Challenges() []string
}

// First returns an Authenticator that tries all of several. A request must have exactly one
// credential: a valid credential does not make up for an invalid one, and two valid ones of
// different kinds are [ErrTwo]. The first error other than [ErrNone] is returned.
func First(all ...Authenticator) Authenticator { return first(all) }

type first []Authenticator

// ErrTwo is the error of a request with credentials of two kinds.
var ErrTwo = &Error{Code: "invalid_request", Description: "the request has credentials of more than one kind: send one"}

// Authenticate implements [Authenticator].
func (f first) Authenticate(ctx context.Context, c *Credentials) (Principal, error) {
	var found Principal
	for _, a := range f {
		by, err := a.Authenticate(ctx, c)
		if err == nil && by.IsZero() {
			err = ErrNone
		}
		switch {
		case errors.Is(err, ErrNone):
		case err != nil:
			return Principal{}, err
		case !found.IsZero():
			return Principal{}, ErrTwo
		default:
			found = by
		}
	}
	if found.IsZero() {
		return Principal{}, ErrNone
	}
	return found, nil
}

// Challenges implements [Challenger]. It returns the challenges of all, without duplicates.
func (f first) Challenges() []string {
	var all []string
	for _, a := range f {
		for _, challenge := range ChallengesOf(a) {
			if !slices.Contains(all, challenge) {
				all = append(all, challenge)
			}
		}
	}
	return all
}

// ChangingOf returns every [Changing] in an Authenticator, including the parts of a [First],
// [Requiring] or [Completing].
func ChangingOf(a Authenticator) []Changing {
	var all []Changing
	switch a := a.(type) {
	case first:
		for _, one := range a {
			all = append(all, ChangingOf(one)...)
		}
	case *wrapped:
		all = ChangingOf(a.inner)
		if a.changes != nil {
			all = append(all, a.changes)
		}
	case Changing:
		all = append(all, a)
	}
	return all
}

// ChallengesOf returns the challenges of an Authenticator; Bearer if it names none.
func ChallengesOf(a Authenticator) []string {
	if c, ok := a.(Challenger); ok {
		if all := c.Challenges(); len(all) > 0 {
			return all
		}
	}
	return []string{"Bearer"}
}
