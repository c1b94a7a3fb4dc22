package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// transportCredentials begins the connections of gRPC, with TLS or without. It implements
// [credentials.TransportCredentials].
type transportCredentials struct {
	tls  *tls.Config
	open *connections
}

// connections holds the open connections of a server, so that all can be closed at once: the
// library knows none of which the first bytes are still to come, and waits for them.
type connections struct {
	mu     sync.Mutex
	conns  map[*trackedConn]struct{}
	closed bool
}

// trackedConn is a connection in [connections].
type trackedConn struct {
	net.Conn
	of *connections
}

// add returns c as a connection of o. It closes c at once after close.
func (o *connections) add(c net.Conn) net.Conn {
	t := &trackedConn{c, o}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		_ = c.Close()
		return t
	}
	if o.conns == nil {
		o.conns = map[*trackedConn]struct{}{}
	}
	o.conns[t] = struct{}{}
	return t
}

// Close closes the connection, which o then forgets.
func (t *trackedConn) Close() error {
	t.of.mu.Lock()
	delete(t.of.conns, t)
	t.of.mu.Unlock()
	return t.Conn.Close()
}

// close closes all connections, also those that are added later.
func (o *connections) close() {
	o.mu.Lock()
	o.closed = true
	all := slices.Collect(maps.Keys(o.conns))
	o.mu.Unlock()
	for _, t := range all {
		_ = t.Close()
	}
}

// connection is the connection as its calls see it. It implements [credentials.AuthInfo].
type connection struct {
	net.Conn
	state     *tls.ConnectionState // nil: no TLS
	over      bool                 // beyond the limits: calls of health only
	turned    atomic.Bool          // it closes soon
	open      atomic.Int64         // calls
	probes    atomic.Int64         // calls of health that are no watches
	unwritten atomic.Int64         // bytes of messages that the transport has, of calls that have ended, too
}

// maxUnwritten is how many bytes of messages a connection may have before the sender of the
// next message waits until it is written.
const maxUnwritten = 256 << 10

// maxUnread is how many bytes a connection may keep that its client does not read. The
// messages of an ended call cannot be taken back, and other callers may use the connection,
// too.
const maxUnread = 1 << 20

// stuck closes the connection of a call that ends because its client does not read, if too
// much is unread, or the connection has no other call.
func (c *connection) stuck() {
	if c.unwritten.Load() > maxUnread || c.open.Load() <= 1 {
		_ = c.Close() // its calls end
	}
}

// refusedTime is how long a connection beyond the limits stays open once a call has been refused:
// until the client has the response.
const refusedTime = time.Second

// turnAway closes the connection soon. Its client opens another, for which there may be room.
func (c *connection) turnAway() {
	if c.turned.CompareAndSwap(false, true) {
		time.AfterFunc(refusedTime, func() { _ = c.Close() })
	}
}

// AuthType implements [credentials.AuthInfo].
func (*connection) AuthType() string { return "a2a" }

// connOf returns the connection of a call, and its addresses.
func connOf(ctx context.Context) (*connection, *peer.Peer) {
	p, _ := peer.FromContext(ctx) // it is there, and from [transportCredentials]
	c, _ := p.AuthInfo.(*connection)
	return c, p
}

// ServerHandshake implements [credentials.TransportCredentials]. The deadline of the
// connection is that of the handshake.
func (c *transportCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	limited, is := raw.(interface{ OverLimit() bool })
	over := is && limited.OverLimit()
	raw = c.open.add(raw)
	if c.tls == nil {
		return raw, &connection{Conn: raw, over: over}, nil
	}
	conn := tls.Server(raw, c.tls)
	if err := conn.HandshakeContext(context.Background()); err != nil {
		_ = raw.Close()
		return nil, nil, err
	}
	state := conn.ConnectionState()
	if state.NegotiatedProtocol != "h2" {
		_ = conn.Close()
		return nil, nil, errors.New("the client does not offer HTTP/2 (ALPN h2)")
	}
	return conn, &connection{Conn: conn, state: &state, over: over}, nil
}

// ClientHandshake implements [credentials.TransportCredentials]. Nothing here is a client.
func (*transportCredentials) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("a2a: this is a server")
}

// Info implements [credentials.TransportCredentials].
func (c *transportCredentials) Info() credentials.ProtocolInfo {
	if c.tls == nil {
		return credentials.ProtocolInfo{SecurityProtocol: "insecure"}
	}
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone implements [credentials.TransportCredentials].
func (c *transportCredentials) Clone() credentials.TransportCredentials { own := *c; return &own }

// OverrideServerName implements [credentials.TransportCredentials]. A server has none.
func (*transportCredentials) OverrideServerName(string) error { return nil }
