package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"a2a-server/a2a/internal/operation"
	v03 "a2a-server/a2a/internal/v03"
	"a2a-server/internal/httpd"
)

// Config configures a [Server].
type Config struct {
	TLS         *tls.Config   // nil: no TLS
	Guard       httpd.Guard   // where calls may come from
	ReadTimeout time.Duration // of the message of a call. Defaults to 30 s.
	Header      int           // bytes of a call's metadata. Defaults to 64 KiB.

	HTTP       string      // address of the port of HTTP, whose URLs cards have that name no URL; "": unknown
	Reflection bool        // clients may ask which services there are
	Ready      func() bool // whether the server is healthy; nil: always

	// Admit is called before each call, and leave when the call has ended; nil: every call is
	// served. Its error is that of a call that is refused because too many are served.
	Admit func() (leave func(), err error)
}

// Server serves the operations of a [operation.Service] over gRPC. [New] makes it.
//
// Every method is served as a stream of messages, which is the same on the wire: a handler
// then runs when the metadata have arrived, so that the caller is authenticated before any
// message is received.
type Server struct {
	service *operation.Service
	cfg     Config
	server  *grpc.Server
	all     context.Context //nolint:containedctx // of all calls
	end     context.CancelCauseFunc
	cut     context.CancelFunc // closes all connections

	reflections *httpd.Shares // calls
}

const (
	// maxCalls is how many calls a connection may have open. Clients wait with more.
	maxCalls = 250
	// callWindow is how many bytes of a call's messages may arrive before a handler reads
	// them.
	callWindow = 64 << 10
	// connWindow is the same of a connection.
	connWindow = 1 << 20
)

// New returns the operations of s over gRPC.
func New(s *operation.Service, c Config) *Server {
	if c.ReadTimeout <= 0 {
		c.ReadTimeout = 30 * time.Second
	}
	if c.Header <= 0 {
		c.Header = 64 << 10
	}
	g := &Server{service: s, cfg: c, reflections: httpd.NewShares("calls of reflection are open", maxWatches, 0)}
	g.all, g.end = context.WithCancelCause(context.Background())
	open, cut := context.WithCancel(context.Background())
	g.cut = cut
	g.server = grpc.NewServer(
		grpc.Creds(newCredentials(open, c.TLS)),
		grpc.ForceServerCodecV2(codec{encoding.GetCodecV2(proto.Name)}),
		grpc.MaxRecvMsgSize(int(s.MaxBody)),
		grpc.MaxHeaderListSize(uint32(c.Header)), //nolint:gosec // a limit of the configuration, which is smaller
		grpc.MaxConcurrentStreams(maxCalls),
		grpc.InitialWindowSize(callWindow),
		grpc.InitialConnWindowSize(connWindow),
		grpc.ConnectionTimeout(min(10*time.Second, c.ReadTimeout)),
		grpc.ReadBufferSize(1<<10), // a connection keeps it; larger reads bypass it
		grpc.WaitForHandlers(true),
		// The pings notice a peer that is gone without a word, and leave a live peer alone.
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: 2 * time.Minute, Time: s.Heartbeat, Timeout: s.WriteTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.StreamInterceptor(g.intercept),
		grpc.UnknownServiceHandler(g.unknown),
	)
	g.register(a2apb.File_a2av1_proto.Services().ByName("A2AService"), false /* old */)
	if !s.OnlyV1 {
		g.register(v03.Service(), true /* old */)
	}
	ready := func() bool { return g.all.Err() == nil && (c.Ready == nil || c.Ready()) }
	(&health{g.server, ready, httpd.NewShares("watches of health are open", maxWatches, 0)}).register(g)
	if c.Reflection {
		reflection.Register(g.server) // its handlers are grpc's own, behind intercept
	}
	return g
}

// Serve serves the connections of a listener until [Server.Stop]. It returns nil then.
func (g *Server) Serve(l net.Listener) error {
	if err := g.server.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve gRPC: %w", err)
	}
	return nil
}

// EndCalls ends all calls: streams with UNAVAILABLE and how to continue, other calls with
// [httpd.ErrStopping].
func (g *Server) EndCalls() { g.end(httpd.ErrStopping) }

// Stop accepts no more connections and calls, and waits for the open calls until ctx ends; it
// then cuts off the rest, and returns false.
func (g *Server) Stop(ctx context.Context) (ended bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.server.GracefulStop()
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	g.end(httpd.ErrStopping)
	g.cut()
	g.server.Stop()
	<-done
	return false
}
