package a2a

import (
	"errors"
	"fmt"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1/pbconv"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"a2a-server/internal/strictjson"
)

// maxParts bounds the parts of a message.
const maxParts = 1024

// unmarshal reads parameters as ProtoJSON asks: names in lowerCamelCase and in
// snake_case, unknown ones ignored (A2A 1.0 §5.7). Before that the raw bytes are
// checked for what a decoder would hide: duplicate names, invalid UTF-8, integers
// beyond 2^53, depth.
func unmarshal(raw []byte, into proto.Message) error {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	if err := strictjson.CheckNumbers(raw); err != nil {
		var at *strictjson.Error
		if errors.As(err, &at) {
			w := errInvalidParams.saying("params" + at.Pointer + ": " + at.Reason)
			w.violations = []violation{{"params" + at.Pointer, at.Reason}}
			return w
		}
		return errInvalidParams.saying("params: " + err.Error())
	}
	options := protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: 256}
	if err := options.Unmarshal(raw, into); err != nil {
		return errInvalidParams.saying(fmt.Sprintf("params do not fit %s: %v", into.ProtoReflect().Descriptor().Name(), err))
	}
	return nil
}

// decodeSend reads and checks the parameters of SendMessage and
// SendStreamingMessage.
func decodeSend(raw []byte) (*sdk.SendMessageRequest, error) {
	var pb a2apb.SendMessageRequest
	if err := unmarshal(raw, &pb); err != nil {
		return nil, err
	}
	if err := checkMessage(pb.GetMessage()); err != nil {
		return nil, err
	}
	req, err := pbconv.FromProtoSendMessageRequest(&pb)
	if err != nil {
		return nil, errInvalidParams.saying(err.Error())
	}
	// The SDK's conversion makes every data part an object and loses what is none.
	for i, p := range pb.GetMessage().GetParts() {
		if data := p.GetData(); data != nil {
			req.Message.Parts[i].Content = sdk.Data{Value: data.AsInterface()}
		}
	}
	if n := req.Config; n != nil && n.HistoryLength != nil && *n.HistoryLength < 0 {
		return nil, invalidField("configuration.historyLength", "must not be negative")
	}
	if req.Config != nil && req.Config.PushConfig != nil {
		return nil, errPushUnsupported.saying(errPushUnsupported.message)
	}
	return req, nil
}

func invalidField(field, description string) *wireError {
	w := errInvalidParams.saying(field + " " + description)
	w.violations = []violation{{field, description}}
	return w
}

// checkMessage checks what A2A requires of a user's message; all problems at once.
func checkMessage(m *a2apb.Message) error {
	var all []violation
	add := func(field, description string) { all = append(all, violation{field, description}) }
	if m == nil {
		add("message", "is required")
	} else {
		if m.GetMessageId() == "" {
			add("message.messageId", "is required")
		}
		if m.GetRole() != a2apb.Role_ROLE_USER {
			add("message.role", "must be ROLE_USER")
		}
		switch n := len(m.GetParts()); {
		case n == 0:
			add("message.parts", "must have at least one part")
		case n > maxParts:
			add("message.parts", fmt.Sprintf("has %d parts; at most %d are allowed", n, maxParts))
		}
		for i, p := range m.GetParts() {
			if p == nil || p.GetContent() == nil {
				add(fmt.Sprintf("message.parts[%d]", i), "has no content: give it text, raw, url or data")
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	w := errInvalidParams.saying(all[0].Field + " " + all[0].Description)
	w.violations = all
	return w
}
