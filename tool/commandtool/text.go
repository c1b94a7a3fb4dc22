package commandtool

import "unicode/utf8"

// decoder makes valid UTF-8 of input that is read in pieces: each invalid byte becomes U+FFFD,
// and a character that is cut in two by a read stays whole. The result does not depend on
// where the reads cut.
type decoder struct {
	cut  [utf8.UTFMax]byte // the beginning of a character
	left int               // how many bytes of it
}

// decode appends the text of b to dst.
func (d *decoder) decode(dst, b []byte) []byte {
	for d.left > 0 && len(b) > 0 {
		d.cut[d.left] = b[0]
		d.left++
		b = b[1:]
		if !utf8.FullRune(d.cut[:d.left]) {
			continue
		}
		// The added byte may begin another character, so only the decoded bytes are removed.
		r, size := utf8.DecodeRune(d.cut[:d.left])
		dst = utf8.AppendRune(dst, r)
		d.left = copy(d.cut[:], d.cut[size:d.left])
		for d.left > 0 && utf8.FullRune(d.cut[:d.left]) {
			r, size := utf8.DecodeRune(d.cut[:d.left])
			dst = utf8.AppendRune(dst, r)
			d.left = copy(d.cut[:], d.cut[size:d.left])
		}
	}
	if end := len(b) - unfinished(b); end < len(b) {
		d.left = copy(d.cut[:], b[end:])
		b = b[:end]
	}
	if utf8.Valid(b) {
		return append(dst, b...)
	}
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		dst = utf8.AppendRune(dst, r)
		b = b[size:]
	}
	return dst
}

// end appends U+FFFD for each byte of an incomplete character.
func (d *decoder) end(dst []byte) []byte {
	for range d.left {
		dst = utf8.AppendRune(dst, utf8.RuneError)
	}
	d.left = 0
	return dst
}

// unfinished returns how many bytes at the end of b are the beginning of a character.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if utf8.FullRune(b[len(b)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}

// cutAt returns the largest length of valid text up to n bytes that cuts no character.
func cutAt(b []byte, n int) int {
	if n >= len(b) {
		return len(b)
	}
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

// tail keeps the end of a text.
type tail struct {
	limit int
	kept  []byte
	total int64
}

func (t *tail) add(b []byte) {
	t.total += int64(len(b))
	if len(b) > t.limit {
		b = b[len(b)-t.limit:]
	}
	if len(t.kept)+len(b) > 2*t.limit {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-t.limit:]...)
	}
	t.kept = append(t.kept, b...)
}

// text returns the end of the text, whole characters of it, and how many bytes are
// missing before it.
func (t *tail) text() (text string, missing int64) {
	b := t.kept[max(0, len(t.kept)-t.limit):]
	if int64(len(b)) < t.total {
		for len(b) > 0 && !utf8.RuneStart(b[0]) {
			b = b[1:]
		}
	}
	return string(b), t.total - int64(len(b))
}
