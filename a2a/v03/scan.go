package v03

import (
	"bytes"
	"encoding/json"
)

// scanner reads JSON once, from left to right. It checks only as much as it needs to find its
// way, because the input was written by this server, or validated before. At any other input
// it stops, and broken is true; it never reads past the end.
type scanner struct {
	b      []byte
	i      int
	at     int // where the current member begins
	broken bool
}

// stop marks the input as broken; everything that follows reads as its end.
func (s *scanner) stop() {
	s.broken = true
	s.i = len(s.b)
}

// peek returns the next byte that is not a space, or 0 at the end.
func (s *scanner) peek() byte {
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

// take consumes a byte that has to be there.
func (s *scanner) take(c byte) {
	if s.peek() != c {
		s.stop()
		return
	}
	s.i++
}

// members consumes an object. It yields the name of each member, whose value is next.
func (s *scanner) members(yield func(name []byte) bool) {
	s.take('{')
	for first := true; s.more('}', first); first = false {
		s.at = s.i
		if !yield(s.name()) {
			return
		}
	}
}

// elements consumes a list. It yields before each element, which is next.
func (s *scanner) elements(yield func() bool) {
	s.take('[')
	for first := true; s.more(']', first); first = false {
		if !yield() {
			return
		}
	}
}

// more begins the next element of a list or member of an object, whose opening bracket was
// consumed, and reports whether there is another. It consumes the closing bracket.
func (s *scanner) more(closing byte, first bool) bool {
	if s.peek() == closing {
		s.i++
		return false
	}
	if !first {
		s.take(',')
	} else if s.peek() == 0 {
		s.stop()
	}
	return !s.broken
}

// name consumes the name of a member and the colon.
func (s *scanner) name() []byte {
	quoted := s.text()
	s.take(':')
	if s.broken {
		return nil
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	var name string
	if json.Unmarshal(quoted, &name) != nil {
		s.stop()
	}
	return []byte(name)
}

// text consumes a string, and returns it with its quotes.
func (s *scanner) text() []byte {
	if s.peek() != '"' {
		s.stop()
		return nil
	}
	begin := s.i
	if s.quoted(); s.broken {
		return nil
	}
	return s.b[begin:s.i]
}

// quoted consumes a string, whose opening quote is next.
func (s *scanner) quoted() {
	for j := s.i + 1; ; {
		n := bytes.IndexByte(s.b[j:], '"')
		if n < 0 {
			s.stop()
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

// value consumes a value of any kind and returns it.
func (s *scanner) value() []byte {
	c := s.peek()
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
	if s.broken || s.i == begin {
		s.stop()
		return nil
	}
	return s.b[begin:s.i]
}

// nested consumes an object or a list.
func (s *scanner) nested() {
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
	s.stop()
}

// isEnd reports whether a byte ends a number or literal.
func isEnd(c byte) bool {
	switch c {
	case ',', ':', '}', ']', '{', '[', '"', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}

// isNull reports whether a value is null, or missing.
func isNull(value []byte) bool { return len(value) == 0 || value[0] == 'n' }

// isEmpty reports whether a value is an empty string.
func isEmpty(value []byte) bool { return string(value) == `""` }
