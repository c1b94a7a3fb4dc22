package signin

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/auth/oidc"
	"a2a-server/internal/httpd"
	"a2a-server/store"
)

// The paths, below the base URL.
const (
	Pages        = "/ui" // of the pages that a session is for
	Path         = Pages + "/signin"
	startPath    = Path + "/start"
	callbackPath = Path + "/callback"
	OutPath      = Pages + "/signout"
)

// Config configures a [SignIn]. Requests, Store, Render and Now are required.
type Config struct {
	Requests      *httpd.Frontend
	Guard         httpd.Guard        // its Origins have that of Base
	Authenticator auth.Authenticator // the server's; nil: all callers are [auth.Anonymous]

	Keys    *apikey.Authenticator // nil: there are no API keys
	OIDC    *oidc.Authenticator   // of Issuers
	Issuers []Issuer
	// Complete adds to a principal the defaults of the server's Authenticator, such as a
	// default tenant; nobody, if they are not known. Required with Keys or OIDC.
	Complete func(context.Context, auth.Principal) auth.Principal
	Other    []string // sentences about other ways to sign in

	Store store.Store
	// Base is the URL at which browsers reach the server, without a trailing slash. Empty: it
	// is unknown, and no sign-in at an issuer is possible. Links are never made from the Host
	// of a request.
	Base string

	Idle     time.Duration // after which an unused session ends. Defaults to 1 h.
	Lifetime time.Duration // of any session. Defaults to 12 h.
	// Render writes the page for signing in.
	Render func(w http.ResponseWriter, r *http.Request, status int, p Page)
	Log    zerolog.Logger
	Now    func() time.Time
}

// An Issuer is an issuer at which people sign in.
type Issuer struct {
	Name     string // as in Config.OIDC
	ClientID string
	Secret   func(context.Context) (string, error) // nil: a public client
	Scopes   []string                              // beside openid
	ByAccess bool                                  // see [oidc.SignIn]
	// Mark changes with the configuration of the issuer's callers. A session with another mark
	// has ended.
	Mark string
}

// SignIn identifies the callers of pages. It is safe for concurrent use.
type SignIn struct {
	cfg     Config
	base    *url.URL // Base
	prefix  string   // its path
	handler http.Handler
}

// New returns a SignIn.
func New(cfg Config) *SignIn {
	cfg.Idle, cfg.Lifetime = cmp.Or(cfg.Idle, time.Hour), cmp.Or(cfg.Lifetime, 12*time.Hour)
	s := &SignIn{cfg: cfg, base: &url.URL{}}
	if u, err := url.Parse(cfg.Base); err == nil { // its caller has checked it
		s.base, s.prefix = u, u.EscapedPath()
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path, s.show)
	mux.HandleFunc("POST "+Path, s.withKey)
	mux.HandleFunc("GET "+startPath, s.start)
	mux.HandleFunc("GET "+callbackPath, s.callback)
	mux.HandleFunc("POST "+OutPath, s.out)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.page(w, r, http.StatusNotFound, Page{Problem: "This address has no page: begin at the sign-in."})
	})
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpd.Begin(w, r)
		defer httpd.Finish(w, r)
		w.Header().Add("Vary", "Cookie")
		if wrong := cfg.Guard.Check(r); wrong != nil {
			s.page(w, r, wrong.Status, Page{Problem: wrong.Error()})
			return
		}
		mux.ServeHTTP(w, r)
	})
	return s
}

// Handler serves [Path], everything below it, and [OutPath]. Requests arrive with paths relative
// to the base URL.
func (s *SignIn) Handler() http.Handler { return s.handler }

// show answers with the page for signing in, or, if the caller is known, sends it on.
func (s *SignIn) show(w http.ResponseWriter, r *http.Request) {
	next, why := Local(r.URL.Query().Get("next")), r.URL.Query().Get("why")
	by, err := s.caller(w, r)
	switch {
	case err == nil && why == whyOut:
		s.page(w, r, http.StatusOK, Page{Message: "Your session has ended. You are still signed in as " + by.Subject + ", because your browser or a proxy identifies you with each request.", Next: next})
	case err == nil:
		s.redirect(w, next)
	case s.wrong(err).Status != http.StatusUnauthorized:
		s.failed(w, r, err, next)
	default:
		s.forget(w, r)
		s.choose(w, r, http.StatusOK, messages[why], next)
	}
}

// Reasons for showing the page.
const (
	whyEnded = "ended"
	whyOut   = "out"
)

var messages = map[string]string{
	whyEnded: "Your session has ended: sign in again. If you were about to change something, nothing was changed.",
	whyOut:   "You are signed out.",
}

// out ends the session.
func (s *SignIn) out(w http.ResponseWriter, r *http.Request) {
	if err := s.end(r); err != nil {
		s.cfg.Log.Error().Err(err).Msg("a session cannot be ended")
		s.page(w, r, http.StatusServiceUnavailable, Page{Problem: "You are not signed out: the server cannot write at the moment. Try again."})
		return
	}
	s.clear(w, r, sessionCookie)
	s.redirect(w, Path+"?why="+whyOut)
}

// redirect sends a browser to a path below the base URL.
func (s *SignIn) redirect(w http.ResponseWriter, path string) {
	w.Header().Set("Location", s.prefix+path)
	w.WriteHeader(http.StatusSeeOther)
}

// maxNext bounds the path that a person is sent to after signing in.
const maxNext = 1024

// Local returns next if it is the path of a page, perhaps with a query, and otherwise the path
// of the first page. It never leads to another site, or to sign out.
func Local(next string) string {
	u, err := url.ParseRequestURI(next)
	clean := func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }
	switch {
	case err != nil, len(next) > maxNext, strings.ContainsFunc(next, clean),
		u.Scheme != "", u.Host != "", u.User != nil, u.Opaque != "",
		u.Path != Pages && !strings.HasPrefix(u.Path, Pages+"/"),
		strings.Contains(u.Path, "//"), slices.ContainsFunc(strings.Split(u.Path, "/"), func(s string) bool { return s == "." || s == ".." }), strings.ContainsFunc(u.Path, clean),
		strings.HasPrefix(u.Path, Path), u.Path == OutPath:
		return Pages
	}
	// A sign-in comes between a link and its page, which then looks as if a page of the server had
	// led to it. So what a link may have prepared goes.
	switch q := u.Query(); {
	case u.Path == Pages+"/batch":
		return Pages
	case u.Path == Pages+"/try", q.Has("do"):
		u.RawQuery = url.Values{"task": q["task"]}.Encode()
	}
	return u.RequestURI()
}
