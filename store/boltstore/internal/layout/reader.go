package layout

import (
	"encoding/binary"
	"fmt"

	"a2a-server/store"
)

// Reader decodes the values of the file. The first thing that does not fit makes
// it fail for good; callers check err once, at the end.
type Reader struct {
	b   []byte
	Err error
}

func (r *Reader) fail() {
	if r.Err == nil {
		r.Err = fmt.Errorf("%w: a value ends too early", store.ErrDataLoss)
	}
	r.b = nil
}

// Uint reads a number.
func (r *Reader) Uint() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *Reader) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

// take returns the next n bytes, not copied.
func (r *Reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	p := r.b[:n:n]
	r.b = r.b[n:]
	return p
}

// Bytes reads bytes that were written with their length. They are not copied.
func (r *Reader) Bytes() []byte { return r.take(r.Uint()) }

func (r *Reader) string() string { return string(r.Bytes()) }

func (r *Reader) id() (id [16]byte) {
	copy(id[:], r.take(16))
	return id
}

// version reads a version, which must be that of the value.
func (r *Reader) version(value string, known byte) {
	if v := r.byte(); r.Err == nil && v != known {
		r.Err = fmt.Errorf("%w: %s has unknown version %d", store.ErrDataLoss, value, v)
		r.b = nil
	}
}

// end fails unless everything has been read.
func (r *Reader) end() {
	if r.Err == nil && len(r.b) > 0 {
		r.Err = fmt.Errorf("%w: a value has bytes after its end", store.ErrDataLoss)
	}
}

func appendBytes[T ~string | ~[]byte](b []byte, p T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(p))), p...)
}
