package auth

import "context"

// Requiring returns an Authenticator that asks a about a request only if check returns nil.
// Otherwise its error is that of check, which follows the rules of [Authenticator]. changes
// says when check has to be asked again; nil: never.
func Requiring(check func(*Credentials) error, changes Changing, a Authenticator) Authenticator {
	return &requiring{check, changes, a}
}

type requiring struct {
	check   func(*Credentials) error
	changes Changing
	of      Authenticator
}

// Authenticate implements [Authenticator].
func (r *requiring) Authenticate(ctx context.Context, c *Credentials) (Principal, error) {
	if err := r.check(c); err != nil {
		return Principal{}, err
	}
	return r.of.Authenticate(ctx, c)
}

// Challenges implements [Challenger].
func (r *requiring) Challenges() []string { return ChallengesOf(r.of) }
