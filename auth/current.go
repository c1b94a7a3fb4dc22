package auth

import (
	"context"
	"reflect"
	"slices"
)

// A Current returns who a stored principal, which decided something that counts still, is now: with the
// roles of now. The error is a *[WithdrawnError] if it may decide nothing any more; with any other, that
// is not known now. A Current is safe for concurrent use.
type Current func(ctx context.Context, was Principal) (Principal, error)

// WithdrawnError says why a principal may decide nothing any more.
type WithdrawnError struct {
	Why    string // such as "their API key has been revoked"
	Unseen bool   // only that they have not been seen lately
}

// Error implements error.
func (e *WithdrawnError) Error() string { return e.Why }

// Equal reports whether p and q are the same caller with the same rights. Authenticators need not
// return roles in an order; Expires and Email make no difference.
func (p Principal) Equal(q Principal) bool {
	p.Expires, p.Email = q.Expires, q.Email
	p.Roles, q.Roles = slices.Sorted(slices.Values(p.Roles)), slices.Sorted(slices.Values(q.Roles))
	return reflect.DeepEqual(p, q)
}
