package strictjson

import (
	"fmt"
	"runtime"
	"strconv"
)

// MaxDepth is how deep arrays and objects may be nested: [[1]] is 2 deep.
const MaxDepth = 64

// MaxValues is how many values [Validate] and [Members] accept, counting every object, array,
// string, number and literal, but not the names of members. Decoding an accepted text takes at
// most a few tens of megabytes, whatever its length.
const MaxValues = 1 << 16

// Decode returns the only value in raw. The error is an *[Error].
func Decode(raw []byte) (any, error) {
	d := decoder{raw: raw}
	v, err := d.whole()
	if err != nil {
		return nil, err // a plain return would make a nil *Error a non-nil error
	}
	return v, nil
}

// DecodeObject is [Decode] for a value that has to be an object.
func DecodeObject(raw []byte) (map[string]any, error) {
	v, err := Decode(raw)
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, &Error{Reason: "is " + kindOf(v) + ", want an object"}
	}
	return m, nil
}

// Validate checks raw without building any value. It refuses the same input as [Decode], and
// more than [MaxValues] values, at the first value too many. The error is an *[Error].
func Validate(raw []byte) error {
	d := decoder{raw: raw, check: true}
	if _, err := d.whole(); err != nil {
		return err
	}
	return nil
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	case string:
		return "a string"
	default:
		return "an array"
	}
}

type decoder struct {
	raw   []byte
	pos   int // of the next byte
	depth int
	seen  int  // values, when check is set
	check bool // only check: values are nil
	any   bool // accept integers of any size
	since int  // where the processor was yielded last
}

// stretch is how many bytes are read before the decoder yields the processor. Go preempts
// only after 10 ms, and a small request would wait for several such runs.
const stretch = 32 << 10

func (d *decoder) whole() (any, *Error) {
	v, err := d.value()
	if err != nil {
		return nil, err
	}
	d.space()
	if d.pos < len(d.raw) {
		return nil, d.syntax("unexpected data after the end of the value")
	}
	return v, nil
}

func (d *decoder) syntax(what string) *Error {
	return &Error{Reason: what + " (at byte " + strconv.Itoa(d.pos) + ")", Syntax: true}
}

// unexpected returns the error for anything else where want is required.
func (d *decoder) unexpected(want string) *Error {
	if d.pos >= len(d.raw) {
		return d.syntax("it ends where " + want + " should be")
	}
	return d.syntax(fmt.Sprintf("found %q, expected %s", rune(d.raw[d.pos]), want))
}

func (d *decoder) space() {
	for d.pos < len(d.raw) {
		switch d.raw[d.pos] {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte, or 0 at the end: nothing in JSON begins
// with that.
func (d *decoder) peek() byte {
	d.space()
	if d.pos < len(d.raw) {
		return d.raw[d.pos]
	}
	return 0
}

func (d *decoder) value() (any, *Error) {
	if d.check {
		if d.seen++; d.seen > MaxValues {
			return nil, &Error{Reason: "more than " + strconv.Itoa(MaxValues) + " values up to here; send fewer at once"}
		}
	}
	if d.pos-d.since > stretch {
		d.since = d.pos
		runtime.Gosched()
	}
	switch c := d.peek(); c {
	case '{':
		if d.check {
			return d.nested((*decoder).checkObject)
		}
		return d.nested((*decoder).object)
	case '[':
		if d.check {
			return d.nested((*decoder).checkArray)
		}
		return d.nested((*decoder).array)
	case '"':
		s, err := d.str(d.check)
		if err != nil || d.check {
			return nil, err
		}
		return string(s), nil
	case 't':
		return d.literal("true", true)
	case 'f':
		return d.literal("false", false)
	case 'n':
		return d.literal("null", nil)
	default:
		if c == '-' || isDigit(c) {
			return d.number()
		}
		return nil, d.unexpected("a value")
	}
}

func (d *decoder) nested(read func(*decoder) (any, *Error)) (any, *Error) {
	if d.depth == MaxDepth {
		return nil, &Error{Reason: "is nested deeper than " + strconv.Itoa(MaxDepth) + " levels"}
	}
	d.depth++
	d.pos++
	v, err := read(d)
	d.depth--
	return v, err
}

func (d *decoder) object() (any, *Error) {
	m := map[string]any{}
	err := d.members(func(name []byte) bool {
		_, twice := m[string(name)]
		return !twice
	}, func(name []byte) *Error {
		v, err := d.value()
		m[string(name)] = v
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (d *decoder) array() (any, *Error) {
	a := []any{}
	err := d.elements(func() *Error {
		v, err := d.value()
		a = append(a, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// elements reads an array after its bracket. value reads an element.
func (d *decoder) elements(value func() *Error) *Error {
	if d.peek() == ']' {
		d.pos++
		return nil
	}
	for i := 0; ; i++ {
		if err := value(); err != nil {
			return err.below(strconv.Itoa(i))
		}
		switch d.peek() {
		case ',':
			d.pos++
		case ']':
			d.pos++
			return nil
		default:
			return d.unexpected("a comma or a closing bracket")
		}
	}
}

func (d *decoder) literal(word string, v any) (any, *Error) {
	if len(d.raw)-d.pos < len(word) || string(d.raw[d.pos:d.pos+len(word)]) != word {
		return nil, d.syntax("a word other than true, false and null")
	}
	d.pos += len(word)
	return v, nil
}
