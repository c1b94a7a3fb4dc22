package strictjson

import "bytes"

// Reader reads a value in one pass, and builds only the requested parts. Each method reads the
// next value, and reports false for input that [Decode] refuses and for a value of another
// kind: nothing more can be read then. Data after the value is ignored. A Reader is for one
// goroutine.
type Reader struct{ d decoder }

// NewReader returns a reader of the only value in raw.
func NewReader(raw []byte) *Reader { return &Reader{decoder{raw: raw}} }

// Object reads an object. member is called with each name, which it must not keep, has to
// read the value, and reports whether to continue.
func (r *Reader) Object(member func(name []byte) bool) bool {
	if r.d.peek() != '{' {
		return false
	}
	_, err := r.d.nested(func(d *decoder) (any, *Error) {
		var names nameSet
		return nil, d.members(names.add, func(name []byte) *Error {
			if !member(name) {
				return &Error{Reason: "is not read to its end"}
			}
			return nil
		})
	})
	return err == nil
}

// Array reads an array. element must read a single element, and reports whether to continue.
func (r *Reader) Array(element func() bool) bool {
	if r.d.peek() != '[' {
		return false
	}
	_, err := r.d.nested(func(d *decoder) (any, *Error) {
		return nil, d.elements(func() *Error {
			if !element() {
				return &Error{Reason: "is not read to its end"}
			}
			return nil
		})
	})
	return err == nil
}

// Text reads a string.
func (r *Reader) Text() (string, bool) {
	if r.d.peek() != '"' {
		return "", false
	}
	text, err := r.d.str(false)
	return string(text), err == nil
}

// Integer reads a number without a fraction or an exponent.
func (r *Reader) Integer() (int64, bool) {
	start := r.d.pos
	v, _ := r.Value()
	n, ok := v.(float64)
	return int64(n), ok && !bytes.ContainsAny(r.d.raw[start:r.d.pos], ".eE")
}

// Value reads any value, as [Decode] returns it.
func (r *Reader) Value() (any, bool) {
	v, err := r.d.value()
	return v, err == nil
}
