package agenttool

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
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

	size int  // bytes of the event so far
	mid  bool // the next line is the rest of one that did not fit into the buffer
}

// errEndless ends a stream with an event over maxBody.
var errEndless = publicError(fmt.Sprintf("an event of its stream is longer than %d bytes", maxBody))

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
	first := !m.mid
	m.mid = len(line) > 0 && line[len(line)-1] != '\n'
	switch {
	case first && len(bytes.TrimRight(line, "\r\n")) == 0:
		m.size = 0 // the event has ended
	case first && !m.mid && line[0] == ':': // a comment
	default:
		m.size += len(line)
	}
	if m.size > maxBody {
		m.out, m.err = nil, errEndless
		return
	}
	if !first || m.mid {
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
	dataKey     = []byte("data: ")
	idKey       = []byte("id: ")
	appendKey   = []byte("append")
	partsKey    = []byte("parts")
	artifactKey = []byte("artifact")
	isTrue      = []byte(":true")
	textEnd     = []byte(`"}]`)
	textBegin   = [][]byte{[]byte(`"parts":[{"text":"`), []byte(`"parts":[{"kind":"text","text":"`)}
)

// maxLevels limits how deep chunkOf follows an event.
const maxLevels = 16

// chunkOf returns where the text of a line is, if that is an event that appends a single text to an
// artifact: the only part of the artifact has a text alone, and the update says that it appends.
// Equal names elsewhere, as in data or metadata, mean nothing.
func chunkOf(line []byte) (from, to int, ok bool) {
	if !bytes.HasPrefix(line, dataKey) {
		return 0, 0, false
	}
	var (
		open            [maxLevels][]byte // names of the open objects and lists, from 1
		name            []byte
		level           int
		artifact, adder int // levels of the artifact with the text, and of an update that appends
	)
	for i := len(dataKey); i < len(line); i++ {
		switch line[i] {
		case '{', '[':
			if level++; level == maxLevels {
				return 0, 0, false
			}
			open[level], name = name, nil
		case '}', ']':
			if level--; level < 0 {
				return 0, 0, false
			}
		case '"':
			end := stringEnd(line, i+1)
			if end >= len(line)-1 {
				return 0, 0, false
			}
			if name = nil; line[end+1] == ':' {
				name = line[i+1 : end]
			}
			switch {
			case bytes.Equal(name, partsKey) && level > 1 && bytes.Equal(open[level], artifactKey) && isUpdate(open[2:level]):
				if from, to = textAt(line, i); from == 0 || artifact != 0 {
					return 0, 0, false
				}
				artifact, end = level, to+len(textEnd)-1
			case bytes.Equal(name, appendKey) && level > 0 && isUpdate(open[2:max(2, level+1)]) && bytes.HasPrefix(line[end+1:], isTrue):
				adder = level
			}
			i = end
		}
	}
	return from, to, level == 0 && artifact > 1 && adder == artifact-1
}

// isUpdate reports whether these names lead to an artifact update: of A2A 0.3 and 1.0, with and
// without JSON-RPC.
func isUpdate(names [][]byte) bool {
	return slices.Contains([]string{"", "result", "artifactUpdate", "result.artifactUpdate"}, string(bytes.Join(names, []byte("."))))
}

// textAt returns where the text of parts is that consist of a single text; zeros: they do not.
func textAt(line []byte, at int) (from, to int) {
	for _, key := range textBegin {
		if !bytes.HasPrefix(line[at:], key) {
			continue
		}
		from = at + len(key)
		if to = stringEnd(line, from); to < len(line) && bytes.HasPrefix(line[to:], textEnd) {
			return from, to
		}
	}
	return 0, 0
}

// stringEnd returns where a string ends that is open at i: at its quotation mark, or with the line.
func stringEnd(line []byte, i int) int {
	for ; i < len(line) && line[i] != '"'; i++ {
		if line[i] == '\\' {
			i++
		}
	}
	return i
}
