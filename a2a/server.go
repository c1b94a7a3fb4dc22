package a2a

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"a2a-server/a2a/agentcard"
	"a2a-server/a2a/internal/binding"
	"a2a-server/a2a/internal/card"
	"a2a-server/a2a/internal/grpc"
	"a2a-server/a2a/internal/jsonrpc"
	"a2a-server/a2a/internal/operation"
	"a2a-server/a2a/internal/rest"
	"a2a-server/a2a/internal/wire"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
)

// Server serves A2A: JSON-RPC by POST at the base URL, HTTP+JSON below it, and the agent
// card. It is an http.Handler and safe for concurrent use. How long a request may take to
// arrive is up to the ReadTimeout of the http.Server. When that shuts down, cancel the contexts of its
// requests with [httpd.ErrStopping]: streams then end with a comment, and clients resume them with Last-Event-ID.
type Server struct {
	cfg        Config // with its defaults
	service    *operation.Service
	prefix     string // path of the base URL, without a trailing slash
	escaped    string // likewise, as it is written
	echo       *echo.Echo
	made       time.Time // of the server, and so of the card
	openAPI    string    // the document
	openAPITag string    // its ETag
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
	cfg = cfg.withDefaults()
	s := &Server{
		cfg: cfg, prefix: strings.TrimSuffix(base.Path, "/"), escaped: strings.TrimSuffix(base.EscapedPath(), "/"),
		echo: echo.New(), made: cfg.Now(),
	}
	if s.service, err = cfg.service(); err != nil {
		return nil, err
	}
	s.openAPI = described(cfg.Card.Security)
	s.openAPITag = etag([]byte(s.openAPI))
	s.echo.HTTPErrorHandler = s.httpError
	s.echo.Use(s.logged)
	guard := &cfg.Guard
	onlyReads := func(c echo.Context) bool {
		return slices.Contains(guard.ReadOrigins, c.Request().Header.Get("Origin"))
	}
	s.allowOrigins(guard.Origins, onlyReads, http.MethodGet, http.MethodPost, http.MethodDelete)
	s.allowOrigins(guard.ReadOrigins, func(c echo.Context) bool { return len(guard.Origins) > 0 && !onlyReads(c) }, http.MethodGet)
	s.get("/", s.front)
	s.get(card.Path, s.card)
	s.get(operation.OpenAPIPath, s.document)
	if cfg.Push != nil && cfg.Push.Keys != nil {
		s.get(keysPath, keySet(cfg.Push.Keys))
	}
	if cfg.CardKeys != nil {
		s.get(card.KeysPath, keySet(cfg.CardKeys.KeySet))
	}
	rpc := jsonrpc.New(s.service)
	s.echo.POST("/", binding.Follows(rpc.Serve))
	rest.New(s.service, rpc).Route(s.echo)
	return s, nil
}

// service returns the operations of a server.
func (c *Config) service() (*operation.Service, error) {
	cards := card.Config{Card: c.Card, Pushes: c.Push != nil, Skills: c.Skills, Keys: c.CardKeys}
	if c.Authenticator != nil {
		cards.SkillsOf = c.SkillsOf
	}
	made, err := card.New(cards)
	if err != nil {
		return nil, err
	}
	requests := httpd.New(httpd.Config{
		Authenticator: c.Authenticator, Guard: c.Guard, Rates: c.Rates, MaxBody: c.MaxBody, Bodies: c.Bodies,
		Media: []string{wire.TypeJSON, wire.TypeA2A}, ReadRate: c.ReadRate, Recheck: c.Heartbeat, Same: engine.SameScope, Log: c.Log, Now: c.Now,
	})
	return operation.New(operation.Config{
		Engine: c.Engine, Incarnation: c.Incarnation, Requests: requests,
		Streams: httpd.NewShares("streams are open", c.Streams, c.StreamsPerCaller),
		Waiting: httpd.NewShares("messages wait for their tasks", c.Waiting, c.WaitingPerCaller),
		Cards:   made, Base: operation.BaseURL{Card: c.Card.URL, Guard: c.Guard}, InputModes: c.Card.InputModes, Security: c.Card.Security, Extensions: c.Card.AllExtensions(),
		Push: c.Push, Health: c.Health, OnlyV1: c.OnlyV1, StrictVersions: c.StrictVersions, MaxBody: c.MaxBody,
		Beat: c.Beat, Heartbeat: c.Heartbeat, WriteTimeout: c.WriteTimeout, ReadRate: c.ReadRate,
		Requested: c.Requested, Failed: c.Failed, Log: c.Log,
	}), nil
}

// get adds a path for GET and HEAD.
func (s *Server) get(path string, h echo.HandlerFunc) {
	s.echo.Match([]string{http.MethodGet, http.MethodHead}, path, h)
}

// Requests returns the parts that every handler mounted beside s shares with it:
// authentication, rate limits, bodies, responses, and the limit on open streams.
func (s *Server) Requests() (*httpd.Frontend, *httpd.Shares) {
	return s.service.Requests, s.service.Streams
}

// allowOrigins answers the preflight requests of pages of origins for these methods (CORS). It
// never allows the credentials of a browser itself.
func (s *Server) allowOrigins(origins []string, skip func(echo.Context) bool, methods ...string) {
	if len(origins) == 0 {
		return
	}
	headers := []string{"Authorization", "Content-Type", "Accept", operation.VersionHeader, operation.ExtensionsHeader, operation.OldExtensionsHeader, "Last-Event-ID", "If-None-Match"}
	for _, scheme := range s.cfg.Card.Security {
		if scheme.Kind == agentcard.SchemeAPIKey && !slices.ContainsFunc(headers, func(h string) bool { return strings.EqualFold(h, scheme.Header) }) {
			headers = append(headers, scheme.Header)
		}
	}
	s.echo.Use(middleware.CORSWithConfig(middleware.CORSConfig{
		Skipper: skip, AllowOrigins: origins, AllowMethods: methods, AllowHeaders: headers,
		ExposeHeaders: []string{operation.ExtensionsHeader, operation.OldExtensionsHeader, "ETag", "Retry-After", "WWW-Authenticate"},
		MaxAge:        600,
	}))
}

// Local returns r with its path relative to the base URL and decoded once, as the routes
// expect it. A proxy in front may strip the path of the base URL or leave it.
func (s *Server) Local(r *http.Request) *http.Request {
	path := r.URL.Path
	if rest, ok := strings.CutPrefix(path, s.prefix); ok && (rest == "" || rest[0] == '/') {
		path = rest
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
	defer httpd.End(w, r, s.cfg.Log)
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
func (s *Server) refusal(r *http.Request, sent *url.URL) *wire.Error {
	if wrong := s.cfg.Guard.Check(r); wrong != nil {
		return wire.Refused(wrong)
	}
	if s.hasEscapedSlash(sent) {
		return wire.Transport(http.StatusNotFound).Saying("there is nothing at this path: write its slashes as they are, not as %2F")
	}
	if r.URL.RawQuery != "" {
		if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
			return wire.ErrInvalidRequest.Saying("the query cannot be read: separate parameters with &, and write %3B for a semicolon and %25 for a percent sign")
		}
	}
	return nil
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
		s.cfg.Log.Debug().Str("method", wire.Clip(c.Request().Method)).Str("path", wire.Clip(c.Request().URL.Path)).Int("status", c.Response().Status).
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
		err = wire.Transport(he.Code)
	}
	writeError(c.Response(), c.Request(), s.service.WireError(c.Request().Context(), err, c.Path()))
}

// Refuse answers a request with an error as the server itself does: in the format of the
// request's binding, with the headers of every response. It is for handlers next to a
// [Server]. status is the HTTP status; 503 adds Retry-After.
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, status int, message string) {
	httpd.Begin(w, r)
	defer httpd.Finish(w, r)
	writeError(w, s.Local(r), wire.Transport(status).Saying(message))
}

// WriteRefusal answers a request that [httpd] has refused, in the format of its binding.
func WriteRefusal(w http.ResponseWriter, r *http.Request, e *httpd.Error) {
	writeError(w, r, wire.Refused(e))
}

// writeError answers r with an error and its HTTP status, in the format of the binding
// that r uses. The type is always application/json: clients ignore errors of other types.
func writeError(w http.ResponseWriter, r *http.Request, e *wire.Error) {
	body := rest.Fault(e)
	if jsonrpc.IsRequest(r) {
		body = jsonrpc.Fault(nil /* id */, e, false /* plain */)
	}
	_ = e.Write(w, body) // a client that has gone needs no response
}

// GRPC serves the operations of a [Server] over gRPC.
type GRPC = grpc.Server

// GRPCConfig configures a [GRPC].
type GRPCConfig = grpc.Config

// GRPC returns the operations of s over gRPC.
func (s *Server) GRPC(c GRPCConfig) *GRPC { return grpc.New(s.service, c) }
