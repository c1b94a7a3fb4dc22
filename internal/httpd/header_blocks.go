package httpd

import (
	"net"
	"time"
)

// TimeHeaders returns c as a connection that closes itself when any of its HTTP/2 header
// blocks takes longer than limit. c has to be decrypted.
func TimeHeaders(c net.Conn, limit time.Duration) net.Conn {
	return &timed{Conn: c, limit: limit}
}

// timed is a connection with a time limit for its header blocks.
type timed struct {
	net.Conn
	limit  time.Duration
	blocks blocks
}

// Read implements [net.Conn].
func (c *timed) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.blocks.follow(c.Conn, p[:n], err, c.limit)
	return n, err
}

// blocks tracks where HTTP/2 header blocks begin and end: a HEADERS frame and any number of
// CONTINUATION frames (RFC 9113 §4.3). Servers wait for the end of a block as long as for the
// next request of an idle connection. blocks has to see all bytes read from a connection. It
// needs no lock, because one goroutine reads at a time. The zero value is for a new
// connection.
type blocks struct {
	open  bool        // a header block has begun and not ended
	begun uint        // header blocks
	timer *time.Timer // of the open block; nil: no read has ended within a block

	seen  int     // bytes of the preface
	other bool    // not HTTP/2
	head  [9]byte // of a frame
	n     int     // bytes of head
	left  int     // bytes of the frame still to come
	last  bool    // the frame ends the block
}

// preface is how an HTTP/2 connection begins (RFC 9113 §3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

const (
	frameHeaders      = 0x1
	frameContinuation = 0x9
	flagEndHeaders    = 0x4
)

// follow processes the result of a read from a connection: some bytes, or an error. It closes
// the connection when a block takes longer than limit. A read deadline would not do: servers
// set and clear deadlines themselves, and do not know that a buffered block has begun.
func (b *blocks) follow(c net.Conn, p []byte, err error, limit time.Duration) {
	open, begun := b.open, b.begun
	b.read(p)
	switch {
	case b.timer != nil && (err != nil || !b.open):
		b.timer.Stop()
	case !b.open || open && b.begun == begun:
	case b.timer == nil:
		b.timer = time.AfterFunc(limit, func() { _ = c.Close() })
	default:
		b.timer.Reset(limit)
	}
}

// read processes bytes read from the connection.
func (b *blocks) read(p []byte) {
	for ; b.seen < len(preface) && len(p) > 0 && !b.other; p = p[1:] {
		b.other = p[0] != preface[b.seen]
		b.seen++
	}
	for len(p) > 0 && !b.other {
		if b.left > 0 {
			n := min(b.left, len(p))
			b.left, p = b.left-n, p[n:]
		} else {
			n := copy(b.head[b.n:], p)
			b.n, p = b.n+n, p[n:]
			if b.n < len(b.head) {
				return
			}
			b.n, b.left = 0, int(b.head[0])<<16|int(b.head[1])<<8|int(b.head[2])
			if kind := b.head[3]; kind == frameHeaders || kind == frameContinuation {
				b.open, b.last = true, b.head[4]&flagEndHeaders != 0
				if kind == frameHeaders {
					b.begun++
				}
			}
		}
		if b.left == 0 && b.last {
			b.open, b.last = false, false
		}
	}
}
