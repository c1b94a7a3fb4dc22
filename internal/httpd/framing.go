package httpd

import (
	"bytes"
	"net/http"
	"sync"
)

// framing detects a request that net/http hides: a request with both Content-Length and
// Transfer-Encoding. A proxy in front may trust the other header, and treat the end of the
// body as another client's request (RFC 9112 §6.1). framing has to see all bytes read from an
// HTTP/1 connection, and keeps only the beginnings of header lines. The zero value is for a
// new connection.
type framing struct {
	mu     sync.Mutex // net/http reads in the background while a handler runs
	line   [len("transfer-encoding:")]byte
	n      int      // bytes of line
	tail   [5]byte  // last bytes read: the end of the chunks, and one byte after it
	total  int64    // bytes read
	header int64    // length of the header; 0: it has not ended
	named  framings // in the header so far
	begun  bool     // the request line has been read
	lost   bool     // the beginning of the header was not seen
	off    bool     // not HTTP/1
}

type framings struct{ length, encoding bool }

// read processes bytes read from the connection.
func (f *framing) read(p []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.see(p)
}

// see is read with f.mu held.
func (f *framing) see(p []byte) {
	if f.off {
		return
	}
	before := f.total
	f.total += int64(len(p))
	last := p[max(0, len(p)-len(f.tail)):]
	copy(f.tail[:], f.tail[len(last):])
	copy(f.tail[len(f.tail)-len(last):], last)
	for at := 0; f.header == 0 && at < len(p) && !f.off; {
		end := bytes.IndexByte(p[at:], '\n')
		if end < 0 {
			f.n += copy(f.line[f.n:], p[at:])
			return
		}
		f.n += copy(f.line[f.n:], p[at:at+end])
		at += end + 1
		if f.endLine() {
			f.header = before + int64(at)
		}
	}
}

// endLine processes a line of the header, and reports whether it is the last.
func (f *framing) endLine() bool {
	line := f.line[:f.n]
	f.n = 0
	switch {
	case len(line) == 0 || len(line) == 1 && line[0] == '\r':
		return f.begun // net/http skips empty lines before a request
	case !f.begun:
		f.begun = true
		f.off = bytes.HasPrefix(line, []byte("PRI "))
	case names(line, "content-length:"):
		f.named.length = true
	case names(line, "transfer-encoding:"):
		f.named.encoding = true
	}
	return false
}

// names reports whether a header line begins with name, which is in lower case.
func names(line []byte, name string) bool {
	return len(line) >= len(name) && line[0]|0x20 == name[0] && bytes.EqualFold(line[:len(name)], []byte(name))
}

// ambiguous reports whether r, whose header has just been read, declares the length of its
// body twice, or may do so: the beginning of a request that arrived together with its
// predecessor was not seen. HTTP/1.0 has no Transfer-Encoding, and net/http ignores it there,
// so it makes the length ambiguous on its own.
func (f *framing) ambiguous(r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.header == 0 {
		f.lost = true // so that a body is not mistaken for a header
	}
	old := !r.ProtoAtLeast(1, 1)
	if f.lost {
		return old || len(r.TransferEncoding) > 0
	}
	return f.named.encoding && (f.named.length || old)
}

// next prepares for the request after r, which has been answered. Its first byte may already
// have been read: net/http reads it while a handler runs, and a client sends it as soon as it
// has the answer.
func (f *framing) next(r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.off {
		return
	}
	const end = "\r\n\r\n"
	more := f.total - f.header - r.ContentLength // after r
	if r.ContentLength < 0 {
		switch {
		case string(f.tail[1:]) == end:
			more = 0
		case string(f.tail[:len(end)]) == end:
			more = 1
		default:
			more = -1
		}
	}
	first := f.tail[len(f.tail)-1]
	lost := f.lost || f.header == 0 || more < 0 || more > 1
	f.line, f.n, f.total, f.header, f.named, f.begun = [len(f.line)]byte{}, 0, 0, 0, framings{}, false
	if f.lost = lost; more == 1 && !lost {
		f.see([]byte{first})
	}
}
