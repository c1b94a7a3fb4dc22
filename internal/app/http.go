package app

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/a2a"
)

// newServer returns the HTTP server: HTTP/1, and HTTP/2 without TLS for clients that
// know beforehand that it is there. It has no write time-out, because streams last;
// each write to one has its own.
func (a *App) newServer(h http.Handler) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           h,
		Protocols:         &protocols,
		ReadHeaderTimeout: 10 * time.Second,
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

// shutServer waits until the last request is answered. What is left when ctx ends is
// cut off.
func (a *App) shutServer(ctx context.Context) error {
	err := a.server.Shutdown(ctx)
	if err != nil {
		_ = a.server.Close() // the error that counts is that it was necessary
	}
	return err
}
