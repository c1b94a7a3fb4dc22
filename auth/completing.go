package auth

import "context"

// Completing returns an Authenticator that lets complete add to the principals of a what the server
// knows, such as their person. The errors of complete follow the rules of [Authenticator].
func Completing(a Authenticator, complete func(context.Context, Principal) (Principal, error)) Authenticator {
	return &completing{a, complete}
}

type completing struct {
	inner    Authenticator
	complete func(context.Context, Principal) (Principal, error)
}

// Authenticate implements [Authenticator].
func (c *completing) Authenticate(ctx context.Context, credentials *Credentials) (Principal, error) {
	p, err := c.inner.Authenticate(ctx, credentials)
	if err != nil || p.IsZero() {
		return p, err
	}
	return c.complete(ctx, p)
}

// Challenges implements [Challenger].
func (c *completing) Challenges() []string { return ChallengesOf(c.inner) }
