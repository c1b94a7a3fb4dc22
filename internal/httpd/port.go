package httpd

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/rs/zerolog"
)

// NewServer returns a server with the bounds of a port with few clients that send no large
// requests. Every request has to arrive in time, even if it is answered before its body ends; the
// timeout ends with the body, so that it does not cut streams. Its own log has mostly clients that
// go away, and gets the level debug.
func NewServer(h http.Handler, log zerolog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		// OPTIONS * is a request like any other: counted, guarded and checked.
		DisableGeneralOptionsHandler: true,

		ErrorLog: slog.NewLogLogger(zerolog.NewSlogHandler(log), slog.LevelDebug),
	}
}

// Stop accepts no more connections of a server, and waits until the last request is answered. When
// ctx ends, the rest is cut off, which cut reports.
func Stop(ctx context.Context, server *http.Server) (cut bool, err error) {
	if err = server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		return true, server.Close()
	}
	return false, err
}

// Port is a listener that is open before something serves it. A nil Port is none: it has no address,
// and nothing serves it.
type Port struct {
	listener net.Listener
	ended    chan struct{} // closed when it is served no more; nil: it was not served
}

// NewPort returns the port of a listener.
func NewPort(l net.Listener) *Port { return &Port{listener: l} }

// Addr returns the address of the port, or nil.
func (p *Port) Addr() net.Addr {
	if p == nil {
		return nil
	}
	return p.listener.Addr()
}

// Serve serves the port in a goroutine. failed is called if that ends otherwise than by the end of
// the server.
func (p *Port) Serve(serve func(net.Listener) error, failed func(error)) {
	if p == nil {
		return
	}
	p.ended = make(chan struct{})
	go func() {
		defer close(p.ended)
		if err := serve(p.listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			failed(err)
		}
	}()
}

// Close closes the port, and waits until nothing serves it. Stop its server first.
func (p *Port) Close() error {
	if p == nil {
		return nil
	}
	if p.ended == nil {
		return p.listener.Close()
	}
	<-p.ended // its server has closed it
	return nil
}
