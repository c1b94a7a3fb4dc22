package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/internal/httpd"
)

// ports returns the ports of a server, with their keys. The key listen is always set.
func ports(s *Settings, p *Parts) (web, grpc, metrics portKey) {
	public := func(a net.Addr) error { return publicError(s, a, p.Authentication.Authenticator != nil) }
	return portKey{"listen", s.Listen, public}, portKey{"grpc.listen", s.GRPC.Listen, public},
		portKey{"admin.listen", p.Metrics.Listen, func(a net.Addr) error { return metricsPublicError(a, p.Metrics.Token != nil) }}
}

// portKey is a key of the configuration that names a port.
type portKey struct {
	key, at string               // at is "": there is none
	refusal func(net.Addr) error // why an address must not be listened on
}

// failed returns the error of a port that cannot be opened.
func (k *portKey) failed(err error) error {
	return fmt.Errorf("listen on %s: %w: stop what uses it, or choose another address with %s", k.at, err, k.key)
}

// listen opens a port. Tools must not reach it.
func (s *Server) listen(k portKey) (net.Listener, error) {
	l, err := net.Listen("tcp", k.at)
	if err != nil {
		return nil, k.failed(err)
	}
	if err := k.refusal(l.Addr()); err != nil {
		_ = l.Close() // it has accepted no connection
		return nil, err
	}
	own := append(s.own(), tcpAddr(l.Addr()).AddrPort())
	s.addresses.Store(&own)
	return l, nil
}

// own returns the addresses that the Server listens on.
func (s *Server) own() []netip.AddrPort {
	if own := s.addresses.Load(); own != nil {
		return slices.Clone(*own)
	}
	return nil
}

// sidePort serves operators beside the protocol. If that fails, nothing else stops.
type sidePort struct {
	*httpd.Port // nil: there is none
	web         *http.Server
}

// serve serves the port until close. ended is the line of the log if that fails.
func (p *sidePort) serve(log zerolog.Logger, ended string) {
	if p.Port != nil {
		p.Serve(p.web.Serve, func(err error) { log.Error().Err(err).Msg(ended) })
	}
}

// sideCutOff is how long a shutdown waits for the answers to operators.
const sideCutOff = 2 * time.Second

// close closes the port, and waits until it serves nothing.
func (p *sidePort) close(ctx context.Context) error {
	if p.Port == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sideCutOff)
	defer cancel()
	_, err := httpd.Stop(ctx, p.web)
	return errors.Join(err, p.Close())
}

// publicError refuses an address that other machines can reach without authentication, unless
// insecure_no_auth is set: every client that reaches it may run tools and approve their calls.
func publicError(s *Settings, a net.Addr, authenticated bool) error {
	if authenticated || s.InsecureNoAuth || loopback(a) {
		return nil
	}
	return fmt.Errorf("%w: other machines can reach %s, and there is no authentication: set auth, listen on 127.0.0.1, or set insecure_no_auth to accept every client", ErrConfig, a)
}

func tcpAddr(a net.Addr) *net.TCPAddr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return &net.TCPAddr{}
	}
	return tcp
}

func loopback(a net.Addr) bool { return tcpAddr(a).IP.IsLoopback() }

// baseURL returns a URL of the server, for the log. a is nil if the Server does not listen.
func (s *Server) baseURL(a net.Addr) string {
	if s.settings.PublicURL != "" || a == nil {
		return s.settings.PublicURL
	}
	u := url.URL{Scheme: "http", Host: a.String()}
	if s.parts.Certificates != nil {
		u.Scheme = "https"
	}
	if tcp := tcpAddr(a); tcp.IP.IsUnspecified() {
		u.Host = fmt.Sprintf("localhost:%d", tcp.Port) // right for this machine, if for no other
	}
	return u.String()
}

// guardOf returns the guard of requests: the hosts and origins that they may name. A
// loopback address is guarded against web pages whose own name resolves to it (DNS
// rebinding). Any other address is guarded only if the configuration names a host, because
// its clients may use any name. more are other configured addresses, whose host names clients may
// use.
func guardOf(c *Settings, a net.Addr, more ...string) httpd.Guard {
	g := httpd.Guard{Origins: c.AllowedOrigins, ReadOrigins: c.ReadOrigins, Proxies: c.TrustedProxies}
	if !loopback(a) && len(c.AllowedHosts) == 0 {
		return g
	}
	g.Hosts = append([]string{"localhost", "127.0.0.1", "[::1]"}, c.AllowedHosts...)
	if ip := tcpAddr(a).IP; !ip.IsUnspecified() {
		own := ip.String()
		if strings.Contains(own, ":") {
			own = "[" + own + "]"
		}
		g.Hosts = append(g.Hosts, own)
	}
	// Clients may use the host name of a configured address.
	for _, at := range append(more, c.Listen) {
		if host, _, err := net.SplitHostPort(at); err == nil && host != "" && net.ParseIP(host) == nil {
			g.Hosts = append(g.Hosts, strings.ToLower(host))
		}
	}
	// A proxy in front of the server passes on the name that clients use.
	if u, err := url.Parse(c.PublicURL); err == nil && u.Host != "" {
		host := strings.TrimSuffix(u.Host, ":"+u.Port())
		g.Hosts = append(g.Hosts, strings.ToLower(host))
	}
	slices.Sort(g.Hosts)
	g.Hosts = slices.Compact(g.Hosts)
	return g
}

// probeGuard returns the guard of the probes. Operators probe a server at any of its
// addresses, and probes reveal nothing to other clients.
func probeGuard(g httpd.Guard, a net.Addr) httpd.Guard {
	if !loopback(a) {
		g.Hosts = nil
	}
	return g
}
