package strictjson

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Reader reads a value in one pass, checks it, and builds only the requested parts. Each method
// reads the next value, and reports false for input that [Validate] refuses and for a value of
// another kind: nothing more can be read then. A Reader is for a single goroutine.
type Reader struct{ *decoder }

// Read calls read with a reader of the only value in raw. It refuses what [Validate] refuses, as far as
// read has read: the error is an *[Error]. If read returns false for any other reason, the error
// is nil, and the rest of raw has not been checked.
func Read(raw []byte, read func(r Reader) bool) error {
	d := newDecoder(raw)
	defer d.free()
	d.bound = true
	return d.read(read)
}

// ReadTrusted is [Read] for JSON that this program has written or checked. It refuses only what is not
// JSON.
func ReadTrusted(raw []byte, read func(r Reader) bool) error {
	d := newDecoder(raw, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	defer d.free()
	d.trusted = true
	return d.read(read)
}

func (d *decoder) read(read func(r Reader) bool) error {
	if !read(Reader{d}) {
		return d.err
	}
	return d.end()
}

// ReadObject is [Read] for a value that has to be an object: member is called as by [Reader.Object].
func ReadObject(raw []byte, member func(r Reader, name []byte) bool) error {
	isObject := false
	err := Read(raw, func(r Reader) bool {
		isObject = r.text.PeekKind() == '{'
		return isObject && r.Object(func(name []byte) bool { return member(r, name) })
	})
	if !isObject {
		if err = Validate(raw); err == nil {
			_, err = DecodeObject(raw)
		}
	}
	return err
}

// Object reads an object. member is called with each name, which it must not keep, has to
// read the value, and reports whether to continue.
func (r Reader) Object(member func(name []byte) bool) bool {
	if !r.open('{') {
		return false
	}
	for {
		if r.text.PeekKind() != '"' { // the end, or no name
			return r.close()
		}
		quoted, err := r.text.ReadValue()
		if err != nil {
			_ = r.refusal(err) // is kept
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
	t, err := r.begin()
	return err == nil && t.Kind() == kind && r.nested() == nil
}

// close reads the closing bracket.
func (r Reader) close() bool {
	_, err := r.next()
	return err == nil
}

// Kind returns the kind of the next token: its first byte, but '0' for every number; 0 if there is none.
func (r Reader) Kind() byte { return byte(r.text.PeekKind()) }

// Skip reads any value of [ReadTrusted].
func (r Reader) Skip() bool {
	_, err := r.text.ReadValue()
	return err == nil
}

// AppendText reads a string, and appends its text to dst.
func (r Reader) AppendText(dst []byte) ([]byte, bool) {
	quoted, err := r.text.ReadValue()
	switch {
	case err != nil || quoted[0] != '"':
		return dst, false
	case bytes.IndexByte(quoted, '\\') < 0 && utf8.Valid(quoted):
		return append(dst, quoted[1:len(quoted)-1]...), true
	}
	dst, _ = jsontext.AppendUnquote(dst, quoted) // invalid UTF-8 becomes U+FFFD
	return dst, true
}

// Bool reads true or false.
func (r Reader) Bool() (value, ok bool) {
	t, err := r.begin()
	return t.Kind() == 't', err == nil && (t.Kind() == 't' || t.Kind() == 'f')
}

// Number reads a number.
func (r Reader) Number() (float64, bool) {
	t, err := r.begin()
	if err != nil || t.Kind() != '0' {
		return 0, false
	}
	f, err := t.Float()
	return f, err == nil
}

// Text reads a string.
func (r Reader) Text() (string, bool) {
	t, err := r.begin()
	if err != nil || t.Kind() != '"' {
		return "", false
	}
	return t.String(), true
}

// Integer reads a number without a fraction or an exponent.
func (r Reader) Integer() (int64, bool) {
	t, err := r.begin()
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

// Raw reads any value, and returns its JSON, a slice of the input. Numbers in it may have any
// size if anyNumber is set, for callers that only copy them.
func (r Reader) Raw(anyNumber bool) ([]byte, bool) {
	return r.Span(func() bool {
		r.check, r.any = true, anyNumber
		_, err := r.value()
		r.check, r.any = false, false
		return err == nil
	})
}

// Span returns the JSON of the value that read reads, a slice of the input.
func (r Reader) Span(read func() bool) ([]byte, bool) {
	from := r.text.InputOffset()
	ok := read()
	end := r.text.InputOffset()
	return bytes.TrimLeft(r.raw[from:end:end], ",: \t\r\n"), ok
}

// Unquote returns the text of a string that [Reader.Raw] has read.
func Unquote(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	text, _ := jsontext.AppendUnquote(nil, quoted) // it is valid
	return string(text)
}
