package listener

import (
	"bytes"
	"net/http"
	"sync"
)

// framing sees what net/http hides: that the header of a request says twice how long
// its body is, by Content-Length and by Transfer-Encoding. A proxy before us may believe
// the other one, and take the end of the body for a request of somebody else (RFC 9112
// §6.1). It watches what is read from a connection of HTTP/1, from the first byte of a
// request on, and keeps only how lines begin. Its zero value is for a new connection.
type framing struct {
	mu     sync.Mutex // net/http reads in the background while a handler runs
	line   [len("transfer-encoding:")]byte
	n      int      // bytes of line
	tail   [5]byte  // last bytes that were read: the end of chunks, and a byte after it
	total  int64    // bytes that were read
	header int64    // bytes of the header; 0: it has not ended
	named  framings // in the header so far
	begun  bool     // the line of the request has been read
	lost   bool     // the beginning of the header has not been seen
	off    bool     // it is no HTTP/1
}

type framings struct{ length, encoding bool }

// read takes what was read from the connection.
func (f *framing) read(p []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.see(p)
}

// see is read. f.mu must be held.
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

// endLine looks at a line of the header, and reports whether it is the last.
func (f *framing) endLine() bool {
	line := f.line[:f.n]
	f.n = 0
	switch {
	case len(line) == 0 || len(line) == 1 && line[0] == '\r':
		return f.begun // net/http passes empty lines before a request
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

// names reports whether a line of a header begins with name, in lower case.
func names(line []byte, name string) bool {
	return len(line) >= len(name) && line[0]|0x20 == name[0] && bytes.EqualFold(line[:len(name)], []byte(name))
}

// ambiguous reports whether the length of the body of r, whose header has just been
// read, is said twice, or may be: a request that came together with the one before it
// has not been seen from its beginning. HTTP/1.0 knows no encoding, and net/http passes
// over it there, so that the length is in doubt without another, too.
func (f *framing) ambiguous(r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.header == 0 {
		f.lost = true // a body that comes now is not to be taken for the header
	}
	old := !r.ProtoAtLeast(1, 1)
	if f.lost {
		return old || len(r.TransferEncoding) > 0
	}
	return f.named.encoding && (f.named.length || old)
}

// next prepares for the request after r, which has been answered. Its first byte may have
// been read: net/http waits for it while a handler runs, and a client sends it as soon as
// it has the answer.
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
