package httpd

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"a2a-server/auth"
)

// Principal returns the caller of a request, or the error to answer it with. It sets Vary in
// w, because the answer depends on the credential.
func (f *Frontend) Principal(w http.ResponseWriter, r *http.Request) (auth.Principal, error) {
	if f.cfg.Authenticator != nil {
		w.Header().Add("Vary", "Authorization")
	}
	return f.PrincipalBy(w, r, f.cfg.Authenticator)
}

// PrincipalBy is [Frontend.Principal] with an Authenticator in place of the listener's, which
// shares its rates.
func (f *Frontend) PrincipalBy(w http.ResponseWriter, r *http.Request, a auth.Authenticator) (auth.Principal, error) {
	if a == nil {
		err := take(f.rates, f.rates.source(CredentialsOf(r)))
		if err != nil {
			f.rates.slowDown(w, r, true /* known */)
		}
		return auth.Anonymous(), err
	}
	who, err := f.rates.authenticate(r.Context(), a, CredentialsOf(r))
	by, wrong := f.Check(who, err)
	if wrong != nil {
		if wrong.Status == http.StatusTooManyRequests {
			f.rates.slowDown(w, r, !who.IsZero())
		}
		return auth.Principal{}, wrong
	}
	return by, nil
}

// Check turns the result of an Authenticator into a principal or an error to answer with: 401
// for a missing or invalid credential, 503 for a credential that cannot be checked now.
func (f *Frontend) Check(by auth.Principal, err error) (auth.Principal, *Error) {
	if err == nil && by.IsZero() {
		err = auth.ErrNone
	}
	if err == nil {
		err = by.Validate()
	}
	if err == nil && by.IsPersona() {
		err = errors.New("the Authenticator returned the persona of a demo, who has no credential")
	}
	if err == nil && expired(by, f.cfg.Now()) {
		err = &auth.Error{Code: "invalid_token", Description: "the credential has expired: get another one"}
	}
	if err == nil {
		return by, nil
	}
	if many, is := errors.AsType[*Error](err); is { // of rates
		return auth.Principal{}, many
	}
	wrong, refused := errors.AsType[*auth.Error](err)
	switch {
	case refused && wrong == nil:
		err = errors.New("the Authenticator returned a nil *auth.Error as its error: return nil itself")
	case refused:
		return auth.Principal{}, f.unauthenticated(wrong)
	case errors.Is(err, auth.ErrNone):
		return auth.Principal{}, f.unauthenticated(nil)
	}
	if others, may := f.unchecked.may(f.cfg.Now()); may {
		f.cfg.Log.Error().Err(err).Int64("others", others).Msg("a credential could not be checked")
	}
	return auth.Principal{}, busy("the credential cannot be checked at the moment: try again later")
}

// unauthenticated returns a 401 with a challenge for each scheme (RFC 9110, section 11.6.1).
// why is the fault of the credential; nil: there is no credential.
func (f *Frontend) unauthenticated(why *auth.Error) *Error {
	e := &Error{Status: http.StatusUnauthorized}
	e.Challenges = auth.ChallengesOf(f.cfg.Authenticator)
	if why == nil {
		return e
	}
	e.Message = why.Error()
	own := *why
	if own.Scheme == "" && !slices.ContainsFunc(e.Challenges, isOf("Bearer")) {
		own.Scheme = authSchemeOf(e.Challenges[0]) // Bearer would be no help
	}
	challenge := own.Challenge()
	rest := slices.DeleteFunc(slices.Clone(e.Challenges), isOf(authSchemeOf(challenge)))
	e.Challenges = slices.Insert(rest, 0, challenge)
	return e
}

// authSchemeOf returns the scheme of a challenge.
func authSchemeOf(challenge string) string {
	scheme, _, _ := strings.Cut(challenge, " ")
	return scheme
}

// isOf returns a function that reports whether a challenge is of a scheme.
func isOf(scheme string) func(string) bool {
	return func(challenge string) bool { return strings.EqualFold(authSchemeOf(challenge), scheme) }
}

// CredentialsOf returns the parts of a request that authenticate its caller.
func CredentialsOf(r *http.Request) *auth.Credentials {
	remote, _ := netip.ParseAddrPort(r.RemoteAddr) // zero: unknown
	return &auth.Credentials{Header: r.Header.Values, TLS: r.TLS, Remote: remote}
}

// Renewal authenticates the caller of a request again.
type Renewal = func(context.Context) (auth.Principal, error)

// Renews returns a function that authenticates a request again, with the errors of
// [Frontend.Principal]. It returns nil without an Authenticator.
func (f *Frontend) Renews(r *http.Request) Renewal {
	if f.cfg.Authenticator == nil {
		return nil
	}
	c := CredentialsOf(r)
	c.Header = r.Header.Clone().Values
	return f.Verifies(func(ctx context.Context) (auth.Principal, error) { return f.cfg.Authenticator.Authenticate(ctx, c) })
}

// Verifies returns a Renewal that calls authenticate, with the errors of [Frontend.Principal].
func (f *Frontend) Verifies(authenticate func(context.Context) (auth.Principal, error)) Renewal {
	return func(ctx context.Context) (auth.Principal, error) {
		by, wrong := f.Check(authenticate(ctx))
		if wrong != nil {
			return auth.Principal{}, wrong
		}
		return by, nil
	}
}
