// Package oidc authenticates callers by the tokens of OpenID Connect providers: JWTs in
// `Authorization: Bearer`, as RFC 6750 and RFC 9068 define them. It owns the rules for valid
// tokens and the mapping of their claims to the [auth.Principal]. It does not know how a user
// gets a token.
//
// A token belongs to the issuer that its `iss` names, and to no other. Its signature is
// verified with the keys that this issuer publishes (keys.go). All requirements on a token are
// checked here, because a verifier for ID tokens, such as go-oidc's, accepts tokens without a
// subject and ID tokens in place of access tokens.
//
// Unless its principal is remembered, a token costs a verification of its signature, about 100
// µs. The principal of a valid token is remembered for at most a minute (cache.go).
package oidc

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"a2a-server/auth"
	"a2a-server/internal/visible"
)

// Method is the [auth.Principal.Method] of a caller with a token.
const Method = "oidc"

// remembered is how long a verified token is not verified again, if it does not expire
// before.
const remembered = time.Minute

// An Authenticator authenticates callers by tokens of several issuers. It implements
// [auth.Authenticator] and [auth.Challenger], and is safe for concurrent use.
type Authenticator struct {
	issuers map[string]*issuer // by the exact value of `iss`
	now     func() time.Time
	cache   cache
}

// New returns an Authenticator for the tokens of several issuers. No issuer is contacted
// before its first token arrives, so an unreachable issuer does not keep a server from
// starting. The error lists all problems of all configurations. The first configuration's Now
// is the clock for all.
func New(issuers ...Config) (*Authenticator, error) {
	a := &Authenticator{issuers: map[string]*issuer{}, now: time.Now}
	var errs []error
	names := map[string]bool{}
	for n, c := range issuers {
		if err := c.validate(); err != nil {
			errs = append(errs, err)
			continue
		}
		c = c.withDefaults()
		if n == 0 {
			a.now = c.Now
		}
		if names[c.Name] {
			errs = append(errs, fmt.Errorf("oidc %s: the name is used twice: subjects of two issuers would be the same; choose another", c.Name))
		}
		if a.issuers[c.Issuer] != nil {
			errs = append(errs, fmt.Errorf("oidc %s: issuer %s is configured twice: list its audiences in one entry", c.Name, c.Issuer))
		}
		names[c.Name] = true
		a.issuers[c.Issuer] = &issuer{Config: c, keys: newKeySet(&c), code: newCodeFlow()}
	}
	if len(issuers) == 0 {
		errs = append(errs, errors.New("oidc: no issuer is configured; add one"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return a, nil
}

// Authenticate implements [auth.Authenticator]. A request without a bearer token gets
// [auth.ErrNone]; an invalid token, also of an issuer that is not configured, an
// [*auth.Error]; any other error means that the keys of the issuer are not known.
func (a *Authenticator) Authenticate(ctx context.Context, c *auth.Credentials) (auth.Principal, error) {
	raw, err := bearer(c.Header)
	if err != nil {
		return auth.Principal{}, err
	}
	now, sum := a.now(), sha256.Sum256([]byte(raw))
	if p, ok := a.cache.get(sum, now); ok {
		return p, nil
	}
	t, err := read(raw)
	if err != nil {
		return auth.Principal{}, err
	}
	from := a.issuers[t.issuer]
	if from == nil {
		return auth.Principal{}, refuse("the token is of an issuer that this server does not accept: get one from another issuer")
	}
	p, err := from.authenticate(ctx, t, false, now)
	if err != nil {
		return auth.Principal{}, err
	}
	until := now.Add(remembered)
	if p.Expires.Before(until) {
		until = p.Expires
	}
	a.cache.put(sum, p, until)
	return p, nil
}

// Challenges implements [auth.Challenger].
func (a *Authenticator) Challenges() []string { return []string{`Bearer realm="a2a-server"`} }

// refuse returns the error of a token that is not valid (RFC 6750, section 3.1).
func refuse(format string, args ...any) error {
	return &auth.Error{Code: "invalid_token", Description: fmt.Sprintf(format, args...)}
}

// issuer is a provider of tokens.
type issuer struct {
	Config

	keys *keySet
	code *codeFlow
}

// authenticate returns the principal of a token of this issuer. The cheap checks come first,
// so that only an otherwise valid token makes the server fetch keys.
func (i *issuer) authenticate(ctx context.Context, t *token, signedIn bool, now time.Time) (auth.Principal, error) {
	if !slices.Contains(i.Algorithms, t.algorithm) {
		return auth.Principal{}, refuse("the token is signed with %s, which this server does not accept: accepted are %v", visible.Quote(t.algorithm, 20), i.Algorithms)
	}
	if err := i.checkType(t); err != nil {
		return auth.Principal{}, err
	}
	if err := i.checkUse(t, now); err != nil {
		return auth.Principal{}, err
	}
	p, err := i.principal(t, signedIn)
	if err != nil {
		return auth.Principal{}, err
	}
	if _, err := i.verify(ctx, t, now); err != nil {
		return auth.Principal{}, err
	}
	return p, nil
}

// verify verifies the signature of a token whose claims have been checked.
func (i *issuer) verify(ctx context.Context, t *token, now time.Time) (*oidc.IDToken, error) {
	keys, err := i.keys.find(ctx, t.keyID)
	if err != nil {
		return nil, fmt.Errorf("oidc %s: keys of %s: %w", i.Name, i.Issuer, err)
	}
	if len(keys) == 0 {
		return nil, refuse("the issuer does not publish the key %s that signed the token: get a new token", visible.Quote(t.keyID, 80))
	}
	// The keys are known, so the only errors left are faults of the token. SkipClientIDCheck:
	// the audience was checked before, and an access token's audience is no client.
	signed := &signers{keys: keys, token: t}
	verifier := oidc.NewVerifier(i.Issuer, signed, &oidc.Config{
		SkipClientIDCheck: true, SupportedSigningAlgs: i.Algorithms, Now: func() time.Time { return now },
	})
	verified, err := verifier.Verify(ctx, t.raw)
	switch {
	case err != nil && signed.verified:
		return nil, refuse("a claim of the token is not of the type that it should be")
	case err != nil:
		return nil, refuse("the signature of the token is invalid: get a new token")
	}
	return verified, nil
}
