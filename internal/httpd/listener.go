package httpd

import (
	"context"
	"crypto/tls"
	"errors"
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

// reserved is how many connections are accepted beyond the limits, so that probes are
// answered. The oldest is closed for the newest: a probe only needs its own for a moment.
const reserved = 16

// Listener limits the number of open connections, in total and by address. Connections beyond
// the limits are accepted, but only to answer probes (see [OverLimit]). TLS goes around it. It is
// safe for concurrent use.
type Listener struct {
	net.Listener
	*counts
}

// counts are the open connections of the listeners that share a limit.
type counts struct {
	most  int // in total
	share int // of a source
	log   zerolog.Logger
	now   func() time.Time

	noFiles, noRoom seldom // lines of the log

	mu     sync.Mutex
	open   int
	from   map[netip.Prefix]int
	beyond []*Conn // oldest first
}

// NewListener returns a listener on l that may have most connections open, at most a quarter of them
// from the same address other than loopback. now returns the time.
func NewListener(l net.Listener, most int, log zerolog.Logger, now func() time.Time) *Listener {
	return &Listener{Listener: l, counts: &counts{most: most, share: max(1, most/4), log: log, now: now, from: map[netip.Prefix]int{}}}
}

// Beside returns a listener on other that shares the limits of l.
func (l *Listener) Beside(other net.Listener) *Listener {
	return &Listener{Listener: other, counts: l.counts}
}

// Conn is a connection of a [Listener].
type Conn struct {
	net.Conn
	of     *counts
	source netip.Prefix // invalid: not counted by source
	beyond bool         // over the limits
	closed atomic.Bool
}

// sourceOf returns the prefix that counts as a single address: an IPv4 address, or an IPv6
// /64, the share of a subscriber. It is invalid for a loopback address.
func sourceOf(a net.Addr) netip.Prefix {
	tcp, _ := a.(*net.TCPAddr)
	if addr := plain(tcp.AddrPort().Addr()); !addr.IsLoopback() {
		return network(addr)
	}
	return netip.Prefix{}
}

// network returns the IPv4 address, or the IPv6 /64 of an address; that of an invalid address is
// invalid.
func network(addr netip.Addr) netip.Prefix {
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	p, _ := addr.Prefix(bits) // both fit their address
	return p
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
	c := &Conn{Conn: conn, of: l.counts, source: sourceOf(conn.RemoteAddr())}
	if oldest := l.take(c); oldest != nil {
		_ = oldest.Conn.Close() // its server notices, and calls Close
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
	if others, may := l.noRoom.may(l.now()); may {
		l.log.Warn().Int("open", l.open).Int("limit", l.most).Int("limit_of_one_address", l.share).Int64("beyond", others+1).
			Msg("connections beyond limits.connections are refused, except for probes")
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
	if _, may := l.noFiles.may(l.now()); may {
		l.log.Error().Err(err).Int("open", l.open).Msg("no connection can be accepted, because the process has reached its limit of open files: raise it (ulimit -n), or lower limits.connections")
	}
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

// OverLimit reports whether the connection is beyond the limits.
func (c *Conn) OverLimit() bool { return c.beyond }

type connKey struct{}

// WithConn is the ConnContext that an [http.Server] on a Listener, or on TLS over one, needs for
// [OverLimit].
func WithConn(ctx context.Context, c net.Conn) context.Context {
	if encrypted, is := c.(*tls.Conn); is {
		c = encrypted.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// OverLimit reports whether the connection of a request is beyond the limits of its [Listener].
func OverLimit(r *http.Request) bool {
	c, is := r.Context().Value(connKey{}).(*Conn)
	return is && c.OverLimit()
}
