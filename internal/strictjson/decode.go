package strictjson

import (
	"bytes"
	"errors"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep arrays and objects may be nested: [[1]] is 2 deep.
const MaxDepth = 64

// MaxValues is how many values all functions but [Decode] accept, counting every object, array,
// string, number and literal, but not the names of members. Decoding an accepted text takes at
// most a few tens of megabytes, whatever its length.
const MaxValues = 1 << 16

// Decode returns the only value in raw. The error is an *[Error].
func Decode(raw []byte) (any, error) {
	d := newDecoder(raw)
	defer d.free()
	v, err := d.value()
	if err == nil {
		err = d.end()
	}
	if err != nil {
		return nil, err
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
	return Read(raw, func(r Reader) bool {
		_, ok := r.Raw(false /* any number */)
		return ok
	})
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

// decoder reads JSON by jsontext, which refuses duplicate names and invalid UTF-8, and adds the limits of
// this package. Its errors are an *[Error].
type decoder struct {
	raw     []byte
	from    bytes.Buffer
	text    jsontext.Decoder
	err     error // the *Error that a Reader has met
	check   bool  // only check: values are nil
	bound   bool  // at most MaxValues
	seen    int   // values, when bound is set
	any     bool  // accept numbers of any size
	trusted bool  // accept any depth
	since   int64 // where the processor was yielded last
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

func newDecoder(raw []byte, options ...jsontext.Options) *decoder {
	d, _ := decoders.Get().(*decoder)
	d.raw, d.err, d.check, d.bound, d.seen, d.any, d.trusted, d.since = raw, nil, false, false, 0, false, false, 0
	d.from = *bytes.NewBuffer(raw) // which jsontext reads in place
	d.text.Reset(&d.from, options...)
	return d
}

// free gives d back without the input. Nothing of it may be used any more.
func (d *decoder) free() {
	d.raw, d.from = nil, bytes.Buffer{}
	d.text.Reset(&d.from)
	decoders.Put(d)
}

// stretch is how many bytes are read before the decoder yields the processor. Go preempts
// only after 10 ms, and a small request would wait for several such runs.
const stretch = 32 << 10

// next reads a token.
func (d *decoder) next() (jsontext.Token, error) {
	t, err := d.text.ReadToken()
	if err != nil {
		return t, d.refusal(err)
	}
	if at := d.text.InputOffset(); at-d.since > stretch {
		d.since = at
		runtime.Gosched()
	}
	return t, nil
}

// begin reads the token that begins a value, or ends an array.
func (d *decoder) begin() (jsontext.Token, error) {
	t, err := d.next()
	if err == nil && d.bound && t.Kind() != ']' {
		if d.seen++; d.seen > MaxValues {
			err = d.refused("more than " + strconv.Itoa(MaxValues) + " values up to here; send fewer at once")
		}
	}
	return t, err
}

// value reads a value.
func (d *decoder) value() (any, error) {
	t, err := d.begin()
	if err != nil {
		return nil, err
	}
	return d.valueOf(t)
}

// valueOf reads the rest of a value that begins with t.
func (d *decoder) valueOf(t jsontext.Token) (any, error) {
	switch t.Kind() { //nolint:exhaustive // booleans; the library refuses ends here
	case '{':
		return d.object()
	case '[':
		return d.array()
	case '0':
		return d.number(t)
	case '"':
		if d.check {
			return nil, nil
		}
		return t.String(), nil
	case 'n':
		return nil, nil
	default:
		return t.Kind() == 't', nil
	}
}

// object reads an object after its brace.
func (d *decoder) object() (any, error) {
	if err := d.nested(); err != nil {
		return nil, err
	}
	var m map[string]any
	if !d.check {
		m = map[string]any{}
	}
	for {
		name, err := d.next()
		switch {
		case err != nil:
			return nil, err
		case name.Kind() == '}':
			return m, nil
		case d.check:
			_, err = d.value()
		default:
			key := name.String()
			m[key], err = d.value()
		}
		if err != nil {
			return nil, err
		}
	}
}

// array reads an array after its bracket.
func (d *decoder) array() (any, error) {
	if err := d.nested(); err != nil {
		return nil, err
	}
	a := []any{}
	for {
		t, err := d.begin()
		switch {
		case err != nil || t.Kind() == ']' && d.check:
			return nil, err
		case t.Kind() == ']':
			return a, nil
		}
		v, err := d.valueOf(t)
		if err != nil {
			return nil, err
		}
		if !d.check {
			a = append(a, v)
		}
	}
}

// nested refuses an object or array, whose beginning was read, below too many others.
func (d *decoder) nested() error {
	if d.text.StackDepth() > MaxDepth && !d.trusted {
		return d.refused("is nested deeper than " + strconv.Itoa(MaxDepth) + " levels")
	}
	return nil
}

// number returns the value of a number.
func (d *decoder) number(t jsontext.Token) (any, error) {
	f, err := t.Float()
	switch {
	case d.any:
		return nil, nil
	case math.Abs(f) > maxInt && !strings.ContainsAny(t.String(), ".eE"):
		return nil, d.refused("this integer is beyond ±9007199254740991, where doubles are not exact; send it as a string")
	case err != nil:
		return nil, d.refused("this number does not fit into a double")
	case d.check:
		return nil, nil
	}
	return f, nil
}

// end refuses data after the value.
func (d *decoder) end() error {
	end := d.text.InputOffset()
	if _, err := d.text.ReadToken(); err == io.EOF { //nolint:errorlint // as its document says
		return nil
	}
	return &Error{Reason: "unexpected data after the end of the value (at byte " + strconv.FormatInt(end, 10) + ")", Syntax: true}
}

// refused keeps and returns the error for JSON that is refused at the value that was read last.
func (d *decoder) refused(reason string) error {
	d.err = &Error{Pointer: string(d.text.StackPointer()), Reason: reason}
	return d.err
}

// refusal keeps and returns the error for an error of the library.
func (d *decoder) refusal(err error) error {
	at, is := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case !is: // io.EOF: there is no value
		d.err = &Error{Reason: "it ends where a value should be", Syntax: true}
		return d.err
	case errors.Is(at.Err, jsontext.ErrDuplicateName):
		d.err = &Error{Pointer: string(at.JSONPointer), Reason: "duplicate name in an object"}
		return d.err
	}
	reason := at.Err.Error()
	if errors.Is(at.Err, io.ErrUnexpectedEOF) {
		reason = "it ends too early"
	}
	d.err = &Error{Pointer: string(at.JSONPointer), Reason: reason + " (at byte " + strconv.FormatInt(at.ByteOffset, 10) + ")", Syntax: true}
	return d.err
}

// Duplicate returns the first name that an object in raw has twice, with the byte at which it stands again. raw
// has to be JSON; it may have more depth and values than [Decode] takes, and bytes that are not UTF-8.
func Duplicate(raw []byte) (name string, at int64, twice bool) {
	err := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowInvalidUTF8(true)).SkipValue()
	wrong, is := errors.AsType[*jsontext.SyntacticError](err)
	if !is || !errors.Is(err, jsontext.ErrDuplicateName) {
		return "", 0, false
	}
	return wrong.JSONPointer.LastToken(), wrong.ByteOffset, true
}
