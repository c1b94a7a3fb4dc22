package httpd

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"
)

const (
	// reserved is how many connections are accepted beyond the limits, so that probes are
	// answered. The oldest is closed for the newest: a probe only needs its own for a moment.
	reserved = 16
	// complaints is how often the log says that a limit has been reached.
	complaints = time.Minute
)

// Listener limits the number of open connections, in total and by address. It also detects
// requests with ambiguous framing, which net/http hides, so that they can be refused, and
// closes connections whose HTTP/2 headers do not end. Connections beyond the limits
// are accepted, but only to answer probes (see [Conn.OverLimit]). It is safe for concurrent
// use.
type Listener struct {
	net.Listener
	*counts
	header time.Duration // for an HTTP/2 header block; 0: requests are not looked at
	tls    *tls.Config   // nil: none
}

// counts are the open connections of the listeners that share a limit.
type counts struct {
	most  int // in total
	share int // of one source
	log   zerolog.Logger
	now   func() time.Time

	mu      sync.Mutex
	open    int
	from    map[netip.Prefix]int
	beyond  []*Conn   // oldest first
	noFiles time.Time // when this was last logged
	noRoom  time.Time // likewise
	turned  int       // connections beyond the limits since then
}

// NewListener returns a listener on l that may have most connections open, at most a quarter of them
// from the same address other than loopback. An HTTP/2 header block has to arrive within
// header. now returns the time.
func NewListener(l net.Listener, most int, header time.Duration, log zerolog.Logger, now func() time.Time) *Listener {
	return &Listener{Listener: l, header: header, counts: &counts{most: most, share: max(1, most/4), log: log, now: now, from: map[netip.Prefix]int{}}}
}

// Beside returns a listener on other whose connections are counted together with the
// connections of l. They are not encrypted, and their bytes are not inspected.
func (l *Listener) Beside(other net.Listener) *Listener {
	return &Listener{Listener: other, counts: l.counts}
}

// Encrypt makes all connections TLS connections, and returns l. Call it before Accept. The
// listener does it, not net/http, because the framing of requests is visible only after
// decryption: net/http sees a plain connection, so HTTP/2 comes to it with prior knowledge,
// and r.TLS is up to [Conn.TLS].
func (l *Listener) Encrypt(c *tls.Config) *Listener {
	l.tls = c
	return l
}

// Conn is a connection of a [Listener].
type Conn struct {
	net.Conn          // a *tls.Conn if the Listener encrypts
	raw      net.Conn // without TLS
	of       *counts
	source   netip.Prefix // invalid: not counted by source
	beyond   bool         // over the limits
	header   time.Duration
	closed   atomic.Bool
	told     atomic.Bool // a request without TLS has been answered
	framing  framing
	blocks   blocks
}

// sourceOf returns the prefix that counts as a single address: an IPv4 address, or an IPv6
// /64, the share of a subscriber. It is invalid for a loopback address.
func sourceOf(a net.Addr) netip.Prefix {
	addr := tcpAddr(a).AddrPort().Addr().Unmap().WithZone("")
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	if !addr.IsValid() || addr.IsLoopback() {
		return netip.Prefix{}
	}
	prefix, err := addr.Prefix(bits)
	if err != nil { // both fit their address
		return netip.Prefix{}
	}
	return prefix
}

// Accept implements [net.Listener].
func (l *Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			l.complainOfFiles(err)
		}
		return nil, err
	}
	c := &Conn{Conn: conn, raw: conn, of: l.counts, source: sourceOf(conn.RemoteAddr()), header: l.header}
	if l.tls != nil {
		c.Conn = tls.Server(conn, l.tls)
	}
	if oldest := l.take(c); oldest != nil {
		_ = oldest.raw.Close() // its server notices, and calls Close
	}
	return c, nil
}

// take counts c, and returns the connection that has to make room for it, or nil.
func (l *counts) take(c *Conn) (oldest *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open < l.most && (!c.source.IsValid() || l.from[c.source] < l.share) {
		l.open++
		if c.source.IsValid() {
			l.from[c.source]++
		}
		return nil
	}
	c.beyond = true
	if len(l.beyond) == reserved {
		oldest = l.beyond[0]
		l.beyond = slices.Delete(l.beyond, 0, 1)
	}
	l.beyond = append(l.beyond, c)
	l.turned++
	if now := l.now(); now.Sub(l.noRoom) >= complaints {
		l.log.Warn().Int("open", l.open).Int("limit", l.most).Int("limit_of_one_address", l.share).Int("beyond", l.turned).
			Msg("connections beyond limits.connections are refused, except for probes")
		l.noRoom, l.turned = now, 0
	}
	return oldest
}

// give stops counting c.
func (l *counts) give(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.beyond {
		if i := slices.Index(l.beyond, c); i >= 0 {
			l.beyond = slices.Delete(l.beyond, i, i+1)
		}
		return
	}
	l.open--
	if !c.source.IsValid() {
		return
	}
	if l.from[c.source]--; l.from[c.source] == 0 {
		delete(l.from, c.source)
	}
}

func (l *counts) complainOfFiles(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.now(); now.Sub(l.noFiles) >= complaints {
		l.log.Error().Err(err).Int("open", l.open).Msg("no connection can be accepted, because the process has reached its limit of open files: raise it (ulimit -n), or lower limits.connections")
		l.noFiles = now
	}
}

// Read implements [net.Conn].
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.header > 0 {
		c.framing.read(p[:n])
		c.blocks.follow(c, p[:n], err, c.header)
	}
	if plain, is := errors.AsType[tls.RecordHeaderError](err); is && plain.Conn != nil && looksLikeHTTP(plain.RecordHeader) && c.told.CompareAndSwap(false, true) {
		// A TLS alert would not be read as HTTP. The response is too small to wait for the
		// client.
		_, _ = io.WriteString(plain.Conn, wantsTLS)
	}
	return n, err
}

// wantsTLS answers a request without TLS.
const wantsTLS = "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\nthis port speaks HTTPS only: use https:// in the URL\n"

// looksLikeHTTP reports whether the first bytes of a connection begin a request of HTTP/1.
func looksLikeHTTP(header [5]byte) bool {
	return slices.Contains([]string{"GET /", "HEAD ", "POST ", "PUT /", "DELET", "OPTIO", "PATCH"}, string(header[:]))
}

// Close implements [net.Conn].
func (c *Conn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.of.give(c)
	}
	return c.Conn.Close()
}

// CloseWrite lets net/http close a connection so that the client can still read the last
// answer.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// TLS returns the state of the TLS connection, or nil if the connection is not encrypted. It
// must be called when a request has been read from the connection.
func (c *Conn) TLS() *tls.ConnectionState {
	conn, ok := c.Conn.(*tls.Conn)
	if !ok {
		return nil
	}
	state := conn.ConnectionState()
	return &state
}

// OverLimit reports whether the connection is beyond the limits.
func (c *Conn) OverLimit() bool { return c.beyond }

// Ambiguous reports whether r declares the length of its body twice, or may do so. It must be
// called when the header of r has just been read from the connection. It is false for HTTP/2.
func (c *Conn) Ambiguous(r *http.Request) bool { return r.ProtoMajor == 1 && c.framing.ambiguous(r) }

// Answered must be called when r, which came from the connection, has been answered.
func (c *Conn) Answered(r *http.Request) {
	if r.ProtoMajor == 1 {
		c.framing.next(r)
	}
}

type connKey struct{}

// WithConn is the ConnContext that an [http.Server] on a Listener needs for [ConnOf].
func WithConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// ConnOf returns the connection of a request, or nil if it came through another listener.
func ConnOf(r *http.Request) *Conn {
	c, _ := r.Context().Value(connKey{}).(*Conn)
	return c
}

func tcpAddr(a net.Addr) *net.TCPAddr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return &net.TCPAddr{}
	}
	return tcp
}
