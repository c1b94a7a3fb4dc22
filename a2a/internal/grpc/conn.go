package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"
)

// transportCredentials begins the connections of gRPC, with TLS or without.
type transportCredentials struct {
	credentials.TransportCredentials // the library's

	cut context.Context //nolint:containedctx // its end closes all connections, also later ones
}

// newCredentials returns the credentials of a server. All its connections end with cut. Without a config there is no TLS.
func newCredentials(cut context.Context, config *tls.Config) *transportCredentials {
	if config == nil {
		return &transportCredentials{insecure.NewCredentials(), cut}
	}
	return &transportCredentials{credentials.NewTLS(config), cut}
}

// Clone implements [credentials.TransportCredentials].
func (c *transportCredentials) Clone() credentials.TransportCredentials { own := *c; return &own }

// cutConn is a connection that ends with the server. The library itself knows no connection of
// which the first bytes are still to come, and waits for them.
type cutConn struct {
	net.Conn
	forget func() bool
}

// Close closes the connection.
func (c *cutConn) Close() error {
	c.forget()
	return c.Conn.Close()
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
	cut := &cutConn{raw, context.AfterFunc(c.cut, func() { _ = raw.Close() })}
	conn, info, err := c.TransportCredentials.ServerHandshake(cut)
	if err != nil {
		_ = cut.Close()
		return nil, nil, err
	}
	made := &connection{Conn: conn, over: over}
	if t, is := info.(credentials.TLSInfo); is {
		if t.State.NegotiatedProtocol != "h2" {
			_ = conn.Close()
			return nil, nil, errors.New("the client does not offer HTTP/2 (ALPN h2)")
		}
		made.state = &t.State
	}
	return conn, made, nil
}
