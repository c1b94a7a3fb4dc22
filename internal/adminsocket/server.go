// Package adminsocket is the Unix socket by which people on the server's machine use the
// approvals API: its file, its access by mode and group, and the HTTP server on it. It does
// not know the API; the kernel identifies the caller (auth/peer).
package adminsocket

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/auth/peer"
)

// Name is the name of the socket in the data folder.
const Name = "admin.sock"

// ErrListening says that a server has the socket.
var ErrListening = errors.New("another server listens on")

// Host is the host name that requests must have. A program that connects browsers to the
// socket would pass on another host.
const Host = "a2a-server.admin"

// Config configures a [Server].
type Config struct {
	Path string // of the socket
	// Group is the id of the group that may connect, too. Defaults to none: 0 is root's group,
	// and root may connect anyway.
	Group   int
	Handler http.Handler
	Log     zerolog.Logger
}

// Server serves people on this machine. It is safe for concurrent use.
type Server struct {
	socket *socket
	web    *http.Server
}

// Open makes the socket. Requests wait for [Server.Serve].
func Open(cfg Config) (*Server, error) {
	on, err := listen(cfg.Path, cfg.Group)
	if err != nil {
		return nil, err
	}
	return &Server{socket: on, web: &http.Server{
		Handler:           cfg.Handler,
		ConnContext:       peer.WithConn,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		IdleTimeout:       30 * time.Second,
		MaxHeaderBytes:    16 << 10,

		DisableGeneralOptionsHandler: true,

		ErrorLog: slog.NewLogLogger(zerolog.NewSlogHandler(cfg.Log), slog.LevelDebug),
	}}, nil
}

// Serve answers until the server is closed; then it returns nil.
func (s *Server) Serve() error {
	if err := s.web.Serve(s.socket); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown removes the socket, and waits until the last request is answered. When ctx ends,
// the remaining requests are cut off.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.web.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.web.Close()
	}
	return errors.Join(err, s.socket.Close())
}
