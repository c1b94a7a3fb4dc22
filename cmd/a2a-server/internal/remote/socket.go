package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"syscall"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/internal/adminsocket"
	"a2a-server/internal/visible"
)

// maxAnswer is the maximum size of an answer on the socket, in bytes.
const maxAnswer = 256 << 20

// OfSocket returns the server with an admin socket or, if no server listens there, a socket of its own user ("":
// none), for requests on it.
func OfSocket(path, own string) *Server {
	return &Server{at: &place{Config: client.Config{Socket: path}, local: true, own: own}}
}

// absentError says that no server listens on a socket.
type absentError struct{ error }

// Absent reports whether an error of [Server.FromSocket] says that no server listens.
func Absent(err error) bool {
	_, is := errors.AsType[*absentError](err)
	return is
}

// OnSocket sends a request to the admin socket of the server, or to that of its own user, for the paths that are only there,
// and returns the body of the answer. The error is for display.
func (s *Server) OnSocket(ctx context.Context, method, path string) ([]byte, error) {
	from, err := s.FromSocket(ctx, method, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(from, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the answer of the server: %w", err)
	}
	return body, nil
}

// FromSocket is [Server.OnSocket] for an answer of any length, which the caller reads and closes.
func (s *Server) FromSocket(ctx context.Context, method, path string) (io.ReadCloser, error) {
	from, err := s.fromSocket(ctx, cmp.Or(s.at.Socket, s.at.own), method, path)
	if s.at.own != "" && Absent(err) {
		if fromOwn, ownErr := s.fromSocket(ctx, s.at.own, method, path); !Absent(ownErr) {
			return fromOwn, ownErr
		}
	}
	return from, err
}

// fromSocket is FromSocket at a socket; "": there is none.
func (s *Server) fromSocket(ctx context.Context, socket, method, path string) (io.ReadCloser, error) {
	if socket == "" {
		return nil, cli.Usage("only the admin socket of a server does this, and %s is a URL: name the socket with --socket, or the data folder with --data", visible.Line(s.at.URL))
	}
	web := http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return adminsocket.Dial(ctx, socket) },
		DisableKeepAlives: true,
	}}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+adminsocket.Host+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := web.Do(r)
	switch {
	case (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)) && socket == s.at.own:
		return nil, &absentError{fmt.Errorf("no server listens on %s: start it with '%s', or name its data folder with --data", visible.Line(socket), s.at.serve())}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, &absentError{s.Explain(err)}
	case err != nil:
		return nil, s.Explain(err)
	}
	if answer.StatusCode < http.StatusBadRequest {
		return answer.Body, nil
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	why, err := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	if err != nil {
		return nil, fmt.Errorf("read the answer of the server: %w", err)
	}
	return nil, errors.New(visible.Shorten(visible.Text(strings.TrimSpace(string(why))), 1000))
}
