package app

import (
	"context"
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

	"a2a-server/internal/app/config"
)

const (
	// reserved is how many connections are taken beyond the limits, so that probes are
	// answered. The oldest makes room for the newest: a probe needs its for a moment.
	reserved = 16
	// ownFiles is how many descriptors are kept for everything but connections.
	ownFiles = 64
	// complaints is how often the log says that there is no room for a connection.
	complaints = time.Minute
)

// room is how much of what the configuration allows fits the process.
type room struct {
	files       int // that it may have open; 0: not known
	connections int
	streams     int
}

// fit returns the room of a process that may open files.
func fit(l config.Limits, files int) room {
	connections := l.Connections
	if files > 0 {
		connections = min(connections, max(files-ownFiles, files/4, 1))
	}
	// A quarter is kept for requests that are answered at once.
	most := func(n int) int { return max(1, n-n/4) }
	return room{files: files, connections: connections, streams: min(l.Streams, most(connections), most(l.Requests))}
}

// connections is a listener whose connections are counted: in all, and those of one
// address. One too many is taken all the same, but may only have a probe answered.
type connections struct {
	net.Listener
	most   int           // in all
	share  int           // of one source
	header time.Duration // that a header block of HTTP/2 may take
	log    zerolog.Logger
	now    func() time.Time

	mu      sync.Mutex
	open    int
	from    map[netip.Prefix]int
	beyond  []*connection // the oldest first
	noFiles time.Time     // when the log said so
	noRoom  time.Time     // likewise
	turned  int           // connections beyond the limits since then
}

func newConnections(l net.Listener, most int, header time.Duration, log zerolog.Logger, now func() time.Time) *connections {
	return &connections{Listener: l, most: most, share: max(1, most/4), header: header, log: log, now: now, from: map[netip.Prefix]int{}}
}

// connection is one of [connections].
type connection struct {
	net.Conn
	of      *connections
	source  netip.Prefix // invalid: not counted by source
	beyond  bool         // the limits
	closed  atomic.Bool
	framing framing
	blocks  blocks
}

// sourceOf returns what counts as one source: an address, or for version 6 the network
// that one subscriber gets. It is invalid for a loopback address.
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
func (l *connections) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			l.complainOfFiles(err)
		}
		return nil, err
	}
	c := &connection{Conn: conn, of: l, source: sourceOf(conn.RemoteAddr())}
	if oldest := l.take(c); oldest != nil {
		_ = oldest.Conn.Close() // who serves it sees that, and closes the rest
	}
	return c, nil
}

// take counts c, and returns the connection that has to make room for it, or nil.
func (l *connections) take(c *connection) (oldest *connection) {
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
			Msg("connections beyond limits.connections get probes answered and nothing else")
		l.noRoom, l.turned = now, 0
	}
	return oldest
}

// give counts c no longer.
func (l *connections) give(c *connection) {
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

func (l *connections) complainOfFiles(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.now(); now.Sub(l.noFiles) >= complaints {
		l.log.Error().Err(err).Int("open", l.open).Msg("no connection can be taken, because all files that the process may open are open: raise that limit (ulimit -n), or lower limits.connections")
		l.noFiles = now
	}
}

// Read implements [net.Conn].
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.framing.read(p[:n])
		c.timeBlock(p[:n])
	}
	return n, err
}

// timeBlock gives a header block of HTTP/2 its time. net/http sets no deadline there.
func (c *connection) timeBlock(p []byte) {
	before := c.blocks.open
	c.blocks.read(p)
	if c.blocks.open == before {
		return
	}
	deadline := time.Time{}
	if c.blocks.open {
		deadline = time.Now().Add(c.of.header)
	}
	_ = c.Conn.SetReadDeadline(deadline) // it is closed already
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.of.give(c)
	}
	return c.Conn.Close()
}

// CloseWrite lets net/http end a connection such that its last answer is read.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

type connectionKey struct{}

// withConnection is the ConnContext of the HTTP server.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// connectionOf returns the connection of a request.
func connectionOf(r *http.Request) *connection {
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	return c
}
