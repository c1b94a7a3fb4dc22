package commandtool

import (
	"bytes"
	"sync"
)

const (
	maxChunk    = 16 << 10 // bytes of a chunk: an event must have room for it, however it is escaped
	maxPending  = 64 << 10 // bytes that are read before they are published
	maxSegments = 64       // chunks that wait to be published, so that two streams that alternate stay in order
)

// The streams of a command.
const (
	stdout = iota
	stderr
	streams
)

// collector has the output of a command that is not published yet. The goroutines that read
// its streams add to it, and the publisher takes: while it publishes, further output is
// collected into larger chunks.
type collector struct {
	lines bool
	wake  chan struct{} // output for take may be there; capacity 1

	mu      sync.Mutex
	room    sync.Cond // pending is less than its limit
	pending []segment
	size    int // bytes of pending
	budget  int // bytes that may still become pending
	dropped int64
	open    int // streams that have not ended
	streams [streams]stream
}

// segment is text of a stream.
type segment struct {
	stream int
	text   []byte
}

// stream is the state of a stream.
type stream struct {
	tail    tail
	partial []byte // a line that has not ended
}

func newCollector(lines bool, budget int) *collector {
	c := &collector{lines: lines, wake: make(chan struct{}, 1), budget: budget, open: streams}
	c.room.L = &c.mu
	c.streams[stdout].tail.limit = maxTail
	c.streams[stderr].tail.limit = maxErrorTail
	return c
}

// add adds text read from a stream. It waits while too much is pending.
func (c *collector) add(of int, b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text(of, b)
	for c.size >= maxPending {
		c.room.Wait()
	}
}

// end says that a stream has ended.
func (c *collector) end(of int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.streams[of]
	c.put(of, s.partial)
	s.partial = nil
	c.open--
	c.signal()
}

// text divides valid text.
func (c *collector) text(of int, b []byte) {
	s := &c.streams[of]
	s.tail.add(b)
	if c.budget == 0 && len(s.partial) == 0 {
		c.dropped += int64(len(b))
		return
	}
	if !c.lines {
		c.put(of, b)
		return
	}
	if end := bytes.LastIndexByte(b, '\n') + 1; end > 0 {
		c.put(of, s.partial)
		c.put(of, b[:end])
		s.partial, b = s.partial[:0], b[end:]
	}
	s.partial = append(s.partial, b...)
	if len(s.partial) >= maxChunk { // too long for a line
		c.put(of, s.partial)
		s.partial = s.partial[:0]
	}
}

// put makes text pending, as far as the budget allows.
func (c *collector) put(of int, b []byte) {
	if n := cutAt(b, c.budget); n < len(b) {
		c.dropped += int64(len(b) - n)
		b = b[:n]
		c.budget = n // the rest is dropped: the output is published up to a single place
	}
	if len(b) == 0 {
		return
	}
	c.budget -= len(b)
	before := c.size
	c.size += len(b)
	if at := c.last(of); at >= 0 {
		c.pending[at].text = append(c.pending[at].text, b...)
	} else {
		c.pending = append(c.pending, segment{of, append(make([]byte, 0, max(len(b), 256)), b...)})
	}
	if before == 0 || before < maxChunk && c.size >= maxChunk {
		c.signal()
	}
}

// last returns the index of the segment to which text of a stream can be appended; -1: it
// needs a new segment.
func (c *collector) last(of int) int {
	for i := len(c.pending) - 1; i >= 0; i-- {
		if c.pending[i].stream == of {
			return i
		}
		if len(c.pending) < maxSegments {
			return -1
		}
	}
	return -1
}

func (c *collector) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// take returns the pending segments, if they have at least least bytes, or if all streams have
// ended.
func (c *collector) take(least int) (pending []segment, size int, ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ended = c.open == 0
	if c.size < least && !ended {
		return nil, c.size, false
	}
	pending, size = c.pending, c.size
	c.pending, c.size = nil, 0
	c.room.Broadcast()
	return pending, size, ended
}

// discard drops the pending segments; later output is only counted.
func (c *collector) discard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.pending {
		c.dropped += int64(len(s.text))
	}
	c.pending, c.size, c.budget = nil, 0, 0
	c.room.Broadcast()
}
