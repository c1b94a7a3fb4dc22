package operation

import (
	"encoding/json"
	"fmt"
	"net/url"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"a2a-server/a2a/internal/wire"
)

// decodeQuery decodes a request from its query (§11.5): names as in ProtoJSON, unknown names
// ignored. No field of these requests is nested or repeated.
func decodeQuery(query url.Values, into proto.Message) error {
	fields := into.ProtoReflect().Descriptor().Fields()
	given := map[protoreflect.FieldNumber]bool{}
	for name, values := range query {
		field := fields.ByJSONName(name)
		if field == nil {
			field = fields.ByTextName(name)
		}
		if field == nil {
			continue
		}
		if len(values) > 1 || given[field.Number()] { // under either of its names
			return wire.InvalidField(field.JSONName(), "is given more than once")
		}
		given[field.Number()] = true
		if err := setField(into, field, values[0]); err != nil {
			return wire.InvalidField(name, err.Error())
		}
	}
	return nil
}

func setField(into proto.Message, field protoreflect.FieldDescriptor, text string) error {
	var value any = text
	switch field.Kind() { //nolint:exhaustive // protojson reads the others from text
	case protoreflect.BoolKind:
		if text != "true" && text != "false" {
			return fmt.Errorf("is %q; it must be true or false", wire.Clip(text))
		}
		value = text == "true"
	case protoreflect.EnumKind: // protojson drops an unknown value, as it may be from a later version
		if field.Enum().Values().ByName(protoreflect.Name(text)) == nil {
			return fmt.Errorf("cannot be %q", wire.Clip(text))
		}
	}
	one := into.ProtoReflect().New().Interface()
	raw, err := json.Marshal(value)
	if err == nil {
		err = unmarshal(Checked(`{"`+field.JSONName()+`":`+string(raw)+`}`), one)
	}
	if err != nil {
		return fmt.Errorf("cannot be %q", wire.Clip(text))
	}
	proto.Merge(into, one)
	return nil
}
