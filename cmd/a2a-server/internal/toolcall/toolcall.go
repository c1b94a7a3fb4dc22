// Package toolcall has the server of a single call of a tool. It does not know what its person sees.
package toolcall

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	a2aserver "a2a-server"
	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/operator"
	"a2a-server/internal/inside"
	"a2a-server/task"
	"a2a-server/task/planner/direct"
)

// Server has the tools and gates of a configuration, keeps everything in memory, and has no port. Of
// the MCP servers it starts only the server of the tool that is called. All its callers are
// [auth.Anonymous].
type Server struct {
	*client.Client
	operator *operator.Operator
	noting   *noting
	stop     context.CancelFunc
	stopped  chan error
}

// Start starts a server for a message as the direct planner takes it, such as
//
//	/transfer_money amount=5 to=bob
//
// Call [Server.Stop] at the end.
func Start(c a2aserver.Config, by *operator.Operator, text string) (*Server, error) {
	settings := *c.Settings
	settings.Store = "memory"
	s := &Server{noting: &noting{Planner: direct.New(direct.Config{})}, stopped: make(chan error, 1)}
	pipe := &pipe{conns: make(chan net.Conn), ended: make(chan struct{})}
	c.Settings, c.Store, c.NoListen, c.Planner = &settings, nil, true, s.noting
	s.operator, c.Inside = by, inside.Options{Alone: pipe}
	by.Only(strings.Fields(text + " /")[0]) // the tool, with a slash
	server, err := a2aserver.New(c)
	if err != nil {
		return nil, err
	}
	if s.Client, err = client.New(client.Config{URL: "http://localhost", HTTP: &http.Client{Transport: &http.Transport{DialContext: pipe.dial}}}); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	running, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() { s.stopped <- server.Run(running) }()
	return s, nil
}

// Stop ends the server, and returns the error of that.
func (s *Server) Stop() error {
	s.stop()
	return <-s.stopped
}

// Refused reports whether a call was not approved: an approver rejected it, a gate denies it, or nobody
// decided.
func (s *Server) Refused() bool { return s.noting.refused.Load() }

// Down returns why a server that may have the tool has not listed its tools; nil: each has.
func (s *Server) Down(ctx context.Context) error {
	return s.operator.Down(task.NewReadonlyContext(ctx, "", auth.Anonymous()))
}

// noting is a planner that notes how calls have ended.
type noting struct {
	*direct.Planner
	refused atomic.Bool // a call was not approved
}

// Plan implements task.Planner.
func (n *noting) Plan(ctx context.Context, p *task.Progress) (*task.Step, error) {
	for _, step := range p.Steps {
		for _, r := range step.Calls {
			if r.Outcome == task.OutcomeDenied || r.Outcome == task.OutcomeRejected || r.Outcome == task.OutcomeExpired {
				n.refused.Store(true)
			}
		}
	}
	return n.Planner.Plan(ctx, p)
}

// pipe is a listener that only this process reaches: what a tool starts must not decide its own calls.
type pipe struct {
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
}

func (p *pipe) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.ended:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements [net.Listener].
func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (p *pipe) Close() error {
	p.once.Do(func() { close(p.ended) })
	return nil
}

// Addr implements [net.Listener].
func (p *pipe) Addr() net.Addr { return &net.UnixAddr{Name: "this process", Net: "unix"} }
