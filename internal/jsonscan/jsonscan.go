// Package jsonscan reads JSON once, from left to right, without decoding it. It is for JSON that
// this program has written, or validated before.
package jsonscan

import (
	"bytes"
	"encoding/json"
)

// Scanner reads a value. It checks only as much as it needs to find its way. At input that is not
// JSON it stops, and Broken is true; it never reads past the end.
type Scanner struct {
	Broken bool

	b  []byte
	i  int
	at int // where the current member begins
}

// New returns a scanner of raw.
func New(raw []byte) Scanner { return Scanner{b: raw} }

// Stop marks the input as broken; everything that follows reads as its end.
func (s *Scanner) Stop() {
	s.Broken = true
	s.i = len(s.b)
}

// Peek returns the next byte that is not a space, or 0 at the end.
func (s *Scanner) Peek() byte {
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return c
		}
	}
	return 0
}

// Take consumes a byte that has to be there.
func (s *Scanner) Take(c byte) {
	if s.Peek() != c {
		s.Stop()
		return
	}
	s.i++
}

// Members consumes an object. It yields the name of each member, whose value is next.
func (s *Scanner) Members(yield func(name []byte) bool) {
	s.Take('{')
	for first := true; s.more('}', first); first = false {
		s.at = s.i
		if !yield(s.Name()) {
			return
		}
	}
}

// Elements consumes a list. It yields before each element, which is next.
func (s *Scanner) Elements(yield func() bool) {
	s.Take('[')
	for first := true; s.more(']', first); first = false {
		if !yield() {
			return
		}
	}
}

// more begins the next element of a list or member of an object, whose opening bracket was
// consumed, and reports whether there is another. It consumes the closing bracket.
func (s *Scanner) more(closing byte, first bool) bool {
	if s.Peek() == closing {
		s.i++
		return false
	}
	if !first {
		s.Take(',')
	} else if s.Peek() == 0 {
		s.Stop()
	}
	return !s.Broken
}

// Name consumes the name of a member and the colon.
func (s *Scanner) Name() []byte {
	quoted := s.Text()
	s.Take(':')
	if s.Broken {
		return nil
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	var name string
	if json.Unmarshal(quoted, &name) != nil {
		s.Stop()
	}
	return []byte(name)
}

// Member returns the current member as far as it has been read, with its name.
func (s *Scanner) Member() []byte { return s.b[s.at:s.i] }

// Text consumes a string, and returns it with its quotes.
func (s *Scanner) Text() []byte {
	if s.Peek() != '"' {
		s.Stop()
		return nil
	}
	begin := s.i
	if s.quoted(); s.Broken {
		return nil
	}
	return s.b[begin:s.i]
}

// quoted consumes a string, whose opening quote is next.
func (s *Scanner) quoted() {
	for j := s.i + 1; ; {
		n := bytes.IndexByte(s.b[j:], '"')
		if n < 0 {
			s.Stop()
			return
		}
		end := j + n
		escapes := end
		for s.b[escapes-1] == '\\' {
			escapes--
		}
		if (end-escapes)%2 == 0 {
			s.i = end + 1
			return
		}
		j = end + 1
	}
}

// Value consumes a value of any kind and returns it.
func (s *Scanner) Value() []byte {
	c := s.Peek()
	begin := s.i
	switch c {
	case '"':
		s.quoted()
	case '{', '[':
		s.nested()
	default:
		for s.i < len(s.b) && !isEnd(s.b[s.i]) {
			s.i++
		}
	}
	if s.Broken || s.i == begin {
		s.Stop()
		return nil
	}
	return s.b[begin:s.i]
}

// nested consumes an object or a list.
func (s *Scanner) nested() {
	depth := 0
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case '"':
			s.quoted()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				s.i++
				return
			}
		}
		s.i++
	}
	s.Stop()
}

// isEnd reports whether a byte ends a number or literal.
func isEnd(c byte) bool {
	switch c {
	case ',', ':', '}', ']', '{', '[', '"', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}
