package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1/pbconv"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"a2a-server/auth"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
)

// maxParts bounds the parts of a message.
const maxParts = 1024

// checked is the JSON of a request that [check] has accepted: it has no duplicate names,
// invalid UTF-8, integers beyond 2^53 or deep nesting, which decoders treat differently.
type checked []byte

// check refuses JSON that decoders may read differently, with the JSON Pointer of the place.
func check(raw []byte) (checked, error) {
	if err := strictjson.Validate(raw); err != nil {
		var at *strictjson.Error
		if !errors.As(err, &at) || at.Syntax {
			return nil, notJSON(at)
		}
		return nil, refusedJSON(at.Pointer, at.Reason)
	}
	return raw, nil
}

// unmarshal decodes a request as ProtoJSON: names in lowerCamelCase or snake_case, unknown
// names ignored (A2A 1.0 §5.7). Empty input is an empty object.
func unmarshal(raw checked, into proto.Message) error {
	if len(raw) == 0 {
		return nil
	}
	options := protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: 256}
	if err := options.Unmarshal(raw, into); err != nil {
		reason := visible.Clip(protoReason(err), 2*maxEcho)
		w := errInvalidParams.saying(fmt.Sprintf("this is not a valid %s: %s", into.ProtoReflect().Descriptor().Name(), reason))
		w.undecoded = reason
		return w
	}
	return nil
}

// protoReason returns the text of a protojson error without its prefix "proto: ", whose
// space differs from build to build on purpose.
func protoReason(err error) string {
	return strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: ")
}

// decode reads a request of any size.
func decode[R any](ctx context.Context, s *service, by auth.Principal, in input, read func(input) (*R, error)) (req *R, err error) {
	err = s.cfg.Engine.Heavily(ctx, by, in.size(), func() (err error) {
		if req, err = read(in); err != nil {
			return err
		}
		return checkTenant(by, in.tenant, req)
	})
	return req, err
}

// readSend decodes the request of SendMessage and SendStreamingMessage.
func readSend(in input) (*sdk.SendMessageRequest, error) {
	if in.proto == nil {
		return decodeSend(in.json)
	}
	var pb a2apb.SendMessageRequest
	if err := in.fill(&pb); err != nil {
		return nil, err
	}
	return toSend(&pb)
}

// decodeSend reads and checks the parameters of SendMessage and
// SendStreamingMessage.
func decodeSend(raw checked) (*sdk.SendMessageRequest, error) {
	// Parts are counted before they are decoded. Each has braces.
	if bytes.Count(raw, []byte{'{'}) > maxParts {
		if n := strictjson.Elements(raw, "message", "parts"); n > maxParts {
			return nil, tooManyParts(n)
		}
	}
	if req, ok := decodePlain(raw); ok {
		return req, nil
	}
	return decodeProto(raw)
}

// decodeProto is decodeSend for parameters of any form.
func decodeProto(raw checked) (*sdk.SendMessageRequest, error) {
	var pb a2apb.SendMessageRequest
	if err := unmarshal(raw, &pb); err != nil {
		return nil, err
	}
	return toSend(&pb)
}

// toSend checks the parameters of SendMessage and SendStreamingMessage, including values that
// the SDK's conversion drops.
func toSend(pb *a2apb.SendMessageRequest) (*sdk.SendMessageRequest, error) {
	if err := checkMessage(pb.GetMessage()); err != nil {
		return nil, err
	}
	// Converted here: that this server has no push notifications comes before any problem
	// with the fields of a webhook (§3.3.4).
	push := pb.GetConfiguration().GetTaskPushNotificationConfig()
	if c := pb.GetConfiguration(); c != nil {
		c.TaskPushNotificationConfig = nil
		if err := checkHistory("configuration.historyLength", c.HistoryLength); err != nil && push == nil {
			return nil, err // the operation checks it, too, after the webhook
		}
	}
	req, err := pbconv.FromProtoSendMessageRequest(pb)
	if err != nil {
		return nil, errInvalidParams.saying(visible.Clip(err.Error(), 2*maxEcho))
	}
	if push != nil {
		req.Config.PushConfig = toPush(push)
		if pb.GetConfiguration().HistoryLength != nil { // the SDK drops a negative length
			n := int(pb.GetConfiguration().GetHistoryLength())
			req.Config.HistoryLength = &n
		}
	}
	// The SDK's conversion turns every data part into an object and loses other values.
	for i, p := range pb.GetMessage().GetParts() {
		if data := p.GetData(); data != nil {
			req.Message.Parts[i].Content = sdk.Data{Value: data.AsInterface()}
		}
	}
	return req, nil
}

// readListTasks decodes the request of ListTasks.
func readListTasks(in input) (*a2apb.ListTasksRequest, error) {
	// This filter has other names in the SDK's client (v2.4.0), and in 0.3.
	for _, name := range []string{"lastUpdatedAfter", "lastUpdatedTime", "last_updated_time"} {
		if theirs, ok := in.query[name]; ok && !in.query.Has("statusTimestampAfter") {
			in.query["statusTimestampAfter"] = theirs
		}
	}
	var pb a2apb.ListTasksRequest
	if err := in.fill(&pb); err != nil {
		return nil, err
	}
	if in.proto != nil && pb.GetPageSize() == 0 {
		pb.PageSize = nil // the SDK's client (v2.4.0) sends 0 when its caller gives none
	}
	// protojson drops an unknown state, as it may be from a later version, so that a
	// mistyped filter would be ignored.
	var given struct {
		Status any `json:"status"`
	}
	if len(in.json) > 0 {
		if err := json.Unmarshal(in.json, &given); err != nil {
			return nil, fmt.Errorf("decode ListTasks: %w", err) // it was decoded before
		}
	}
	if name, ok := given.Status.(string); ok {
		if _, known := a2apb.TaskState_value[name]; !known {
			return nil, invalidField("status", fmt.Sprintf("cannot be %q", clip(name)))
		}
	}
	if n := int32(pb.GetStatus()); a2apb.TaskState_name[n] == "" {
		return nil, invalidField("status", fmt.Sprintf("cannot be %d", n))
	}
	if pb.PageSize != nil && pb.GetPageSize() == 0 {
		return nil, invalidField("pageSize", "is 0; 1 to 100 are allowed")
	}
	return &pb, checkHistory("historyLength", pb.HistoryLength)
}

func tooManyParts(n int) error {
	return invalidField("message.parts", fmt.Sprintf("has %d parts; at most %d are allowed", n, maxParts))
}

// checkMessage checks a user's message against the requirements of A2A, and reports all
// problems at once. A nil message is missing.
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
			return tooManyParts(n)
		}
		for i, p := range m.GetParts() {
			// An empty address is lost in the JSON of the SDK, and then the part has no content.
			if u, isURL := p.GetContent().(*a2apb.Part_Url); p.GetContent() == nil || isURL && u.Url == "" {
				add(fmt.Sprintf("message.parts[%d]", i), "has no content: give it text, raw, url or data")
			}
		}
	}
	if len(all) > 0 {
		w := errInvalidParams.saying(all[0].Field + " " + all[0].Description)
		w.violations = all
		return w
	}
	return nil
}
