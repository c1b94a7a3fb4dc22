package agenttool

import (
	"bytes"
	"fmt"
	"io"
)

// eventLimit reads a stream of events, and fails in an event of more than maxBody bytes.
type eventLimit struct {
	io.ReadCloser

	line, event int // bytes so far
}

// Read implements [io.Reader].
func (l *eventLimit) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		size := bytes.IndexByte(rest, '\n') + 1
		ends := size > 0
		if !ends {
			size = len(rest)
		}
		l.line, l.event = l.line+size, l.event+size
		if l.event > maxBody {
			return 0, publicError(fmt.Sprintf("an event of its stream is longer than %d bytes", maxBody))
		}
		if ends && l.line <= len("\r\n") { // it is empty, or has no data
			l.event = 0
		}
		if ends {
			l.line = 0
		}
		rest = rest[size:]
	}
	return n, err
}
