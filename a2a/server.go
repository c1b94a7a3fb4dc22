package a2a

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/rs/zerolog"

	v03 "a2a-server/a2a/v03"
	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/internal/keyring"
	"a2a-server/task/engine"
)

// ErrShutdown is the cause to cancel the contexts of requests with when the HTTP server
// shuts down. Streams then end with a comment, clients resume them with Last-Event-ID, and
// other requests get 503 (UNAVAILABLE).
var ErrShutdown = httpd.ErrStopping

// Config configures a [Server].
type Config struct {
	Engine *engine.Engine // required

	// Authenticator identifies callers; nil: every caller is auth.Anonymous.
	Authenticator auth.Authenticator

	// Incarnation is the store's. Event ids of another incarnation are ignored.
	Incarnation uint64

	Card Card // the operator's part of the agent card

	// Skills returns the skills of the card, for each request; nil: Card.Skills. It must be
	// quick, and the slice is not changed.
	Skills func() []Skill

	// SkillsOf returns the skills of the extended agent card, which are the skills that a
	// caller may use. It is called only with an Authenticator; nil: there is no extended card.
	SkillsOf func(ctx context.Context, by auth.Principal) ([]Skill, error)

	// Push says which webhooks clients may set for their tasks, for an Engine that has push
	// notifications, too; nil: the server has none.
	Push *Push

	// CardKeys signs the agent card and the extended card; the public keys are served at
	// [CardKeysPath]. It needs Card.URL. Nil: the cards are not signed.
	CardKeys *keyring.Signer

	Health string      // path of a health probe, named at the base URL; "": none
	Pages  string      // path of pages for people, where browsers at the base URL are sent; "": there are none
	Guard  httpd.Guard // where requests may come from
	Rates  httpd.Rates // how often

	// OnlyV1 switches A2A 0.3 off: its methods and paths, and its members of the agent card.
	OnlyV1 bool

	// StrictVersions treats a request that names no version of A2A as 0.3, as §3.6.2 says,
	// and refuses it if its method or path is of 1.0. Otherwise such a request has the
	// version of its method or path.
	StrictVersions bool

	MaxBody      int64         // bytes of a request. Defaults to 4 MiB.
	Bodies       int           // bytes of all large requests in progress. Defaults to 256 MiB, at least 4 × MaxBody.
	Streams      int           // open at once. Defaults to 10,000.
	Waiting      int           // sends that wait for their task at the same time. Defaults to 10,000.
	Heartbeat    time.Duration // of an idle stream. Defaults to 15 s.
	WriteTimeout time.Duration // for each write to a stream. Defaults to 30 s.
	ReadRate     int           // bytes a second at which a client must read an answer, measured over 10 s. Defaults to 64 KiB.

	// StreamsPerCaller and WaitingPerCaller are a caller's share of Streams and Waiting. They
	// default to a quarter.
	StreamsPerCaller, WaitingPerCaller int

	Log zerolog.Logger
	Now func() time.Time // Defaults to time.Now.
}

// Server serves A2A: JSON-RPC by POST at the base URL, HTTP+JSON below it, and the agent
// card. It is an http.Handler and safe for concurrent use. How long a request may take to
// arrive is up to the ReadTimeout of the http.Server.
type Server struct {
	cfg        Config
	prefix     string // path of the base URL, without a trailing slash
	escaped    string // likewise, as it is written
	ops        operations
	table      []operation
	methods    map[string]method  // by JSON-RPC name
	old        map[string]*legacy // the part of 0.3, by the operation's name; empty: none
	extensions extensions         // of the card
	reserved   []string           // tenants that no path can name
	streams    *httpd.Shares      // open streams
	requests   *httpd.Frontend
	echo       *echo.Echo
	signer     *cardSigner // of the card; nil: it is not signed
	made       time.Time   // of the server, and so of the card
	openAPI    string      // the document
	openAPITag string      // its ETag
}

// New returns a Server. It is an error if Engine is nil, or the card cannot be made.
func New(cfg Config) (*Server, error) {
	if cfg.Engine == nil {
		return nil, errors.New("a2a: a server needs an engine")
	}
	base, err := url.Parse(cfg.Card.URL)
	if err != nil {
		return nil, errors.New("a2a: the URL of the card cannot be read: write it as https://example.com/agent")
	}
	if err := errors.Join(cfg.Card.checkSecurity(), cfg.Card.CheckExtensions()); err != nil {
		return nil, err
	}
	cfg.Card.pushes = cfg.Push != nil
	cfg.MaxBody, cfg.Bodies = positive(cfg.MaxBody, 4<<20), positive(cfg.Bodies, 256<<20)
	cfg.Streams, cfg.Waiting = positive(cfg.Streams, 10_000), positive(cfg.Waiting, 10_000)
	cfg.Heartbeat, cfg.WriteTimeout = positive(cfg.Heartbeat, 15*time.Second), positive(cfg.WriteTimeout, 30*time.Second)
	cfg.ReadRate = positive(cfg.ReadRate, 64<<10)
	if len(cfg.Card.InputModes) == 0 {
		cfg.Card.InputModes = []string{"text/plain", "application/json"}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Guard.Linked = []string{"/", cardPath}
	s := &Server{
		cfg: cfg, prefix: strings.TrimSuffix(base.Path, "/"), escaped: strings.TrimSuffix(base.EscapedPath(), "/"), extensions: cfg.Card.extensionURIs(), echo: echo.New(), made: cfg.Now(),
		ops:     operations{cfg.Engine, httpd.NewShares("messages wait for their tasks", cfg.Waiting, cfg.WaitingPerCaller), cfg.Card.InputModes, cfg.Push},
		streams: httpd.NewShares("streams are open", cfg.Streams, cfg.StreamsPerCaller),
	}
	s.requests = httpd.New(httpd.Config{
		Authenticator: cfg.Authenticator, Guard: s.cfg.Guard, Rates: cfg.Rates, MaxBody: cfg.MaxBody, Bodies: cfg.Bodies,
		Media: []string{typeJSON, typeA2A}, ReadRate: cfg.ReadRate, Recheck: cfg.Heartbeat, Same: sameScope, Log: cfg.Log, Now: cfg.Now,
	})
	s.table = table()
	s.methods = methods(s.table)
	s.reserved = s.reservedTenants()
	if !cfg.OnlyV1 {
		s.old = legacies()
	}
	if s.openAPI, err = cfg.Card.described(); err != nil {
		return nil, err
	}
	s.openAPITag = etag([]byte(s.openAPI))
	s.echo.HTTPErrorHandler = s.httpError
	s.echo.Use(s.logged)
	onlyReads := func(c echo.Context) bool {
		return slices.Contains(cfg.Guard.ReadOrigins, c.Request().Header.Get("Origin"))
	}
	s.allowOrigins(cfg.Guard.Origins, onlyReads, http.MethodGet, http.MethodPost, http.MethodDelete)
	s.allowOrigins(cfg.Guard.ReadOrigins, func(c echo.Context) bool { return len(cfg.Guard.Origins) > 0 && !onlyReads(c) }, http.MethodGet)
	s.echo.POST("/", follows(s.jsonRPC))
	s.get("/", s.front)
	s.get(cardPath, s.card)
	s.get(openAPIPath, s.document)
	if cfg.Push != nil && cfg.Push.Keys != nil {
		s.get(KeysPath, keySet(s.cfg.Push.Keys))
	}
	if err := s.signCards(); err != nil {
		return nil, err
	}
	s.restRoutes()
	s.oldRoutes()
	return s, nil
}

// positive returns given, or usual if given is not positive.
func positive[N int | int64 | time.Duration](given, usual N) N {
	if given > 0 {
		return given
	}
	return usual
}

// get adds a path for GET and HEAD.
func (s *Server) get(path string, h echo.HandlerFunc) {
	s.echo.Match([]string{http.MethodGet, http.MethodHead}, path, h)
}

// cached answers with a body that caches may keep, or that it has not changed.
func cached(x echo.Context, media, control, tag string, modified time.Time, body io.ReadSeeker) {
	h := x.Response().Header()
	h.Set("Content-Type", media)
	h.Set("Cache-Control", control)
	h.Set("ETag", tag)
	httpd.Bound(x.Response())
	http.ServeContent(x.Response(), x.Request(), "", modified, body)
}

// Requests returns the parts that every handler mounted beside s shares with it:
// authentication, rate limits, bodies, answers, and the limit on open streams.
func (s *Server) Requests() (*httpd.Frontend, *httpd.Shares) { return s.requests, s.streams }

// allowOrigins answers the preflight requests of pages of origins for these methods (CORS). It
// never allows the credentials of a browser itself.
func (s *Server) allowOrigins(origins []string, skip func(echo.Context) bool, methods ...string) {
	if len(origins) == 0 {
		return
	}
	headers := []string{"Authorization", "Content-Type", "Accept", versionHeader, extensionsHeader, oldExtensionsHeader, "Last-Event-ID", "If-None-Match"}
	for _, scheme := range s.cfg.Card.Security {
		if scheme.Kind == SchemeAPIKey && !slices.ContainsFunc(headers, func(h string) bool { return strings.EqualFold(h, scheme.Header) }) {
			headers = append(headers, scheme.Header)
		}
	}
	s.echo.Use(middleware.CORSWithConfig(middleware.CORSConfig{
		Skipper: skip, AllowOrigins: origins, AllowMethods: methods, AllowHeaders: headers,
		ExposeHeaders: []string{extensionsHeader, oldExtensionsHeader, "ETag", "Retry-After", "WWW-Authenticate"},
		MaxAge:        600,
	}))
}

// Local returns r with its path relative to the base URL and decoded once, as the routes
// expect it. A proxy in front may strip the path of the base URL or leave it.
func (s *Server) Local(r *http.Request) *http.Request {
	path := r.URL.Path
	if rest, ok := strings.CutPrefix(path, s.prefix); ok && (rest == "" || rest[0] == '/') {
		path = "/" + strings.TrimPrefix(rest, "/")
	}
	if path == "" {
		path = "/" // http.StripPrefix has removed all of it
	}
	if path == r.URL.Path && r.URL.RawPath == "" {
		return r
	}
	local, at := *r, *r.URL
	at.Path, at.RawPath = path, "" // so that no route decodes it again
	local.URL = &at
	return &local
}

// hasEscapedSlash reports whether a path has an escaped slash after the base URL. No route has
// such a slash. Decoded, it would separate segments that a proxy in front reads as a single
// segment, and would so bypass the rules of the proxy.
func (s *Server) hasEscapedSlash(u *url.URL) bool {
	if u.RawPath == "" {
		return false // the usual form has none
	}
	path := u.EscapedPath()
	if n := len(s.escaped); len(path) >= n && strings.EqualFold(path[:n], s.escaped) {
		path = path[n:]
	}
	return strings.Contains(path, "%2F") || strings.Contains(path, "%2f")
}

// ServeHTTP serves a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	httpd.Begin(w, r)
	defer func() {
		httpd.Finish(w, r)
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler { //nolint:errorlint // the value itself is what net/http compares with
				s.cfg.Log.Error().Str("panic", clip(fmt.Sprint(p))).Bytes("stack", debug.Stack()).Str("path", clip(r.URL.Path)).Msg("request panicked")
			}
			panic(http.ErrAbortHandler) // the connection is in an unknown state
		}
	}()
	sent := r.URL
	r = s.Local(r)
	if wrong := s.refusal(r, sent); wrong != nil {
		writeError(w, r, wrong)
		return
	}
	s.echo.ServeHTTP(w, r)
}

// refusal returns the error of a request that no route is asked to serve; nil: there is none.
// sent is the URL as the client has written it.
func (s *Server) refusal(r *http.Request, sent *url.URL) *wireError {
	if wrong := s.cfg.Guard.Check(r); wrong != nil {
		return refusal(wrong)
	}
	if s.hasEscapedSlash(sent) {
		return transportError(http.StatusNotFound).saying("there is nothing at this path: write its slashes as they are, not as %2F")
	}
	if r.URL.RawQuery != "" {
		if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
			return errInvalidRequest.saying("the query cannot be read: separate parameters with &, and write %3B for a semicolon and %25 for a percent sign")
		}
	}
	return nil
}

// envelope is the frame of a binding around an answer or each event of a stream, and the media
// type of the answer.
type envelope struct {
	head  []byte
	tail  string
	media string
	fault func(*wireError) []byte // returns the last event of a stream that fails
	old   *legacy                 // of a request in A2A 0.3; nil: it is in 1.0
	form  v03.Form                // likewise
}

// serve runs an operation and writes the answer, or returns the stream that it has begun. It
// returns an error only if nothing has been written, for the caller to answer with.
func (s *Server) serve(c echo.Context, by auth.Principal, op *operation, in input, e envelope) (*stream, error) {
	var renew engine.Renewal
	if op.stream != nil || op.action == auth.Create {
		renew = s.requests.Renews(c.Request())
	}
	if op.stream != nil {
		return s.stream(c, by, op, renew, in, e)
	}
	return nil, s.reply(c, by, op, renew, in, e)
}

// reply runs an operation with one answer, and writes it.
func (s *Server) reply(c echo.Context, by auth.Principal, op *operation, renew engine.Renewal, in input, e envelope) error {
	ctx := c.Request().Context()
	if renew != nil { // it may wait as long as its task runs
		during, end := context.WithCancelCause(ctx)
		defer end(nil)
		defer s.requests.Lease(during, by, renew, end, op.action)()
		ctx = during
	}
	a := s.ops.engine.ReserveRead(by)
	defer a.Release()
	text, err := e.answer(s, ctx, op, call{by: by, bytes: len(in.json), answer: a, renew: renew, request: c.Request(), v03: e.old != nil}, in)
	a.Made()
	if errors.Is(context.Cause(ctx), httpd.ErrEnded) {
		return s.requests.Ended()
	}
	if err != nil {
		return err
	}
	if op.private {
		s.private(c.Response().Header())
	}
	return s.requests.Answer(c.Response(), e.media, append(text, e.tail...))
}

// logged logs each request after it has been answered.
func (s *Server) logged(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !s.cfg.Log.Debug().Enabled() { //nolint:zerologlint // nothing is logged here
			return next(c)
		}
		began := time.Now()
		if err := next(c); err != nil {
			c.Error(err) // answers, so that the status is known
		}
		s.cfg.Log.Debug().Str("method", clip(c.Request().Method)).Str("path", clip(c.Request().URL.Path)).Int("status", c.Response().Status).
			Dur("took_ms", time.Since(began)).Msg("request")
		return nil
	}
}

// httpError answers errors that no binding has answered: those of the router and the
// transport, for both bindings, and errors of the handlers of HTTP+JSON.
func (s *Server) httpError(err error, c echo.Context) {
	if c.Response().Committed {
		return // a body here would end up in the stream
	}
	var he *echo.HTTPError
	if errors.As(err, &he) {
		err = transportError(he.Code)
	}
	writeError(c.Response(), c.Request(), s.wire(c.Request().Context(), err, c.Path()))
}

// wire converts err to its form on the wire, and logs it if it is internal.
func (s *Server) wire(ctx context.Context, err error, method string) *wireError {
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), ErrShutdown) && !errors.As(err, new(*engine.RecordedError)) {
		err = ErrShutdown // whatever the store returned
	}
	w, known := toWire(err)
	if !known && ctx.Err() == nil {
		s.cfg.Log.Error().Err(err).Str("method", clip(method)).Msg("internal error")
	}
	return w
}

// sameScope reports whether two principals see the same tasks when they do an action.
func sameScope(a, b auth.Principal, action auth.Action) bool {
	return engine.ScopeFor(a, action) == engine.ScopeFor(b, action)
}

// admit returns the error to answer with if by has no role for an operation, or a required
// extension is not active. Every binding calls it before it reads anything for the operation,
// so that the error depends on nothing else.
func (s *Server) admit(by auth.Principal, op *operation, active []string) error {
	if err := by.May(op.action); err != nil {
		return err
	}
	return s.extensions.check(active)
}

// Refuse answers a request with an error as the server itself does: in the format of the
// request's binding, with the headers of every answer. It is for handlers next to a
// [Server]. status is the HTTP status; 503 adds Retry-After.
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, status int, message string) {
	httpd.Begin(w, r)
	defer httpd.Finish(w, r)
	writeError(w, s.Local(r), transportError(status).saying(message))
}

// WriteRefusal answers a request that [httpd] has refused, in the format of its binding.
func WriteRefusal(w http.ResponseWriter, r *http.Request, e *httpd.Error) {
	writeError(w, r, refusal(e))
}
