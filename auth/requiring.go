package auth

import "context"

// Requiring returns an Authenticator that asks a about a request only if check returns nil.
// Otherwise its error is that of check, which follows the rules of [Authenticator]. changes
// says when check has to be asked again; nil: never.
func Requiring(check func(*Credentials) error, changes Changing, a Authenticator) Authenticator {
	return &wrapped{inner: a, check: check, changes: changes}
}

// Completing returns an Authenticator that lets complete add to the principals of a what the server
// knows, such as their person. The errors of complete follow the rules of [Authenticator].
func Completing(a Authenticator, complete func(context.Context, Principal) (Principal, error)) Authenticator {
	return &wrapped{inner: a, complete: complete}
}

type wrapped struct {
	inner    Authenticator
	check    func(*Credentials) error // nil: none
	changes  Changing                 // of check
	complete func(context.Context, Principal) (Principal, error)
}

// Authenticate implements [Authenticator].
func (w *wrapped) Authenticate(ctx context.Context, c *Credentials) (Principal, error) {
	if w.check != nil {
		if err := w.check(c); err != nil {
			return Principal{}, err
		}
	}
	p, err := w.inner.Authenticate(ctx, c)
	if err != nil || p.IsZero() || w.complete == nil {
		return p, err
	}
	return w.complete(ctx, p)
}

// Challenges implements [Challenger].
func (w *wrapped) Challenges() []string { return ChallengesOf(w.inner) }
