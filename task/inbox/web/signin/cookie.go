package signin

import (
	"net/http"
	"strings"
	"time"

	"a2a-server/auth"
	"a2a-server/internal/egress"
	"a2a-server/internal/httpd"
)

// The cookies. Over TLS their names begin with __Host-: a browser takes such a cookie from this
// host alone, and only over TLS.
const (
	sessionCookie = "a2a-session"
	flowCookie    = "a2a-signin"
	hostPrefix    = "__Host-"
)

// plain reports whether a request came from this machine without TLS, and from no proxy.
func (s *SignIn) plain(c *auth.Credentials) bool {
	return c.TLS == nil && c.Remote.Addr().Unmap().IsLoopback() && !s.cfg.Guard.IsProxy(c.Remote.Addr())
}

// name returns the full name of a cookie.
func (s *SignIn) name(c *auth.Credentials, cookie string) string {
	if s.plain(c) {
		return cookie
	}
	return hostPrefix + cookie
}

func (s *SignIn) set(w http.ResponseWriter, r *http.Request, cookie, value string, age time.Duration) {
	c := httpd.CredentialsOf(r)
	k := &http.Cookie{Name: s.name(c, cookie), Value: value, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: int(age.Seconds())}
	if s.plain(c) {
		k.Path, k.Secure = s.prefix+Pages, false
	}
	http.SetCookie(w, k)
}

func (s *SignIn) clear(w http.ResponseWriter, r *http.Request, cookie string) {
	s.set(w, r, cookie, "", -time.Second)
}

// forget removes the cookie of a session that is not valid. It reports whether there was a
// cookie.
func (s *SignIn) forget(w http.ResponseWriter, r *http.Request) bool {
	had := len(s.cookies(httpd.CredentialsOf(r), sessionCookie)) > 0
	if had {
		s.clear(w, r, sessionCookie)
	}
	return had
}

// cookies returns the values of a cookie.
func (s *SignIn) cookies(c *auth.Credentials, cookie string) (values []string) {
	r := http.Request{Header: http.Header{"Cookie": c.Header("Cookie")}}
	for _, k := range r.CookiesNamed(s.name(c, cookie)) {
		values = append(values, k.Value)
	}
	return values
}

// token returns the token of the session in a request; [auth.ErrNone]: there is none.
func (s *SignIn) token(c *auth.Credentials) (string, error) {
	switch values := s.cookies(c, sessionCookie); len(values) {
	case 0:
		return "", auth.ErrNone
	case 1:
		return values[0], nil
	}
	return "", &auth.Error{Code: "invalid_request", Description: "the request has several sessions: sign in again"}
}

// unsafe returns the reason why the connection of a request is not safe for a sign-in, with
// the settings that its operator changes, or "".
func (s *SignIn) unsafe(r *http.Request) string {
	if r.TLS != nil {
		return ""
	}
	c := httpd.CredentialsOf(r)
	if s.plain(c) {
		if egress.Loopback(strings.Trim(httpd.Hostname(r.Host), "[]")) && (s.cfg.Base == "" || egress.Loopback(s.base.Hostname())) {
			return ""
		}
		if s.base.Scheme == "https" {
			return "This request did not come through a trusted proxy, so signing in is disabled: the operator adds the address of the TLS proxy to trusted_proxies."
		}
	} else if s.cfg.Guard.IsProxy(c.Remote.Addr()) {
		if scheme, _ := s.cfg.Guard.Asked(r); scheme == "https" || s.base.Scheme == "https" && r.Header.Get("X-Forwarded-Proto") == "" {
			return ""
		}
	}
	return "The connection is not encrypted, so signing in is disabled: the operator sets tls.cert and tls.key, or sets public_url to an https URL and trusted_proxies to the proxy that serves it."
}
