package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"a2a-server/client"
	"a2a-server/internal/adminsocket"
	"a2a-server/internal/app/cli"
	"a2a-server/internal/visible"
)

// maxAnswer is the maximum size of an answer on the socket, in bytes.
const maxAnswer = 256 << 20

// OfSocket returns the server with an admin socket, for [Server.OnSocket] only.
func OfSocket(path string) *Server {
	return &Server{at: &place{Config: client.Config{Socket: path}, local: true}}
}

// OnSocket sends a request to the admin socket of the server, for the paths that are only there,
// and returns the body of the answer. The error is for display.
func (s *Server) OnSocket(ctx context.Context, method, path string) ([]byte, error) {
	if s.at.Socket == "" {
		return nil, cli.Usage("only the admin socket of a server does this, and %s is a URL: name the socket with --socket, or the data folder with --data", visible.Line(s.at.URL))
	}
	web := http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return adminsocket.Dial(ctx, s.at.Socket) },
		DisableKeepAlives: true,
	}}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+adminsocket.Host+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := web.Do(r)
	if err != nil {
		return nil, s.Explain(err)
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer of the server: %w", err)
	case answer.StatusCode >= http.StatusBadRequest:
		return nil, errors.New(visible.Shorten(visible.Text(strings.TrimSpace(string(body))), 1000))
	}
	return body, nil
}
