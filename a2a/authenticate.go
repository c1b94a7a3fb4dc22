package a2a

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"a2a-server/auth"
	"a2a-server/task/engine"
)

// principal returns who makes a request, or the error to answer it with. It says in w that
// the answer depends on it.
func (s *Server) principal(w http.ResponseWriter, r *http.Request) (auth.Principal, error) {
	if s.cfg.Authenticator == nil {
		err := s.rates.anonymous(r)
		if err != nil {
			s.rates.slowDown(w, r, true /* known */)
		}
		return auth.Anonymous(), err
	}
	w.Header().Add("Vary", "Authorization")
	who, err := s.rates.authenticate(r.Context(), s.cfg.Authenticator, credentialsOf(r))
	by, wrong := s.verified(who, err)
	if wrong != nil {
		if wrong.status == http.StatusTooManyRequests {
			s.rates.slowDown(w, r, !who.IsZero())
		}
		return auth.Principal{}, wrong
	}
	return by, nil
}

// verified returns the principal that an Authenticator has returned, or the error that its
// error stands for: 401 for a credential that is missing or invalid, 503 for one that cannot
// be checked now.
func (s *Server) verified(by auth.Principal, err error) (auth.Principal, *wireError) {
	if err == nil && by.IsZero() {
		err = auth.ErrNone
	}
	if err == nil {
		err = by.Validate()
	}
	if err == nil && expired(by, s.cfg.Now()) {
		err = &auth.Error{Code: "invalid_token", Description: "the credential has expired: get another one"}
	}
	if err == nil {
		return by, nil
	}
	if many, is := errors.AsType[*wireError](err); is { // of rates
		return auth.Principal{}, many
	}
	wrong, refused := errors.AsType[*auth.Error](err)
	switch {
	case refused && wrong == nil:
		err = errors.New("the Authenticator returned a nil *auth.Error as its error: return nil itself")
	case refused:
		return auth.Principal{}, s.unauthenticated(wrong)
	case errors.Is(err, auth.ErrNone):
		return auth.Principal{}, s.unauthenticated(nil)
	}
	if others, may := s.unchecked.may(s.cfg.Now()); may {
		s.cfg.Log.Error().Err(err).Int64("others", others).Msg("a credential could not be checked")
	}
	return auth.Principal{}, errBusy.saying("the credential cannot be checked at the moment: try again later")
}

// unauthenticated returns a 401 with a challenge for each scheme (RFC 9110, section
// 11.6.1). why is what is wrong with the credential; nil: there is none.
func (s *Server) unauthenticated(why *auth.Error) *wireError {
	e := transportError(http.StatusUnauthorized)
	e.challenges = auth.ChallengesOf(s.cfg.Authenticator)
	if why == nil {
		return e
	}
	e.message = why.Error()
	own := *why
	if own.Scheme == "" && !slices.ContainsFunc(e.challenges, isOf("Bearer")) {
		own.Scheme = authSchemeOf(e.challenges[0]) // Bearer would be no help
	}
	challenge := own.Challenge()
	rest := slices.DeleteFunc(slices.Clone(e.challenges), isOf(authSchemeOf(challenge)))
	e.challenges = slices.Insert(rest, 0, challenge)
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

func credentialsOf(r *http.Request) *auth.Credentials {
	remote, _ := netip.ParseAddrPort(r.RemoteAddr) // zero: unknown
	return &auth.Credentials{Header: r.Header.Values, TLS: r.TLS, Remote: remote}
}

// allow returns the error to answer with if by has no role for an operation. Every binding
// calls it before it reads anything for the operation, so that the error depends on nothing
// else.
func allow(by auth.Principal, op *operation) error {
	if err := by.May(op.action); err != nil {
		return errDenied.saying(err.Error())
	}
	return nil
}

// renews returns a function that authenticates a request again; nil: nobody is
// authenticated. Its errors are those of [Server.principal].
func (s *Server) renews(r *http.Request) engine.Renewal {
	if s.cfg.Authenticator == nil {
		return nil
	}
	c := credentialsOf(r)
	c.Header = r.Header.Clone().Values
	return s.verifies(func(ctx context.Context) (auth.Principal, error) { return s.cfg.Authenticator.Authenticate(ctx, c) })
}

// verifies returns authenticate with the errors of [Server.principal].
func (s *Server) verifies(authenticate func(context.Context) (auth.Principal, error)) engine.Renewal {
	return func(ctx context.Context) (auth.Principal, error) {
		by, wrong := s.verified(authenticate(ctx))
		if wrong != nil {
			return auth.Principal{}, wrong
		}
		return by, nil
	}
}
