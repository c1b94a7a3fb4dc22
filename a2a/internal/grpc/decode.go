package grpc

import (
	"fmt"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"a2a-server/a2a/internal/operation"
	"a2a-server/a2a/internal/wire"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
)

const (
	// maxFields is how many fields a message may have on the wire, including those of the messages
	// in it: no JSON that is accepted needs more. A field of two bytes takes a hundred once it is
	// decoded.
	maxFields = 4 * strictjson.MaxValues
	// maxNested is how deep messages may be nested. A level of JSON has up to three messages.
	maxNested = 4 * strictjson.MaxDepth
)

// json returns a message as the JSON that the other bindings receive, without unknown fields. Into is an
// empty message of its type. JSON has further limits, which the caller checks.
func (m message) json(into proto.Message) ([]byte, error) {
	name := into.ProtoReflect().Descriptor().Name()
	fields := maxFields
	if err := m.check(into.ProtoReflect().Descriptor(), &fields, maxNested); err != nil {
		return nil, err
	}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(m, into); err != nil {
		return nil, wire.ErrParse.Saying(notValid(name, err))
	}
	if list, is := into.(*a2apb.ListTasksRequest); is && list.GetPageSize() == 0 {
		list.PageSize = nil // the SDK's client (v2.4.0) sends 0 when its caller gives none
	}
	raw, err := protojson.Marshal(into)
	if err != nil {
		return nil, wire.ErrInvalidParams.Saying(notValid(name, err))
	}
	return raw, nil
}

func notValid(name protoreflect.Name, err error) string {
	return fmt.Sprintf("this is not a valid %s: %s", name, visible.Clip(operation.ProtoReason(err), 2*wire.MaxEcho))
}

// check refuses a message with more fields than left, from which it subtracts them, or with messages that
// are nested deeper than depth. It does not look for what decoding refuses.
func (m message) check(d protoreflect.MessageDescriptor, left *int, depth int) error {
	if depth == 0 {
		return wire.ErrInvalidParams.Saying(fmt.Sprintf("the message is nested deeper than %d levels", strictjson.MaxDepth))
	}
	for len(m) > 0 {
		number, kind, n := protowire.ConsumeTag(m)
		if n < 0 {
			break
		}
		size := protowire.ConsumeFieldValue(number, kind, m[n:])
		if size < 0 {
			break
		}
		if *left--; *left < 0 {
			return wire.ErrInvalidParams.Saying(fmt.Sprintf("the message has more than %d values; send fewer at once", strictjson.MaxValues))
		}
		if f := d.Fields().ByNumber(number); kind == protowire.BytesType && f != nil && f.Message() != nil {
			inner, _ := protowire.ConsumeBytes(m[n:])
			if err := message(inner).check(f.Message(), left, depth-1); err != nil {
				return err
			}
		}
		m = m[n+size:]
	}
	return nil
}
