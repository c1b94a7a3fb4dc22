package conformance

import (
	"fmt"
	"strings"
	"time"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// unheard returns an error if a message has fields that its type does not have.
func unheard(m proto.Message) error {
	if raw := m.ProtoReflect().GetUnknown(); len(raw) > 0 {
		return fmt.Errorf("%T has unknown fields: %x", m, raw)
	}
	return nil
}

// structOf returns metadata as a protobuf message. nil stays nil.
func structOf(m map[string]any) *structpb.Struct {
	if m == nil {
		return nil
	}
	s, err := structpb.NewStruct(m)
	if err != nil {
		panic(err) // the cases send nothing that JSON does not have
	}
	return s
}

func mapOf(s *structpb.Struct) map[string]any {
	if s == nil {
		return nil
	}
	return s.AsMap()
}

// momentOf returns a time in the form that JSON has.
func momentOf(t *timestamppb.Timestamp) (string, error) {
	if t == nil || !t.IsValid() || t.GetNanos()%1_000_000 != 0 {
		return "", fmt.Errorf("the time %v is missing, or not in milliseconds", t)
	}
	return t.AsTime().Format("2006-01-02T15:04:05.000Z"), nil
}

func toMessagePB10(m *message) *pb.Message {
	if m == nil {
		return nil
	}
	role, ok := pb.Role_value["ROLE_"+strings.ToUpper(m.Role)]
	if !ok && m.Role != "" {
		role = 99
	}
	out := &pb.Message{
		MessageId: m.ID, ContextId: m.Context, TaskId: m.Task, Role: pb.Role(role), Metadata: structOf(m.Metadata), Extensions: m.Extensions, ReferenceTaskIds: m.References,
	}
	for _, p := range m.Parts {
		one := &pb.Part{Filename: p.Name, MediaType: p.Type, Metadata: structOf(p.Metadata)}
		switch p.Kind {
		case "text":
			one.Content = &pb.Part_Text{Text: p.Text}
		case "raw":
			one.Content = &pb.Part_Raw{Raw: p.Raw}
		case "url":
			one.Content = &pb.Part_Url{Url: p.URL}
		case "data":
			v, err := structpb.NewValue(p.Data)
			if err != nil {
				panic(err) // as above
			}
			one.Content = &pb.Part_Data{Data: v}
		}
		out.Parts = append(out.Parts, one)
	}
	return out
}

func toSendPB10(s sending) *pb.SendMessageRequest {
	req := &pb.SendMessageRequest{Message: toMessagePB10(s.Message), Metadata: structOf(s.Metadata)}
	if s.Now == nil && s.History == nil && s.Modes == nil && s.Push == nil {
		return req
	}
	req.Configuration = &pb.SendMessageConfiguration{AcceptedOutputModes: s.Modes, ReturnImmediately: s.Now != nil && *s.Now}
	if s.History != nil {
		req.Configuration.HistoryLength = ptr(int32(*s.History)) //nolint:gosec // the cases' own numbers
	}
	if s.Push != nil {
		req.Configuration.TaskPushNotificationConfig = toPushPB10(*s.Push)
	}
	return req
}

func toPushPB10(p pushConfig) *pb.TaskPushNotificationConfig {
	out := &pb.TaskPushNotificationConfig{TaskId: p.Task, Id: p.ID, Url: p.URL, Token: p.Token}
	if p.Scheme != "" {
		out.Authentication = &pb.AuthenticationInfo{Scheme: p.Scheme, Credentials: p.Credentials}
	}
	return out
}

func fromPushPB10(in *pb.TaskPushNotificationConfig) (*pushConfig, error) {
	if in.GetTaskId() == "" || in.GetId() == "" || in.GetUrl() == "" {
		return nil, fmt.Errorf("a push config lacks its task, id or url: %v", in)
	}
	a := in.GetAuthentication()
	return &pushConfig{Task: in.GetTaskId(), ID: in.GetId(), URL: in.GetUrl(), Token: in.GetToken(), Scheme: a.GetScheme(), Credentials: a.GetCredentials()}, unheard(in)
}

func fromStatusPB10(s *pb.TaskStatus) (state, at string, m *message, err error) {
	if state, err = fromState10(s.GetState().String()); err != nil {
		return "", "", nil, err
	}
	if at, err = momentOf(s.GetTimestamp()); err != nil {
		return "", "", nil, err
	}
	if s.GetMessage() != nil {
		m, err = fromMessagePB10(s.GetMessage())
	}
	return state, at, m, err
}

func fromTaskPB10(t *pb.Task) (*task, error) {
	if t.GetId() == "" || t.GetContextId() == "" {
		return nil, fmt.Errorf("a task lacks its id or context: %v", t)
	}
	state, at, m, err := fromStatusPB10(t.GetStatus())
	if err != nil {
		return nil, err
	}
	out := &task{ID: t.GetId(), Context: t.GetContextId(), State: state, Message: m, Metadata: mapOf(t.GetMetadata()), noArtifacts: len(t.GetArtifacts()) == 0, at: at}
	for _, a := range t.GetArtifacts() {
		one, err := fromArtifactPB10(a)
		if err != nil {
			return nil, err
		}
		out.Artifacts = append(out.Artifacts, *one)
	}
	for _, h := range t.GetHistory() {
		one, err := fromMessagePB10(h)
		if err != nil {
			return nil, err
		}
		out.History = append(out.History, *one)
	}
	return out, unheard(t)
}

func fromMessagePB10(m *pb.Message) (*message, error) {
	if m.GetMessageId() == "" || m.GetRole() == pb.Role_ROLE_UNSPECIFIED || len(m.GetParts()) == 0 {
		return nil, fmt.Errorf("a message lacks its id, role or parts: %v", m)
	}
	parts, err := fromPartsPB10(m.GetParts())
	if err != nil {
		return nil, err
	}
	return &message{
		ID: m.GetMessageId(), Task: m.GetTaskId(), Context: m.GetContextId(), Role: strings.ToLower(strings.TrimPrefix(m.GetRole().String(), "ROLE_")), Parts: parts,
		Metadata: mapOf(m.GetMetadata()), Extensions: m.GetExtensions(), References: m.GetReferenceTaskIds(),
	}, unheard(m)
}

func fromPartsPB10(parts []*pb.Part) ([]part, error) {
	var all []part
	for _, p := range parts {
		out := part{Name: p.GetFilename(), Type: p.GetMediaType(), Metadata: mapOf(p.GetMetadata())}
		switch c := p.GetContent().(type) {
		case *pb.Part_Text:
			out.Kind, out.Text = "text", c.Text
		case *pb.Part_Raw:
			out.Kind, out.Raw = "raw", c.Raw
		case *pb.Part_Url:
			out.Kind, out.URL = "url", c.Url
		case *pb.Part_Data:
			out.Kind, out.Data = "data", c.Data.AsInterface()
		default:
			return nil, fmt.Errorf("a part has no content: %v", p)
		}
		all = append(all, out)
	}
	return all, nil
}

func fromArtifactPB10(a *pb.Artifact) (*artifact, error) {
	if a.GetArtifactId() == "" || len(a.GetParts()) == 0 {
		return nil, fmt.Errorf("an artifact lacks its id or parts: %v", a)
	}
	parts, err := fromPartsPB10(a.GetParts())
	if err != nil {
		return nil, err
	}
	return &artifact{
		ID: a.GetArtifactId(), Name: a.GetName(), Description: a.GetDescription(), Parts: parts, Metadata: mapOf(a.GetMetadata()), Extensions: a.GetExtensions(),
	}, unheard(a)
}

func fromEventPB10(e *pb.StreamResponse) (out *event, err error) {
	out = &event{}
	switch u := e.GetPayload().(type) {
	case *pb.StreamResponse_Task:
		out.Task, err = fromTaskPB10(u.Task)
	case *pb.StreamResponse_Message:
		out.Message, err = fromMessagePB10(u.Message)
	case *pb.StreamResponse_StatusUpdate:
		s := u.StatusUpdate
		out.Status = &status{Task: s.GetTaskId(), Context: s.GetContextId(), Metadata: mapOf(s.GetMetadata())}
		out.Status.State, _, out.Status.Message, err = fromStatusPB10(s.GetStatus())
	case *pb.StreamResponse_ArtifactUpdate:
		s := u.ArtifactUpdate
		var a *artifact
		if a, err = fromArtifactPB10(s.GetArtifact()); err == nil {
			out.Artifact = &artChunk{
				Task: s.GetTaskId(), Context: s.GetContextId(), Artifact: *a, Append: s.GetAppend(), Last: s.GetLastChunk(), Metadata: mapOf(s.GetMetadata()),
			}
		}
	default:
		err = fmt.Errorf("an event has no payload: %v", e)
	}
	return out, err
}

func toListPB10(l listing) (*pb.ListTasksRequest, error) {
	req := &pb.ListTasksRequest{ContextId: l.Context, PageToken: l.Token}
	if l.State != "" {
		state, ok := pb.TaskState_value["TASK_STATE_"+strings.ToUpper(strings.ReplaceAll(l.State, "-", "_"))]
		if !ok {
			state = 99
		}
		req.Status = pb.TaskState(state)
	}
	if l.Size != nil {
		req.PageSize = ptr(int32(*l.Size)) //nolint:gosec // the cases' own numbers
	}
	if l.History != nil {
		req.HistoryLength = ptr(int32(*l.History)) //nolint:gosec // likewise
	}
	if l.Artifacts {
		req.IncludeArtifacts = ptr(true)
	}
	if l.Since != "" {
		at, err := time.Parse(time.RFC3339, l.Since)
		if err != nil {
			return nil, errNotOffered // it cannot be said
		}
		req.StatusTimestampAfter = timestamppb.New(at)
	}
	return req, nil
}

func fromCardPB10(c *pb.AgentCard) (*card, error) {
	caps := c.GetCapabilities()
	if c.GetName() == "" || c.GetDescription() == "" || c.GetVersion() == "" || len(c.GetSupportedInterfaces()) == 0 || caps == nil || len(c.GetSkills()) == 0 {
		return nil, fmt.Errorf("a card lacks something that is required: %v", c)
	}
	out := &card{
		Name: c.GetName(), Description: c.GetDescription(), Version: c.GetVersion(), Streaming: caps.GetStreaming(), Push: caps.GetPushNotifications(),
		Extended: caps.GetExtendedAgentCard(), InputModes: c.GetDefaultInputModes(), OutputModes: c.GetDefaultOutputModes(), Interfaces: map[string][]string{},
	}
	for _, s := range c.GetSkills() {
		out.Skills = append(out.Skills, s.GetId())
	}
	for _, e := range caps.GetExtensions() {
		out.Extensions = append(out.Extensions, e.GetUri())
	}
	for name := range c.GetSecuritySchemes() {
		out.Schemes = append(out.Schemes, name)
	}
	for _, i := range c.GetSupportedInterfaces() {
		out.Interfaces[i.GetProtocolBinding()] = append(out.Interfaces[i.GetProtocolBinding()], i.GetProtocolVersion())
	}
	return out, unheard(c)
}
