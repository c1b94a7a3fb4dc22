package operation

import (
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

	"a2a-server/a2a/internal/wire"
	"a2a-server/auth"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
)

// MaxParts bounds the parts of a message.
const MaxParts = 1024

// Checked is the JSON of a request that [Check] has accepted: it has no duplicate names,
// invalid UTF-8, integers beyond 2^53 or deep nesting, which decoders treat differently.
type Checked []byte

// Check refuses JSON that decoders may read differently, with the JSON Pointer of the place.
func Check(raw []byte) (Checked, error) {
	if err := strictjson.Validate(raw); err != nil {
		return nil, refused(err)
	}
	return raw, nil
}

func refused(err error) error {
	var at *strictjson.Error
	if !errors.As(err, &at) || at.Syntax {
		return wire.NotJSON(at)
	}
	return wire.RefusedJSON(at.Pointer, at.Reason)
}

// unmarshal decodes a request as ProtoJSON: names in lowerCamelCase or snake_case, unknown
// names ignored (A2A 1.0 §5.7). Empty input is an empty object.
func unmarshal(raw Checked, into proto.Message) error {
	if len(raw) == 0 {
		return nil
	}
	options := protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: 256}
	if err := options.Unmarshal(raw, into); err != nil {
		reason := visible.Clip(ProtoReason(err), 2*wire.MaxEcho)
		w := wire.ErrInvalidParams.Saying(fmt.Sprintf("this is not a valid %s: %s", into.ProtoReflect().Descriptor().Name(), reason))
		w.Undecoded = reason
		return w
	}
	return nil
}

// ProtoReason returns the text of a protojson error without its prefix "proto: ", whose
// space differs from build to build on purpose.
func ProtoReason(err error) string {
	return strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: ")
}

// decode reads a request of any size.
func decode[R any](ctx context.Context, s *Service, by auth.Principal, in Input, read func(Input) (*R, error)) (req *R, err error) {
	tenant := by.Tenant // so that by stays on the stack
	err = s.Engine.Process(ctx, by, len(in.JSON), func() (err error) {
		if req, err = read(in); err != nil {
			return err
		}
		return checkTenant(tenant, in.Tenant, req)
	})
	return req, err
}

// readSend decodes the request of SendMessage and SendStreamingMessage.
func readSend(in Input) (*sdk.SendMessageRequest, error) {
	if in.send != nil {
		return in.send, nil
	}
	return decodeSend(in.JSON)
}

// decodeSend reads and checks parameters of SendMessage and SendStreamingMessage that [readPlain]
// does not read, including values that the SDK's conversion drops.
func decodeSend(raw Checked) (*sdk.SendMessageRequest, error) {
	var pb a2apb.SendMessageRequest
	if err := unmarshal(raw, &pb); err != nil {
		return nil, err
	}
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
	req, err := pbconv.FromProtoSendMessageRequest(&pb)
	if err != nil {
		return nil, wire.ErrInvalidParams.Saying(visible.Clip(err.Error(), 2*wire.MaxEcho))
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
func readListTasks(in Input) (*a2apb.ListTasksRequest, error) {
	// This filter has other names in the SDK's client (v2.4.0), and in 0.3.
	for _, name := range []string{"lastUpdatedAfter", "lastUpdatedTime", "last_updated_time"} {
		if theirs, ok := in.Query[name]; ok && !in.Query.Has("statusTimestampAfter") {
			in.Query["statusTimestampAfter"] = theirs
		}
	}
	var pb a2apb.ListTasksRequest
	if err := in.fill(&pb); err != nil {
		return nil, err
	}
	// protojson drops an unknown state, as it may be from a later version, so that a
	// mistyped filter would be ignored.
	var given struct {
		Status any `json:"status"`
	}
	if len(in.JSON) > 0 {
		_ = json.Unmarshal(in.JSON, &given) // it was decoded before
	}
	if name, ok := given.Status.(string); ok {
		if _, known := a2apb.TaskState_value[name]; !known {
			return nil, wire.InvalidField("status", fmt.Sprintf("cannot be %q", wire.Clip(name)))
		}
	}
	if n := int32(pb.GetStatus()); a2apb.TaskState_name[n] == "" {
		return nil, wire.InvalidField("status", fmt.Sprintf("cannot be %d", n))
	}
	if pb.PageSize != nil && pb.GetPageSize() == 0 {
		return nil, wire.InvalidField("pageSize", "is 0; 1 to 100 are allowed")
	}
	return &pb, checkHistory("historyLength", pb.HistoryLength)
}

// checkMessage checks a user's message against the requirements of A2A, and reports all
// problems at once. A nil message is missing.
func checkMessage(m *a2apb.Message) error {
	var all []wire.Violation
	add := func(field, description string) {
		all = append(all, wire.Violation{Field: field, Description: description})
	}
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
		case n > MaxParts:
			return wire.InvalidField("message.parts", fmt.Sprintf("has %d parts; at most %d are allowed", n, MaxParts))
		}
		for i, p := range m.GetParts() {
			// An empty address is lost in the JSON of the SDK, and then the part has no content.
			if u, isURL := p.GetContent().(*a2apb.Part_Url); p.GetContent() == nil || isURL && u.Url == "" {
				add(fmt.Sprintf("message.parts[%d]", i), "has no content: give it text, raw, url or data")
			}
		}
	}
	if len(all) > 0 {
		return wire.InvalidFields(all)
	}
	return nil
}
