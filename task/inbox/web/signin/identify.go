package signin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/store"
	"a2a-server/task/inbox/api"
)

// Identify returns the caller of a request for a page, with a function that authenticates it
// again. For an unknown caller it answers the request itself: it redirects a person to the
// sign-in, and sends a script an error.
func (s *SignIn) Identify(w http.ResponseWriter, r *http.Request) (api.Caller, bool) {
	w.Header().Add("Vary", "Cookie")
	by, err := s.caller(w, r)
	if err != nil {
		s.refuse(w, r, err)
		return api.Caller{}, false
	}
	if s.cfg.Authenticator == nil {
		return api.Caller{By: by}, true
	}
	return api.Caller{By: by, Renew: s.renews(r)}, true
}

// caller returns the caller of a request.
func (s *SignIn) caller(w http.ResponseWriter, r *http.Request) (auth.Principal, error) {
	if s.cfg.Authenticator == nil {
		if s.unsafe(r) != "" {
			return auth.Principal{}, &httpd.Error{Status: http.StatusForbidden, Message: "This server has no authentication, so its pages open only on its own machine: for access from elsewhere, the operator sets auth, and tls.cert or, behind a proxy, public_url and trusted_proxies."}
		}
		return s.cfg.Requests.PrincipalBy(w, r, nil)
	}
	return s.cfg.Requests.PrincipalBy(w, r, auth.Func(func(ctx context.Context, c *auth.Credentials) (auth.Principal, error) {
		return s.authenticate(ctx, c, !strings.Contains(r.Header.Get("Accept"), "text/event-stream") /* used */)
	}))
}

// renews returns a function that authenticates a request again. That is no use of its session:
// an open page is not a person.
func (s *SignIn) renews(r *http.Request) httpd.Renewal {
	c := httpd.CredentialsOf(r)
	c.Header = r.Header.Clone().Values
	return s.cfg.Requests.Verifies(func(ctx context.Context) (auth.Principal, error) {
		return s.authenticate(ctx, c, false /* used */)
	})
}

// authenticate returns the principal of credentials. A credential of the request itself takes
// precedence over a session, so that a new name from a proxy takes effect.
func (s *SignIn) authenticate(ctx context.Context, c *auth.Credentials, used bool) (auth.Principal, error) {
	by, err := s.cfg.Authenticator.Authenticate(ctx, c)
	if err == nil && !by.IsZero() || err != nil && !errors.Is(err, auth.ErrNone) {
		return by, err
	}
	token, err := s.token(c)
	if err != nil {
		return auth.Principal{}, err
	}
	at, err := s.find(ctx, token)
	if errors.Is(err, errNoSession) {
		return auth.Principal{}, ended()
	}
	if err != nil {
		return auth.Principal{}, err
	}
	by, valid := s.current(ctx, &at.session)
	if !valid {
		if err := s.remove(ctx, at.owner(), at.key); err != nil && ctx.Err() == nil {
			s.cfg.Log.Warn().Err(err).Msg("an ended session cannot be removed now: it stays ended")
		}
		return auth.Principal{}, ended()
	}
	if used {
		s.touch(ctx, &at)
	}
	return by, nil
}

// ended returns the error of a session that does not count, or no longer.
func ended() error {
	return &auth.Error{Code: "invalid_token", Description: "the session has ended: sign in again"}
}

// current returns whom a session stands for now. valid is false if it has ended.
func (s *SignIn) current(ctx context.Context, v *session) (by auth.Principal, valid bool) {
	now := store.MillisOf(s.cfg.Now())
	if now < v.Created || now >= s.over(v) {
		return auth.Principal{}, false
	}
	by, latest := v.By, s.latest(v)
	switch v.Way {
	case wayKey:
		if s.cfg.Keys == nil {
			return auth.Principal{}, false
		}
		is, _, known := s.cfg.Keys.Holder(v.By.Subject)
		is = s.cfg.Complete(ctx, is)
		if !known || is.Mark != v.Mark || is.Tenant != v.By.Tenant {
			return auth.Principal{}, false
		}
		if !is.Expires.IsZero() {
			latest = min(latest, store.MillisOf(is.Expires))
		}
		by = is
	case wayOIDC:
		if i := s.issuer(v.Issuer); i == nil || i.Mark != v.Mark {
			return auth.Principal{}, false
		}
	default:
		return auth.Principal{}, false
	}
	by.Expires = latest.Time()
	return by, true
}

// issuer returns the issuer with a name; nil: there is none.
func (s *SignIn) issuer(name string) *Issuer {
	for n := range s.cfg.Issuers {
		if i := &s.cfg.Issuers[n]; i.Name == name {
			return i
		}
	}
	return nil
}

// refuse answers a request for a page without a known caller.
func (s *SignIn) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if s.wrong(err).Status != http.StatusUnauthorized {
		s.failed(w, r, err, Pages)
		return
	}
	why := ""
	if s.forget(w, r) {
		why = "&why=" + whyEnded
	}
	to := func(next string) string { return Path + "?next=" + url.QueryEscape(Local(next)) + why }
	switch mode := r.Header.Get("Sec-Fetch-Mode"); {
	case mode != "" && mode != "navigate", strings.Contains(r.Header.Get("Accept"), "text/event-stream"):
		http.Error(w, "The session has ended, and nothing was changed: sign in again at "+Path+".", http.StatusUnauthorized)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		s.redirect(w, to(r.URL.RequestURI()))
	default:
		s.redirect(w, to(s.from(r.Header.Get("Referer"))))
	}
}

// from returns the path, below the base URL, of the page that a request came from.
func (s *SignIn) from(page string) string {
	u, err := url.Parse(page)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.RequestURI(), s.prefix)
}

// withKey signs in with an API key.
func (s *SignIn) withKey(w http.ResponseWriter, r *http.Request) {
	if s.impossible(w, r) {
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 8<<10)
	if err := r.ParseForm(); err != nil {
		s.choose(w, r, http.StatusBadRequest, "The form could not be read: send it again.", Pages)
		return
	}
	httpd.BodyRead(w, r)
	next, key := Local(r.PostForm.Get("next")), strings.TrimSpace(r.PostForm.Get("key"))
	if s.cfg.Keys == nil || s.cfg.Authenticator == nil {
		s.choose(w, r, http.StatusForbidden, "This server has no API keys.", next)
		return
	}
	by, err := s.cfg.Requests.PrincipalBy(w, r, auth.Func(func(ctx context.Context, c *auth.Credentials) (auth.Principal, error) {
		return s.cfg.Authenticator.Authenticate(ctx, s.cfg.Keys.Presented(c, key))
	}))
	if err != nil {
		s.failed(w, r, err, next)
		return
	}
	s.enter(w, r, session{By: by, Way: wayKey, Mark: by.Mark}, next)
}

// enter begins a session and sends the browser on.
func (s *SignIn) enter(w http.ResponseWriter, r *http.Request, v session, next string) {
	if err := s.create(w, r, v); err != nil {
		s.cfg.Log.Error().Err(err).Msg("a session cannot be stored")
		s.choose(w, r, http.StatusServiceUnavailable, "You are not signed in: the server cannot write at the moment. Try again later.", next)
		return
	}
	s.redirect(w, next)
}
