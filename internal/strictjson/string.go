package strictjson

import (
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string and returns its text, which may be a slice of raw. With skip it only
// checks the string.
func (d *decoder) str(skip bool) ([]byte, *Error) {
	d.pos++ // the quote
	start := d.pos
	for {
		if d.pos += plainLength(d.raw[d.pos:]); d.pos >= len(d.raw) {
			return nil, d.syntax("it ends inside a string")
		}
		switch c := d.raw[d.pos]; {
		case c == '"':
			d.pos++
			return d.raw[start : d.pos-1], nil
		case c == '\\':
			return d.escaped(start, skip)
		case c < ' ':
			return nil, d.syntax("a string holds a control character; write it as an escape")
		default:
			r, size := utf8.DecodeRune(d.raw[d.pos:])
			if r == utf8.RuneError && size <= 1 {
				return nil, d.syntax("a string is not valid UTF-8")
			}
			d.pos += size
		}
	}
}

// escaped reads the rest of the string that began at start, from its first backslash.
func (d *decoder) escaped(start int, skip bool) ([]byte, *Error) {
	var b []byte
	if !skip {
		b = append(make([]byte, 0, d.pos-start+32), d.raw[start:d.pos]...)
	}
	for d.pos < len(d.raw) {
		c := d.raw[d.pos]
		size := 1
		switch {
		case isPlain(c):
			size = plainLength(d.raw[d.pos:])
		case c == '"':
			d.pos++
			return b, nil
		case c == '\\':
			r, err := d.escape()
			if err != nil {
				return nil, err
			}
			if !skip {
				b = utf8.AppendRune(b, r)
			}
			continue
		case c < ' ':
			return nil, d.syntax("a string holds a control character; write it as an escape")
		case c >= utf8.RuneSelf:
			var r rune
			if r, size = utf8.DecodeRune(d.raw[d.pos:]); r == utf8.RuneError && size <= 1 {
				return nil, d.syntax("a string is not valid UTF-8")
			}
		}
		if !skip {
			b = append(b, d.raw[d.pos:d.pos+size]...)
		}
		d.pos += size
	}
	return nil, d.syntax("it ends inside a string")
}

// escape reads an escape sequence.
func (d *decoder) escape() (rune, *Error) {
	if d.pos+1 >= len(d.raw) {
		return 0, d.syntax("it ends inside a string")
	}
	c := d.raw[d.pos+1]
	var r rune
	switch c {
	case '"', '\\', '/':
		r = rune(c)
	case 'b':
		r = '\b'
	case 'f':
		r = '\f'
	case 'n':
		r = '\n'
	case 'r':
		r = '\r'
	case 't':
		r = '\t'
	case 'u':
		return d.unicode()
	default:
		return 0, d.syntax("a string has a backslash that is not an escape")
	}
	d.pos += 2
	return r, nil
}

// unicode reads \uXXXX, or two of them for a surrogate pair.
func (d *decoder) unicode() (rune, *Error) {
	r, ok := d.hex(d.pos)
	if !ok {
		return 0, d.syntax("a string holds a \\u without four hexadecimal digits")
	}
	if !utf16.IsSurrogate(r) {
		d.pos += 6
		return r, nil
	}
	low, ok := d.hex(d.pos + 6)
	pair := utf16.DecodeRune(r, low)
	if !ok || pair == utf8.RuneError {
		return 0, d.syntax("a string holds half of a surrogate pair")
	}
	d.pos += 12
	return pair, nil
}

// hex returns the value of the \uXXXX at pos, if there is one.
func (d *decoder) hex(pos int) (rune, bool) {
	if pos+6 > len(d.raw) || d.raw[pos] != '\\' || d.raw[pos+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range d.raw[pos+2 : pos+6] {
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
