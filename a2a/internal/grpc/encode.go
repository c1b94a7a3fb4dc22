package grpc

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"a2a-server/a2a/internal/operation"
	"a2a-server/internal/strictjson"
)

// encode returns the server's JSON as a message. The JSON of events and tasks becomes protobuf directly:
// with a message in between, a chunk of a stream takes twice the CPU.
func encode(in []byte, as protoreflect.MessageType) (message, error) {
	e := encoder{out: make([]byte, 0, max(len(in), pooledSize()))}
	known := false
	err := strictjson.ReadTrusted(in, func(r strictjson.Reader) bool {
		e.Reader = r
		known = e.message(as.Descriptor())
		return known
	})
	if known && err == nil {
		return e.out, nil
	}
	m := as.New().Interface()
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(in, m); err != nil {
		return nil, fmt.Errorf("encode %s: %s", as.Descriptor().Name(), operation.ProtoReason(err))
	}
	return proto.Marshal(m)
}

// encoder reads JSON and writes protobuf. Its methods return false for JSON that only protojson can
// encode; the output is then worthless.
type encoder struct {
	strictjson.Reader
	out  []byte
	text []byte // of a string that is not the text of a field
}

// message writes the fields of a message.
func (e *encoder) message(d protoreflect.MessageDescriptor) bool {
	switch d.FullName() {
	case "google.protobuf.Struct":
		return e.object()
	case "google.protobuf.Value":
		return e.value()
	case "google.protobuf.ListValue":
		return e.list()
	case "google.protobuf.Timestamp":
		return e.timestamp()
	}
	return e.Object(func(name []byte) bool {
		if d.FullName() == "a2a.v1.Message" && string(name) == "content" {
			name = []byte("parts") // as the field was named in A2A 0.3.0; clients have both
		}
		f := fieldOf(d, name)
		switch {
		case f == nil:
			return e.Skip()
		case f.IsMap():
			return false
		case f.IsList():
			return e.Array(func() bool { return e.field(f) })
		}
		return e.field(f)
	})
}

// fieldOf returns the field with a name in JSON; nil: there is none.
func fieldOf(d protoreflect.MessageDescriptor, name []byte) protoreflect.FieldDescriptor {
	fields := d.Fields() // whose index needs a string on the heap
	for i := range fields.Len() {
		if f := fields.Get(i); f.JSONName() == string(name) {
			return f
		}
	}
	return nil
}

// field writes a value of a field.
func (e *encoder) field(f protoreflect.FieldDescriptor) (ok bool) {
	switch f.Kind() { //nolint:exhaustive // protojson encodes the others
	case protoreflect.MessageKind:
		return e.sized(f.Number(), func() bool { return e.message(f.Message()) })
	case protoreflect.StringKind:
		return e.sized(f.Number(), e.string)
	case protoreflect.BytesKind:
		return e.sized(f.Number(), e.base64)
	case protoreflect.EnumKind:
		e.text, ok = e.AppendText(e.text[:0])
		v := f.Enum().Values().ByName(protoreflect.Name(e.text))
		if ok = ok && v != nil; ok {
			e.varint(f.Number(), uint64(v.Number())) //nolint:gosec // no enum has a negative value
		}
	case protoreflect.BoolKind:
		var v bool
		v, ok = e.Bool()
		e.varint(f.Number(), protowire.EncodeBool(v))
	case protoreflect.Int32Kind:
		var n int64
		n, ok = e.Integer()
		ok = ok && n == int64(int32(n)) //nolint:gosec // compared
		e.varint(f.Number(), uint64(n)) //nolint:gosec // so is a negative number encoded
	}
	return ok
}

func (e *encoder) varint(n protowire.Number, v uint64) {
	e.out = protowire.AppendVarint(protowire.AppendTag(e.out, n, protowire.VarintType), v)
}

// sized writes the output of write as a field, after its length.
func (e *encoder) sized(number protowire.Number, write func() bool) bool {
	e.out = protowire.AppendTag(e.out, number, protowire.BytesType)
	from := len(e.out)
	e.out = append(e.out, 0) // most are short
	if !write() {
		return false
	}
	n := len(e.out) - from - 1
	if more := protowire.SizeVarint(uint64(n)) - 1; more > 0 { //nolint:gosec // a length
		e.out = append(e.out, make([]byte, more)...)
		copy(e.out[from+1+more:], e.out[from+1:from+1+n])
	}
	binary.PutUvarint(e.out[from:], uint64(n)) //nolint:gosec // likewise
	return true
}

func (e *encoder) string() (ok bool) {
	e.out, ok = e.AppendText(e.out)
	return ok
}

func (e *encoder) base64() (ok bool) {
	if e.text, ok = e.AppendText(e.text[:0]); ok {
		var err error
		e.out, err = base64.StdEncoding.AppendDecode(e.out, e.text)
		ok = err == nil
	}
	return ok
}

// value writes a google.protobuf.Value.
func (e *encoder) value() bool {
	const null, number, text, boolean, object, list = 1, 2, 3, 4, 5, 6
	switch e.Kind() {
	case '"':
		return e.sized(text, e.string)
	case '{':
		return e.sized(object, e.object)
	case '[':
		return e.sized(list, e.list)
	case 'n':
		e.varint(null, 0)
		return e.Skip()
	case '0':
		v, ok := e.Number()
		e.out = protowire.AppendFixed64(protowire.AppendTag(e.out, number, protowire.Fixed64Type), math.Float64bits(v))
		return ok
	}
	v, ok := e.Bool()
	e.varint(boolean, protowire.EncodeBool(v))
	return ok
}

// object writes a google.protobuf.Struct.
func (e *encoder) object() bool {
	const entry, key, value = 1, 1, 2
	return e.Object(func(name []byte) bool {
		return e.sized(entry, func() bool {
			e.out = protowire.AppendBytes(protowire.AppendTag(e.out, key, protowire.BytesType), name)
			return e.sized(value, e.value)
		})
	})
}

// list writes a google.protobuf.ListValue.
func (e *encoder) list() bool {
	const element = 1
	return e.Array(func() bool { return e.sized(element, e.value) })
}

// timestamp writes a google.protobuf.Timestamp.
func (e *encoder) timestamp() (ok bool) {
	e.text, ok = e.AppendText(e.text[:0])
	at, err := time.Parse(time.RFC3339Nano, string(e.text))
	e.varint(1, uint64(at.Unix()))       //nolint:gosec // so is a negative number encoded
	e.varint(2, uint64(at.Nanosecond())) //nolint:gosec // not negative
	return ok && err == nil
}
