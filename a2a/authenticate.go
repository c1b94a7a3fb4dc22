package a2a

import (
	"errors"
	"net/http"
	"net/netip"

	"a2a-server/auth"
)

// principal returns who makes a request, or the error to answer it with.
func (s *Server) principal(r *http.Request) (auth.Principal, error) {
	if s.cfg.Authenticator == nil {
		return auth.Anonymous(), nil
	}
	by, err := s.cfg.Authenticator.Authenticate(r.Context(), credentialsOf(r))
	if err == nil && by.IsZero() {
		err = auth.ErrNone
	}
	if err == nil {
		err = by.Validate()
	}
	if err == nil {
		return by, nil
	}
	wrong, refused := errors.AsType[*auth.Error](err)
	switch {
	case refused && wrong == nil:
		err = errors.New("the Authenticator returned a nil *auth.Error as its error: return nil itself")
	case refused:
		return auth.Principal{}, unauthenticated(wrong).saying(wrong.Error())
	case errors.Is(err, auth.ErrNone):
		return auth.Principal{}, unauthenticated(&auth.Error{})
	}
	s.cfg.Log.Error().Err(err).Msg("a credential could not be checked")
	return auth.Principal{}, errBusy.saying("the credential cannot be checked at the moment: try again later")
}

// unauthenticated returns a 401 with its challenge (RFC 9110, section 11.6.1).
func unauthenticated(why *auth.Error) *wireError {
	e := transportError(http.StatusUnauthorized)
	e.challenge = why.Challenge()
	return e
}

func credentialsOf(r *http.Request) *auth.Credentials {
	remote, _ := netip.ParseAddrPort(r.RemoteAddr) // zero: unknown
	return &auth.Credentials{Header: r.Header.Values, TLS: r.TLS, Remote: remote}
}
