package a2a

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
)

// decode decodes a message of gRPC. It refuses what no JSON can say, and as much as the
// other bindings refuse: a request has the same bounds in all of them. It ignores unknown
// fields.
func (m message) decode(into proto.Message) error {
	if err := m.check(into.ProtoReflect().Descriptor()); err != nil {
		return err
	}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(m, into); err != nil {
		return notProto(into.ProtoReflect().Descriptor(), protoReason(err))
	}
	return nil
}

// check refuses a message that decoding would refuse or that has too much in it.
func (m message) check(d protoreflect.MessageDescriptor) error {
	c := counting{}
	switch at := c.message(m, d, 1); {
	case at == nil:
		return nil
	case at.reason == notWire:
		return notProto(d, notWire)
	default:
		return refusedJSON(at.pointer, at.reason)
	}
}

// notWire is the reason of bytes that are not protobuf.
const notWire = "cannot be decoded as protobuf"

// notProto is the error of bytes that are not the message that they should be.
func notProto(d protoreflect.MessageDescriptor, reason string) error {
	return errParse.saying(fmt.Sprintf("this is not a valid %s: %s", d.Name(), visible.Clip(reason, 2*maxEcho)))
}

// counting counts what a message would take once it is decoded: a value of two bytes takes
// a hundred.
type counting struct{ values int }

// place is where in a message something is wrong: a JSON pointer and a reason.
type misplaced struct{ pointer, reason string }

func (p *misplaced) in(name string) *misplaced {
	if len(p.pointer) < 2*maxEcho {
		name = strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		p.pointer = "/" + name + p.pointer
	}
	return p
}

const (
	structName = "google.protobuf.Struct"
	valueName  = "google.protobuf.Value"
	listName   = "google.protobuf.ListValue"
)

// message walks the fields of a message.
func (c *counting) message(b []byte, d protoreflect.MessageDescriptor, depth int) *misplaced {
	if depth > strictjson.MaxDepth {
		return &misplaced{"", fmt.Sprintf("is nested deeper than %d levels", strictjson.MaxDepth)}
	}
	isValue, seen := d.FullName() == valueName, map[protoreflect.FieldNumber]int(nil)
	if isValue && len(b) == 0 {
		return &misplaced{"", "is a Value of no kind; null is null_value"}
	}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return &misplaced{"", notWire}
		}
		b = b[n:]
		n = protowire.ConsumeFieldValue(number, kind, b)
		if n < 0 {
			return &misplaced{"", notWire}
		}
		value := b[:n]
		b = b[n:]
		f := d.Fields().ByNumber(number)
		if f == nil {
			continue
		}
		if c.values++; c.values > 2*strictjson.MaxValues {
			return &misplaced{"", fmt.Sprintf("has more than %d values", strictjson.MaxValues)}
		}
		switch {
		case f.Kind() == protoreflect.DoubleKind && kind == protowire.Fixed64Type:
			bits, _ := protowire.ConsumeFixed64(value)
			if reason := notJSONNumber(math.Float64frombits(bits)); reason != "" {
				return (&misplaced{"", reason})
			}
		case f.Message() != nil && kind == protowire.BytesType:
			inner, _ := protowire.ConsumeBytes(value)
			next := depth + 1
			if f.Message().FullName() == valueName || f.IsMap() || isValue && f.Message().FullName() != structName && f.Message().FullName() != listName {
				next = depth // it is the value itself
			}
			name := f.JSONName()
			if f.IsList() {
				if seen == nil {
					seen = map[protoreflect.FieldNumber]int{}
				}
				index := seen[number]
				seen[number]++
				if f.FullName().Parent().Name() == "Message" && f.Name() == "parts" && index >= maxParts {
					return (&misplaced{"", fmt.Sprintf("has more than %d parts", maxParts)}).in(name)
				}
				if at := c.message(inner, f.Message(), next); at != nil {
					if at = at.in(strconv.Itoa(index)); d.FullName() != listName {
						at = at.in(name)
					}
					return at
				}
				continue
			}
			if f.IsMap() {
				name = mapKey(inner)
			}
			if at := c.message(inner, f.Message(), next); at != nil {
				if isValue || d.IsMapEntry() {
					return at // the value itself has no name
				}
				return at.in(name)
			}
		}
	}
	return nil
}

// mapKey returns the key of an entry of a map whose keys are strings.
func mapKey(entry []byte) string {
	for len(entry) > 0 {
		number, kind, n := protowire.ConsumeTag(entry)
		if n < 0 {
			return ""
		}
		entry = entry[n:]
		if number == 1 && kind == protowire.BytesType {
			key, _ := protowire.ConsumeBytes(entry)
			return clip(string(key[:min(len(key), 4*maxEcho)]))
		}
		if n = protowire.ConsumeFieldValue(number, kind, entry); n < 0 {
			return ""
		}
		entry = entry[n:]
	}
	return ""
}

// notJSONNumber says why a number cannot be one of a request; "": it can. Integers beyond
// those that are exact are refused as they are in JSON, where a client writes them with all
// digits: here nobody knows which one was meant.
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
