package agenttool

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// mergeBuffer is how far a merger reads ahead, and the length of a merged event, in bytes.
const mergeBuffer = 64 << 10

// merger reads a stream of events, and merges chunks that have arrived together: successive events
// that append a single text to the same artifact and are equal byte for byte but for that text. It
// never waits for a chunk to merge. Decoding an event costs more than anything else that is done
// with a chunk.
type merger struct {
	io.Closer

	in  *bufio.Reader
	out []byte // not read yet
	buf []byte // that out is a part of
	err error
}

func newMerger(body io.ReadCloser) *merger {
	return &merger{Closer: body, in: bufio.NewReaderSize(body, mergeBuffer)}
}

// Read implements [io.Reader].
func (m *merger) Read(p []byte) (int, error) {
	if len(m.out) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		m.fill()
	}
	n := copy(p, m.out)
	m.out = m.out[n:]
	if n == 0 && len(p) > 0 && m.err != nil {
		return 0, m.err
	}
	return n, nil
}

// fill reads at least a line, and merges the events that follow it in the buffer.
func (m *merger) fill() {
	line, err := m.in.ReadSlice('\n')
	m.buf = append(m.buf[:0], line...)
	if m.out = m.buf; err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		m.err = err
		return
	}
	text, end, ok := chunkOf(m.buf)
	for ok && len(m.buf) < mergeBuffer {
		next, size := m.ahead()
		if next == nil {
			break
		}
		from, to, same := chunkOf(next)
		if !same || !bytes.Equal(next[:from], m.buf[:text]) || !bytes.Equal(next[to:], m.buf[end:]) {
			break
		}
		// The escaped texts are joined: the end of the line moves behind the added text.
		more := to - from
		m.buf = append(m.buf, next[len(next)-more:]...)
		copy(m.buf[end+more:], m.buf[end:len(m.buf)-more])
		copy(m.buf[end:], next[from:to])
		end += more
		if _, err := m.in.Discard(size); err != nil {
			m.err = err
			break
		}
	}
	m.out = m.buf
}

// ahead returns the line with the data of the next event, if all of the event is in the buffer, and
// the number of bytes up to the end of that line. The lines between are those that end an event, and
// the id of the next.
func (m *merger) ahead() (line []byte, size int) {
	buffered, err := m.in.Peek(m.in.Buffered())
	if err != nil {
		return nil, 0
	}
	for rest := buffered; ; {
		n := bytes.IndexByte(rest, '\n') + 1
		if n == 0 {
			return nil, 0
		}
		switch one := rest[:n]; {
		case bytes.HasPrefix(one, dataKey):
			return one, size + n
		case len(one) > 1 && !bytes.HasPrefix(one, idKey):
			return nil, 0
		}
		rest, size = rest[n:], size+n
	}
}

var (
	dataKey   = []byte("data: ")
	idKey     = []byte("id: ")
	appended  = []byte(`"append":true`)
	partsKey  = []byte(`"parts":`)
	textEnd   = []byte(`"}]`)
	textBegin = [][]byte{[]byte(`"parts":[{"text":"`), []byte(`"parts":[{"kind":"text","text":"`)}
)

// chunkOf returns where the text of a line is, if that is an event that appends a single text to an
// artifact. A quotation mark within a text is escaped, so that none of the keys is found in a text.
func chunkOf(line []byte) (from, to int, ok bool) {
	if !bytes.HasPrefix(line, dataKey) {
		return 0, 0, false
	}
	for _, key := range textBegin {
		at := bytes.Index(line, key)
		if at < 0 || bytes.Count(line, partsKey) != 1 { // parts within data are none of the artifact
			continue
		}
		from = at + len(key)
		for to = from; to < len(line) && line[to] != '"'; to++ {
			if line[to] == '\\' {
				to++
			}
		}
		return from, to, to < len(line) && bytes.HasPrefix(line[to:], textEnd) &&
			(bytes.Contains(line[:at], appended) || bytes.Contains(line[to:], appended))
	}
	return 0, 0, false
}
