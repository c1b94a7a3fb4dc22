package strictjson

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Reader reads a value in one pass, and builds only the requested parts. Each method reads the
// next value, and reports false for input that [Decode] refuses and for a value of another
// kind: nothing more can be read then. Data after the value is ignored. A Reader is for a single
// goroutine.
type Reader struct{ *decoder }

// Read calls read with a reader of the only value in raw, and returns its result.
func Read(raw []byte, read func(r Reader) bool) bool {
	d := newDecoder(raw)
	defer d.free()
	return read(Reader{d})
}

// Object reads an object. member is called with each name, which it must not keep, has to
// read the value, and reports whether to continue.
func (r Reader) Object(member func(name []byte) bool) bool {
	if !r.open('{') {
		return false
	}
	for r.text.PeekKind() != '}' {
		quoted, err := r.text.ReadValue()
		if err != nil {
			return false
		}
		name := quoted[1 : len(quoted)-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			name, _ = jsontext.AppendUnquote(nil, quoted) // it is valid
		}
		if !member(name) {
			return false
		}
	}
	return r.close()
}

// Array reads an array. element must read a single element, and reports whether to continue.
func (r Reader) Array(element func() bool) bool {
	if !r.open('[') {
		return false
	}
	for r.text.PeekKind() != ']' {
		if !element() {
			return false
		}
	}
	return r.close()
}

// open reads the bracket of a value of a kind.
func (r Reader) open(kind jsontext.Kind) bool {
	t, err := r.next()
	return err == nil && t.Kind() == kind && r.nested() == nil
}

// close reads the closing bracket.
func (r Reader) close() bool {
	_, err := r.next()
	return err == nil
}

// Text reads a string.
func (r Reader) Text() (string, bool) {
	t, err := r.next()
	if err != nil || t.Kind() != '"' {
		return "", false
	}
	return t.String(), true
}

// Integer reads a number without a fraction or an exponent.
func (r Reader) Integer() (int64, bool) {
	t, err := r.next()
	if err != nil || t.Kind() != '0' {
		return 0, false
	}
	n, err := strconv.ParseInt(t.String(), 10, 64)
	return n, err == nil && -maxInt <= n && n <= maxInt
}

// Value reads any value, as [Decode] returns it.
func (r Reader) Value() (any, bool) {
	v, err := r.value()
	return v, err == nil
}
