package a2a

import (
	"errors"
	"fmt"
	"mime"

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
// beyond 2^53, depth. Nothing at all stands for an empty object.
func unmarshal(raw []byte, into proto.Message) error {
	if len(raw) == 0 {
		return nil
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

// convert returns what the SDK makes of a decoded request.
func convert[P, S any](pb P, from func(P) (S, error)) (S, error) {
	req, err := from(pb)
	if err != nil {
		return req, errInvalidParams.saying(err.Error())
	}
	return req, nil
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
	req, err := convert(&pb, pbconv.FromProtoSendMessageRequest)
	if err != nil {
		return nil, err
	}
	// The SDK's conversion makes every data part an object and loses what is none.
	for i, p := range pb.GetMessage().GetParts() {
		if data := p.GetData(); data != nil {
			req.Message.Parts[i].Content = sdk.Data{Value: data.AsInterface()}
		}
	}
	return req, nil
}

// toListTasks checks what the SDK's conversion hides: its zero is a page size that
// was not given.
func toListTasks(pb *a2apb.ListTasksRequest) (*sdk.ListTasksRequest, error) {
	if pb.PageSize != nil && pb.GetPageSize() == 0 {
		return nil, invalidField("pageSize", "is 0; 1 to 100 are allowed")
	}
	return convert(pb, pbconv.FromProtoListTasksRequest)
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
	if len(all) > 0 {
		w := errInvalidParams.saying(all[0].Field + " " + all[0].Description)
		w.violations = all
		return w
	}
	for i, p := range m.GetParts() {
		if media := p.GetMediaType(); media != "" {
			if _, _, err := mime.ParseMediaType(media); err != nil {
				return errContentType.saying(fmt.Sprintf("message.parts[%d].mediaType is not a media type: write it as text/plain", i))
			}
		}
	}
	return nil
}
