package grpc

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"a2a-server/a2a/operation"
	"a2a-server/internal/jsonscan"
)

// form is a message of protobuf, as needed to encode its JSON: the bytes of the log and our
// responses become protobuf without the messages in between, which cost several times as much.
type form struct {
	name   protoreflect.FullName
	fields map[string]*formField // by both names; nil: only protojson knows it
}

type formField struct {
	tag      []byte // of the wire
	kind     protoreflect.Kind
	list     bool
	presence bool             // its zero value is sent, too
	message  *form            // of its values; nil: they are no messages
	enum     map[string]int32 // nil: they are no enums
}

var (
	formsMu sync.Mutex
	forms   = map[protoreflect.FullName]*form{} // guarded by formsMu
)

// formOf returns the form of a message. It is safe for concurrent use.
func formOf(d protoreflect.MessageDescriptor) *form {
	formsMu.Lock()
	defer formsMu.Unlock()
	return makeForm(d)
}

func makeForm(d protoreflect.MessageDescriptor) *form {
	if f := forms[d.FullName()]; f != nil {
		return f
	}
	f := &form{name: d.FullName(), fields: map[string]*formField{}}
	forms[f.name] = f // first: messages contain each other
	for i := range d.Fields().Len() {
		of := d.Fields().Get(i)
		if of.IsMap() && f.name != structName {
			f.fields[of.JSONName()] = nil // of a card; encode does without a form then
			continue
		}
		wire := map[protoreflect.Kind]protowire.Type{
			protoreflect.EnumKind: protowire.VarintType, protoreflect.BoolKind: protowire.VarintType,
			protoreflect.Int32Kind: protowire.VarintType, protoreflect.DoubleKind: protowire.Fixed64Type,
			protoreflect.StringKind: protowire.BytesType, protoreflect.BytesKind: protowire.BytesType, protoreflect.MessageKind: protowire.BytesType,
		}
		kind, known := wire[of.Kind()]
		if !known || of.IsList() && kind != protowire.BytesType {
			f.fields[of.JSONName()] = nil
			continue
		}
		made := &formField{tag: protowire.AppendTag(nil, of.Number(), kind), kind: of.Kind(), list: of.IsList(), presence: of.HasPresence()}
		if m := of.Message(); m != nil {
			made.message = makeForm(m)
		}
		if e := of.Enum(); e != nil {
			made.enum = map[string]int32{}
			for i := range e.Values().Len() {
				made.enum[string(e.Values().Get(i).Name())] = int32(e.Values().Get(i).Number())
			}
		}
		f.fields[of.JSONName()], f.fields[of.TextName()] = made, made
	}
	if f.name == "a2a.v1.Message" {
		f.fields["content"] = f.fields["parts"] // as the field was named in A2A 0.3.0; clients have both
	}
	return f
}

// encode encodes the server's JSON as the message. It leaves unknown JSON to protojson.
func (f *form) encode(in []byte) (message, error) {
	t := transcoder{Scanner: jsonscan.New(in), out: make([]byte, 0, max(len(in), pooledSize()))}
	if t.message(f) && t.Peek() == 0 {
		return t.out, nil
	}
	return f.encodeSlowly(in)
}

// encodeSlowly is encode for JSON of any form.
func (f *form) encodeSlowly(in []byte) (message, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(f.name)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", f.name, err)
	}
	m := kind.New().Interface()
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(in, m); err != nil {
		return nil, fmt.Errorf("encode %s: %s", f.name, operation.ProtoReason(err))
	}
	return proto.Marshal(m)
}

// transcoder reads JSON and writes protobuf. Its methods return false for unknown JSON; the
// output is then worthless.
type transcoder struct {
	jsonscan.Scanner
	out   []byte
	depth int
	text  []byte // of a string with escapes
}

// maxTranscoded is how deep JSON may be nested here; the log has nothing deeper.
const maxTranscoded = 256

// members calls each for every member of an object, at its value.
func (t *transcoder) members(each func(name []byte) bool) bool {
	if t.depth++; t.depth > maxTranscoded {
		return false
	}
	defer func() { t.depth-- }()
	for name := range t.Members {
		if !each(name) {
			return false
		}
	}
	return !t.Broken
}

// elements calls each for every element of an array, at its value.
func (t *transcoder) elements(each func() bool) bool {
	if t.depth++; t.depth > maxTranscoded {
		return false
	}
	defer func() { t.depth-- }()
	for range t.Elements {
		if !each() {
			return false
		}
	}
	return !t.Broken
}

// sized writes the output of write, preceded by its length.
func (t *transcoder) sized(write func() bool) bool {
	from := len(t.out)
	t.out = append(t.out, 0) // most are short
	if !write() {
		return false
	}
	n := len(t.out) - from - 1
	if n < 0x80 {
		t.out[from] = byte(n)
		return true
	}
	more := protowire.SizeVarint(uint64(n)) - 1 //nolint:gosec // a length
	for range more {
		t.out = append(t.out, 0)
	}
	copy(t.out[from+1+more:], t.out[from+1:len(t.out)-more])
	binary.PutUvarint(t.out[from:], uint64(n)) //nolint:gosec // likewise
	return true
}

// message writes the fields of a message.
func (t *transcoder) message(f *form) bool {
	switch f.name {
	case structName:
		return t.object()
	case valueName:
		return t.value()
	case listName:
		return t.array()
	case timeName:
		return t.timestamp()
	}
	return t.members(func(name []byte) bool {
		field, known := f.fields[string(name)]
		switch {
		case !known:
			return t.Value() != nil
		case field == nil:
			return false
		case t.Peek() == 'n' && (field.message == nil || field.message.name != valueName):
			return string(t.Value()) == "null"
		case !field.list:
			return t.field(field)
		}
		return t.elements(func() bool { return t.field(field) })
	})
}

// field writes a value of a field.
func (t *transcoder) field(f *formField) bool {
	before := len(t.out)
	t.out = append(t.out, f.tag...)
	if f.kind == protoreflect.MessageKind {
		return t.sized(func() bool { return t.message(f.message) })
	}
	var zero bool
	switch f.kind { //nolint:exhaustive // the fields of a form are of these kinds
	case protoreflect.StringKind:
		text, ok := t.string()
		if !ok {
			return false
		}
		t.out = protowire.AppendBytes(t.out, text)
		zero = len(text) == 0
	case protoreflect.BytesKind:
		text, ok := t.string()
		if !ok {
			return false
		}
		raw, err := base64.StdEncoding.AppendDecode(nil, text)
		if err != nil {
			return false
		}
		t.out = protowire.AppendBytes(t.out, raw)
		zero = len(raw) == 0
	case protoreflect.EnumKind:
		text, ok := t.string()
		n, known := f.enum[string(text)]
		if !ok || !known {
			return false
		}
		t.out = protowire.AppendVarint(t.out, uint64(n)) //nolint:gosec // no enum has a negative value
		zero = n == 0
	case protoreflect.BoolKind:
		word := t.Value()
		is := string(word) == "true"
		if !is && string(word) != "false" {
			return false
		}
		t.out = protowire.AppendVarint(t.out, protowire.EncodeBool(is))
		zero = !is
	case protoreflect.Int32Kind:
		n, err := strconv.ParseInt(string(t.Value()), 10, 32)
		if err != nil {
			return false
		}
		t.out = protowire.AppendVarint(t.out, uint64(n)) //nolint:gosec // so is a negative number encoded
		zero = n == 0
	default:
		return false
	}
	if zero && !f.presence && !f.list {
		t.out = t.out[:before]
	}
	return true
}

// The fields of the messages that stand for JSON.
const (
	fieldNull   = 1 << 3 // of Value
	fieldNumber = 2<<3 | 1
	fieldString = 3<<3 | 2
	fieldBool   = 4 << 3
	fieldStruct = 5<<3 | 2
	fieldList   = 6<<3 | 2
	fieldOne    = 1<<3 | 2 // of Struct: an entry; of an entry: its key; of ListValue: an element
	fieldTwo    = 2<<3 | 2 // of an entry: its value
)

// value writes a google.protobuf.Value.
func (t *transcoder) value() bool {
	switch t.Peek() {
	case '"':
		text, ok := t.string()
		if !ok {
			return false
		}
		t.out = protowire.AppendBytes(append(t.out, fieldString), text)
		return true
	case '{':
		t.out = append(t.out, fieldStruct)
		return t.sized(t.object)
	case '[':
		t.out = append(t.out, fieldList)
		return t.sized(t.array)
	case 't':
		t.out = append(t.out, fieldBool, 1)
		return string(t.Value()) == "true"
	case 'f':
		t.out = append(t.out, fieldBool, 0)
		return string(t.Value()) == "false"
	case 'n':
		t.out = append(t.out, fieldNull, 0)
		return string(t.Value()) == "null"
	}
	x, err := strconv.ParseFloat(string(t.Value()), 64)
	if err != nil {
		return false
	}
	t.out = protowire.AppendFixed64(append(t.out, fieldNumber), math.Float64bits(x))
	return true
}

// object writes a google.protobuf.Struct.
func (t *transcoder) object() bool {
	return t.members(func(name []byte) bool {
		t.out = append(t.out, fieldOne)
		return t.sized(func() bool {
			t.out = protowire.AppendBytes(append(t.out, fieldOne), name)
			t.out = append(t.out, fieldTwo)
			return t.sized(t.value)
		})
	})
}

// array writes a google.protobuf.ListValue.
func (t *transcoder) array() bool {
	return t.elements(func() bool {
		t.out = append(t.out, fieldOne)
		return t.sized(t.value)
	})
}

// timestamp writes a google.protobuf.Timestamp.
func (t *transcoder) timestamp() bool {
	text, ok := t.string()
	if !ok {
		return false
	}
	at, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return false
	}
	const seconds, nanos = 1 << 3, 2 << 3
	if n := at.Unix(); n != 0 {
		t.out = protowire.AppendVarint(append(t.out, seconds), uint64(n)) //nolint:gosec // so is a negative number encoded
	}
	if n := at.Nanosecond(); n != 0 {
		t.out = protowire.AppendVarint(append(t.out, nanos), uint64(n)) //nolint:gosec // not negative
	}
	return true
}

// string returns the string at the current place, valid until the next call.
func (t *transcoder) string() ([]byte, bool) {
	quoted := t.Text()
	if t.Broken {
		return nil, false
	}
	text := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		return t.unescape(text)
	}
	return text, utf8.Valid(text)
}

// unescape returns the text of a string with escapes.
func (t *transcoder) unescape(text []byte) ([]byte, bool) {
	t.text = t.text[:0]
	for len(text) > 0 {
		n := bytes.IndexByte(text, '\\')
		if n < 0 {
			t.text = append(t.text, text...)
			break
		}
		t.text = append(t.text, text[:n]...)
		text = text[n+1:]
		if len(text) == 0 {
			return nil, false
		}
		c := text[0]
		text = text[1:]
		if at := strings.IndexByte(`"\/bfnrt`, c); at >= 0 {
			t.text = append(t.text, "\"\\/\b\f\n\r\t"[at])
			continue
		}
		if c != 'u' {
			return nil, false
		}
		r, ok := hexRune(text)
		if !ok {
			return nil, false
		}
		text = text[4:]
		if utf16.IsSurrogate(r) {
			low, ok := rune(0), len(text) >= 6 && text[0] == '\\' && text[1] == 'u'
			if ok {
				low, ok = hexRune(text[2:])
			}
			if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
				return nil, false
			}
			text = text[6:]
		}
		t.text = utf8.AppendRune(t.text, r)
	}
	return t.text, utf8.Valid(t.text)
}

// hexRune returns the number that four hex digits stand for.
func hexRune(text []byte) (rune, bool) {
	if len(text) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[:4]), 16, 16)
	return rune(n), err == nil //nolint:gosec // 16 bits
}
