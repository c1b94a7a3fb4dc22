package a2a

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/rs/zerolog"

	"a2a-server/internal/auth"
	"a2a-server/task"
)

// Config is what a Server is made of.
type Config struct {
	Engine *task.Engine // required

	// Authenticate says who a request is made for. An error is answered with 401.
	// Defaults to auth.Anonymous for everybody.
	Authenticate func(*http.Request) (auth.Principal, error)

	// Incarnation is the store's: stream ids of another one are not ours.
	Incarnation uint64

	MaxBody      int64         // bytes of a request. Defaults to 4 MiB.
	Heartbeat    time.Duration // of an idle stream. Defaults to 15 s.
	WriteTimeout time.Duration // of one write to a stream. Defaults to 30 s.

	Log zerolog.Logger
	Now func() time.Time // Defaults to time.Now.
}

// Server serves A2A. It is safe for concurrent use.
type Server struct {
	cfg    Config
	engine *task.Engine
	echo   *echo.Echo
}

// New returns a Server.
func New(cfg Config) (*Server, error) {
	if cfg.Engine == nil {
		return nil, errors.New("a2a: a server needs an engine")
	}
	if cfg.Authenticate == nil {
		cfg.Authenticate = func(*http.Request) (auth.Principal, error) { return auth.Anonymous(), nil }
	}
	if cfg.MaxBody <= 0 {
		cfg.MaxBody = 4 << 20
	}
	if cfg.Heartbeat <= 0 {
		cfg.Heartbeat = 15 * time.Second
	}
	if cfg.WriteTimeout <= 0 {
		cfg.WriteTimeout = 30 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Server{cfg: cfg, engine: cfg.Engine, echo: echo.New()}
	s.echo.HideBanner, s.echo.HidePort = true, true
	s.echo.HTTPErrorHandler = s.httpError
	s.echo.POST("/", s.jsonRPC)
	return s, nil
}

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Log.Error().Interface("panic", p).Str("path", r.URL.Path).Msg("request panicked")
			panic(http.ErrAbortHandler) // the connection is in an unknown state
		}
	}()
	s.echo.ServeHTTP(w, r)
}

// httpError answers what fails before a binding has taken the request.
func (s *Server) httpError(err error, c echo.Context) {
	if c.Response().Committed {
		return // a body here would end up in the stream
	}
	status := http.StatusInternalServerError
	var he *echo.HTTPError
	if errors.As(err, &he) {
		status = he.Code
	} else {
		s.cfg.Log.Error().Err(err).Msg("request failed")
	}
	if err := c.JSON(status, map[string]any{"error": map[string]any{"code": status, "message": http.StatusText(status)}}); err != nil {
		s.cfg.Log.Debug().Err(err).Msg("answer not written")
	}
}

// body reads a request of JSON whole, or answers why not: 415 for another content
// type, 413 beyond the limit.
func (s *Server) body(c echo.Context) ([]byte, error) {
	r := c.Request()
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" && media != "application/a2a+json" {
		return nil, echo.NewHTTPError(http.StatusUnsupportedMediaType)
	}
	raw, err := io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, s.cfg.MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, echo.NewHTTPError(http.StatusRequestEntityTooLarge)
	case err != nil:
		return nil, echo.NewHTTPError(http.StatusBadRequest)
	}
	return raw, nil
}

// wire returns err as it goes out, and logs it when it is ours.
func (s *Server) wire(ctx context.Context, err error, method string) *wireError {
	w, known := toWire(err)
	if !known && ctx.Err() == nil {
		s.cfg.Log.Error().Err(err).Str("method", method).Msg("internal error")
	}
	return w
}
