package oidc

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"a2a-server/auth"
	"a2a-server/internal/visible"
)

// CodeFlow has the parameters of an issuer's authorization code flow (OpenID Connect Core,
// section 3.1; RFC 6749, section 4.1).
type CodeFlow struct {
	Issuer               string // as in Config
	Authorization, Token string // URLs
	Post                 bool   // the issuer takes the client's secret in the body only
	NamesItself          bool   // the issuer adds iss to its answer (RFC 9207)
	Client               *http.Client
}

// codeFlow remembers a CodeFlow. A goroutine that has sent to taken may use the other fields.
type codeFlow struct {
	taken chan struct{}
	known CodeFlow
	err   error
	until time.Time // when the issuer is asked again
}

func newCodeFlow() *codeFlow { return &codeFlow{taken: make(chan struct{}, 1)} }

// CodeFlow returns the code flow of the issuer with a name. It asks the issuer at most every
// half hour or, if that fails, every 30 seconds.
func (a *Authenticator) CodeFlow(ctx context.Context, name string) (CodeFlow, error) {
	i := a.named(name)
	if i == nil {
		return CodeFlow{}, fmt.Errorf("oidc: unknown issuer %.100q", name)
	}
	t := i.code
	select {
	case t.taken <- struct{}{}:
		defer func() { <-t.taken }()
	case <-ctx.Done():
		return CodeFlow{}, context.Cause(ctx)
	}
	if now := a.now(); !now.Before(t.until) {
		t.known, t.err = i.discoverCode(ctx)
		t.until = now.Add(keysRenewed)
		if t.err != nil {
			t.until = now.Add(fetchPause)
			if ctx.Err() != nil {
				t.until = time.Time{} // it may not be the issuer's fault
			}
		}
	}
	return t.known, t.err
}

func (i *issuer) discoverCode(ctx context.Context) (CodeFlow, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	document, at, err := i.keys.metadata(ctx)
	if err != nil {
		return CodeFlow{}, fmt.Errorf("oidc %s: %w", i.Name, err)
	}
	f := CodeFlow{Issuer: i.Issuer, Client: &i.keys.client}
	for name, to := range map[string]*string{"authorization_endpoint": &f.Authorization, "token_endpoint": &f.Token} {
		text, _ := document[name].(string)
		u, err := url.Parse(text)
		if err == nil && u.Host != "" && u.Fragment == "" {
			u.RawQuery = "" // which endpoints may have
			err = checkURL(u.String())
		}
		if err != nil || text == "" || u.Host == "" || u.Fragment != "" {
			return CodeFlow{}, fmt.Errorf("oidc %s: %s: %s is %.200q, which is not an https URL: signing in needs an https URL", i.Name, at, name, text)
		}
		*to = text
	}
	if methods := texts(document["token_endpoint_auth_methods_supported"]); len(methods) > 0 {
		f.Post = !slices.Contains(methods, "client_secret_basic")
	}
	f.NamesItself, _ = document["authorization_response_iss_parameter_supported"].(bool)
	return f, nil
}

// named returns the issuer with a name; nil: there is none.
func (a *Authenticator) named(name string) *issuer {
	for _, i := range a.issuers {
		if i.Name == name {
			return i
		}
	}
	return nil
}

// SignIn is an issuer's answer to a code.
type SignIn struct {
	ClientID, Nonce      string // of the request
	IDToken, AccessToken string
	// ByAccess takes the caller from the access token, not from the ID token. The access token
	// must be valid for this server.
	ByAccess bool
}

// SignIn returns the principal that signed in at the issuer with a name, from the claims of
// the ID token or the access token, as for a bearer token. The errors are the same as those of
// [Authenticator.Authenticate].
func (a *Authenticator) SignIn(ctx context.Context, name string, s SignIn) (auth.Principal, error) {
	i := a.named(name)
	if i == nil {
		return auth.Principal{}, refuse("the issuer is not configured: sign in with another one")
	}
	t, err := i.readOwn(s.IDToken)
	if err != nil {
		return auth.Principal{}, err
	}
	now := a.now()
	if err := i.checkID(t, &s, now); err != nil {
		return auth.Principal{}, err
	}
	by := auth.Principal{}
	if !s.ByAccess {
		if by, err = i.principal(t, true); err != nil {
			return auth.Principal{}, err
		}
	}
	verified, err := i.verify(ctx, t, now)
	if err != nil || !s.ByAccess {
		return by, err
	}
	if verified.AccessTokenHash != "" && verified.VerifyAccessToken(s.AccessToken) != nil {
		return auth.Principal{}, refuse("the access token does not belong to the ID token: sign in again")
	}
	access, err := i.readOwn(s.AccessToken)
	if err != nil {
		return auth.Principal{}, err
	}
	if access.claims["sub"] != t.claims["sub"] {
		return auth.Principal{}, refuse("the access token is for somebody else than the ID token: sign in again")
	}
	return i.authenticate(ctx, access, true, now)
}

// readOwn reads a token that has to be of this issuer.
func (i *issuer) readOwn(raw string) (*token, error) {
	if len(raw) > maxToken {
		return nil, refuse("the token is longer than 16 KiB: get one with fewer claims")
	}
	t, err := read(raw)
	if err == nil && t.issuer != i.Issuer {
		return nil, refuse("the token is of another issuer than the one that was asked")
	}
	return t, err
}

// checkID returns an error unless t is an ID token for this sign-in (OpenID Connect Core,
// section 3.1.3.7). The signature is not checked.
func (i *issuer) checkID(t *token, s *SignIn, now time.Time) error {
	audiences := texts(t.claims["aud"])
	azp, named := t.claims["azp"]
	nonce, _ := t.claims["nonce"].(string)
	switch {
	case !slices.Contains(i.Algorithms, t.algorithm):
		return refuse("the ID token is signed with %s, which this server does not accept: accepted are %v", visible.Quote(t.algorithm, 20), i.Algorithms)
	case t.kind != "" && t.kind != plainTokenType:
		return refuse("the ID token is of type %s, so it is another token", visible.Quote(t.kind, 40))
	case !slices.Contains(audiences, s.ClientID), len(audiences) > 1 && !named, named && azp != s.ClientID:
		return refuse("the ID token is for another client")
	case s.Nonce == "" || subtle.ConstantTimeCompare([]byte(nonce), []byte(s.Nonce)) != 1:
		return refuse("the ID token is of another sign-in: sign in again")
	}
	return t.checkTimes(now)
}
