package commandtool

import "unicode/utf8"

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
