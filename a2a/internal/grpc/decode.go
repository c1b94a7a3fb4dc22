package grpc

import (
	"fmt"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"a2a-server/a2a/internal/wire"
	"a2a-server/a2a/operation"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
)

// decode decodes a message of gRPC. It refuses values that JSON cannot express, and applies
// the bounds that the other bindings apply to a request. It ignores unknown fields.
func (m message) decode(into proto.Message) error {
	if err := m.check(into.ProtoReflect().Descriptor()); err != nil {
		return err
	}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(m, into); err != nil {
		return notProto(into.ProtoReflect().Descriptor(), operation.ProtoReason(err))
	}
	return nil
}

// check refuses a message that decoding would refuse or that has too much in it.
func (m message) check(d protoreflect.MessageDescriptor) error {
	c := checker{}
	switch at := c.message(m, d, 1); {
	case at == nil:
		return nil
	case at.reason == notWire:
		return notProto(d, notWire)
	default:
		return wire.RefusedJSON(at.pointer, at.reason)
	}
}

// notWire is the reason of bytes that are not protobuf.
const notWire = "cannot be decoded as protobuf"

// notProto is the error of bytes that are not the message that they should be.
func notProto(d protoreflect.MessageDescriptor, reason string) error {
	return wire.ErrParse.Saying(fmt.Sprintf("this is not a valid %s: %s", d.Name(), visible.Clip(reason, 2*wire.MaxEcho)))
}

// checker counts the memory that a message would take once it is decoded: a value of two
// bytes takes a hundred.
type checker struct{ values int }

// mistake is where in a message something is wrong: a JSON pointer and a reason.
type mistake struct{ pointer, reason string }

func (p *mistake) in(name string) *mistake {
	if len(p.pointer) < 2*wire.MaxEcho {
		p.pointer = "/" + strictjson.EscapePointer(name) + p.pointer
	}
	return p
}

const (
	structName = "google.protobuf.Struct"
	valueName  = "google.protobuf.Value"
	listName   = "google.protobuf.ListValue"
	timeName   = "google.protobuf.Timestamp"
)

// noKind is the reason of a Value that is none.
const noKind = "is a Value of no kind; null is null_value"

// message walks the fields of a message.
func (c *checker) message(b []byte, d protoreflect.MessageDescriptor, depth int) *mistake {
	if depth > strictjson.MaxDepth {
		return &mistake{"", fmt.Sprintf("is nested deeper than %d levels", strictjson.MaxDepth)}
	}
	if d.FullName() == timeName && !isTime(b) {
		return &mistake{"", "is not a time of the years 1 to 9999"}
	}
	seen := seenFields{}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return &mistake{"", notWire}
		}
		b = b[n:]
		n = protowire.ConsumeFieldValue(number, kind, b)
		if n < 0 {
			return &mistake{"", notWire}
		}
		value := b[:n]
		b = b[n:]
		f := d.Fields().ByNumber(number)
		if f == nil || kind != wireType(f) {
			continue // protobuf does not know it
		}
		if c.values++; c.values > 2*strictjson.MaxValues {
			return &mistake{"", fmt.Sprintf("has more than %d values", strictjson.MaxValues)}
		}
		if at := c.field(value, d, f, depth, &seen); at != nil {
			return at
		}
	}
	switch {
	case d.FullName() == valueName && seen.single == 0:
		return &mistake{"", noKind}
	case d.IsMapEntry() && d.Fields().ByNumber(2).Message() != nil && seen.single&bitOf(d.Fields().ByNumber(2)) == 0:
		return &mistake{"", noKind}
	}
	return nil
}

// field walks a field of a message.
func (c *checker) field(value []byte, d protoreflect.MessageDescriptor, f protoreflect.FieldDescriptor, depth int, seen *seenFields) *mistake {
	isValue := d.FullName() == valueName
	name, index := f.JSONName(), 0
	switch {
	case f.IsList():
		index = seen.next(f)
		if f.FullName().Parent().Name() == "Message" && f.Name() == "parts" && index >= operation.MaxParts {
			return (&mistake{"", fmt.Sprintf("has more than %d parts", operation.MaxParts)}).in(name)
		}
	case f.IsMap():
		inner, _ := protowire.ConsumeBytes(value)
		key := mapKey(inner)
		if name = wire.Clip(string(key[:min(len(key), 4*wire.MaxEcho)])); !seen.key(key) {
			return (&mistake{"", "is given twice"}).in(name)
		}
	case seen.single&bitOf(f) != 0:
		// Protobuf leaves the choice of the value to decoders, and JSON has a single value.
		at := &mistake{"", "is given twice, or together with a field that excludes it"}
		if isValue {
			return at
		}
		return at.in(name)
	default:
		seen.single |= bitOf(f)
	}
	if f.Kind() == protoreflect.DoubleKind {
		bits, _ := protowire.ConsumeFixed64(value)
		if reason := notJSONNumber(math.Float64frombits(bits)); reason != "" {
			return &mistake{"", reason}
		}
	}
	if f.Message() == nil {
		return nil
	}
	inner, _ := protowire.ConsumeBytes(value)
	next := depth + 1
	if of := f.Message().FullName(); of == valueName || f.IsMap() || isValue && of != structName && of != listName {
		next = depth // it is the value itself
	}
	at := c.message(inner, f.Message(), next)
	switch {
	case at == nil:
		return nil
	case f.IsList():
		if at = at.in(strconv.Itoa(index)); d.FullName() == listName {
			return at
		}
	case isValue || d.IsMapEntry():
		return at // the value itself has no name
	}
	return at.in(name)
}

// seenFields are the fields of a message so far.
type seenFields struct {
	single uint64 // by [bitOf]
	lists  map[protoreflect.FieldNumber]int
	keys   map[string]struct{} // of its map; messages from clients have at most one map
}

// next returns the index of the next element of a list.
func (s *seenFields) next(f protoreflect.FieldDescriptor) int {
	if s.lists == nil {
		s.lists = map[protoreflect.FieldNumber]int{}
	}
	s.lists[f.Number()]++
	return s.lists[f.Number()] - 1
}

// key adds a key of a map, and reports whether it is new.
func (s *seenFields) key(k []byte) bool {
	if s.keys == nil {
		s.keys = map[string]struct{}{}
	}
	if _, is := s.keys[string(k)]; is {
		return false
	}
	s.keys[string(k)] = struct{}{}
	return true
}

// bitOf returns the bit of a field that can be there once. Fields that exclude each other
// have the same. No message of A2A has 64 fields.
func bitOf(f protoreflect.FieldDescriptor) uint64 {
	if one := f.ContainingOneof(); one != nil {
		f = one.Fields().Get(0)
	}
	return 1 << f.Index()
}

// wireType returns how the values of a field are written. Requests have no packed lists.
func wireType(f protoreflect.FieldDescriptor) protowire.Type {
	switch f.Kind() { //nolint:exhaustive // the fields of requests are of these kinds
	case protoreflect.MessageKind, protoreflect.StringKind, protoreflect.BytesKind:
		return protowire.BytesType
	case protoreflect.DoubleKind:
		return protowire.Fixed64Type
	}
	return protowire.VarintType
}

// isTime reports whether JSON can express a Timestamp.
func isTime(b []byte) bool {
	var at timestamppb.Timestamp
	return proto.Unmarshal(b, &at) != nil /* refused as no protobuf */ || at.IsValid()
}

// mapKey returns the key of an entry of a map whose keys are strings.
func mapKey(entry []byte) (key []byte) {
	for len(entry) > 0 {
		number, kind, n := protowire.ConsumeTag(entry)
		if n < 0 {
			return nil
		}
		entry = entry[n:]
		if n = protowire.ConsumeFieldValue(number, kind, entry); n < 0 {
			return nil
		}
		if number == 1 && kind == protowire.BytesType {
			key, _ = protowire.ConsumeBytes(entry)
			return key
		}
		entry = entry[n:]
	}
	return nil
}

// notJSONNumber returns why a request may not have a number; "": it may. Integers that are not
// exact in JSON are refused as they are there, where the client writes all their digits: in
// protobuf the intended integer is unknown.
func notJSONNumber(x float64) string {
	const maxInt, firstExponent = 1<<53 - 1, 1e21 // JSON writes numbers from there on with an exponent
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "is no number that JSON has"
	case math.Abs(x) > maxInt && math.Abs(x) < firstExponent:
		return "this integer is beyond ±9007199254740991, where doubles are not exact; send it as a string"
	}
	return ""
}
