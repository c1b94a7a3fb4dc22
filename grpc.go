package a2aserver

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"

	"a2a-server/a2a"
	"a2a-server/internal/httpd"
)

// grpcPort is where a Server speaks gRPC.
type grpcPort struct {
	rpc  *a2a.GRPC
	port *httpd.Port // nil: there is none
}

// listenGRPC opens the port of gRPC, if it is configured. Its connections count together with
// the other port's.
func (s *Server) listenGRPC(k portKey, beside *httpd.Listener) error {
	if k.at == "" {
		return nil
	}
	l, err := s.listen(k)
	if err == nil {
		s.grpc.port = httpd.NewPort(beside.Beside(l))
	}
	return err
}

// GRPCAddr returns the address at which the Server speaks gRPC, or nil if it has no port for
// that.
func (s *Server) GRPCAddr() net.Addr { return s.grpc.port.Addr() }

// ServeGRPC speaks gRPC on the caller's own listener, with the TLS of the configuration, until
// Run ends or the listener fails; it closes the listener. Calls get UNAVAILABLE unless Run is
// running. Several listeners may be served.
func (s *Server) ServeGRPC(l net.Listener) error { return s.grpc.rpc.Serve(l) }

// grpcConfig returns the configuration of gRPC.
func (s *Server) grpcConfig() a2a.GRPCConfig {
	guard := guardOf(s.settings, s.GRPCAddr(), s.settings.GRPC.Listen, s.settings.GRPC.PublicURL)
	return a2a.GRPCConfig{
		TLS: s.parts.Certificates, Guard: guard, HTTP: addressText(s.Addr()), ReadTimeout: s.settings.Limits.ReadTimeout, Header: s.limits.Header,
		Reflection: s.settings.GRPC.Reflection, Ready: s.health.Ready, Admit: s.admitCall,
	}
}

// admitCall counts a call of gRPC as a request.
func (s *Server) admitCall() (leave func(), err error) {
	if !s.health.Serves() {
		return nil, errors.New(cmp.Or(s.health.Refusal(), "the server is not running: try again later"))
	}
	leave = func() { s.requests.Add(-1) }
	if s.requests.Add(1) > int64(s.limits.Requests) {
		leave()
		return nil, errors.New(tooMany)
	}
	return leave, nil
}

// cardGRPC returns the host and port of gRPC in the card.
func (s *Server) cardGRPC() string {
	if !s.settings.Card.GRPC {
		return ""
	}
	if at := s.settings.GRPC.PublicURL; at != "" {
		return at
	}
	if s.grpc.port == nil {
		return ""
	}
	host, _, _ := net.SplitHostPort(s.settings.GRPC.Listen)
	_, port, _ := net.SplitHostPort(s.GRPCAddr().String())
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() || err == nil && ip.IsLoopback() {
		host = "" // that of the other URLs: it is the same machine
	}
	if host == "" {
		return ":" + port
	}
	return net.JoinHostPort(host, port)
}

// shutGRPC waits until the last call has ended. Calls that are left when ctx ends are cut
// off, as [Server.shutServer] does it.
func (s *Server) shutGRPC(ctx context.Context) {
	if !s.grpc.rpc.Stop(ctx) {
		s.log.Warn().Msg("calls of gRPC are cut off, because their clients neither send nor read")
	}
}
