package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/a2a"
)

// newServer returns the HTTP server: HTTP/1, and HTTP/2 without TLS for clients that
// know beforehand that it is there. Every request has to come in time, also one that is
// answered before its end: its body ends the time-out, so that it does not hold for a
// stream. It has no write time-out, because streams last; each write to one has its own.
func (a *App) newServer(h http.Handler) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           h,
		Protocols:         &protocols,
		ReadHeaderTimeout: min(10*time.Second, a.config.Limits.ReadTimeout),
		ReadTimeout:       a.config.Limits.ReadTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    a.config.Limits.Header,
		ErrorLog:          slog.NewLogLogger(zerolog.NewSlogHandler(a.log), slog.LevelDebug), // mostly clients that go away
	}
}

// routes are the protocol's at the root, and ours beside them.
func (a *App) routes(protocol http.Handler, guard a2a.Guard) http.Handler {
	live := guard.Wrap(http.HandlerFunc(a.health.serveLive))
	ready := guard.Wrap(http.HandlerFunc(a.health.serveReady))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/livez":
			live.ServeHTTP(w, r)
		case "/readyz":
			ready.ServeHTTP(w, r)
		default:
			protocol.ServeHTTP(w, r)
		}
	})
}

// shutServer waits until the last request is answered. Connections that are left when
// ctx ends are cut off: all requests have been told to end by then, so that they wait
// for a client that does not send or does not read. That is no failure of ours.
func (a *App) shutServer(ctx context.Context) error {
	err := a.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		a.log.Warn().Msg("connections are cut off, because their clients do not send or do not read")
		err = a.server.Close()
	}
	return err
}
