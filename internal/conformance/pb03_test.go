package conformance

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	pb "github.com/a2aproject/a2a-go/a2apb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func toMessagePB03(m *message) *pb.Message {
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
		one := &pb.Part{Metadata: structOf(p.Metadata)}
		switch p.Kind {
		case "text":
			one.Part = &pb.Part_Text{Text: p.Text}
		case "raw":
			one.Part = &pb.Part_File{File: &pb.FilePart{File: &pb.FilePart_FileWithBytes{FileWithBytes: []byte(base64.StdEncoding.EncodeToString(p.Raw))}, MimeType: p.Type, Name: p.Name}}
		case "url":
			one.Part = &pb.Part_File{File: &pb.FilePart{File: &pb.FilePart_FileWithUri{FileWithUri: p.URL}, MimeType: p.Type, Name: p.Name}}
		case "data":
			object, metadata := wrapped(p)
			one.Part, one.Metadata = &pb.Part_Data{Data: &pb.DataPart{Data: structOf(object)}}, structOf(metadata)
		}
		out.Parts = append(out.Parts, one)
	}
	return out
}

func toSendPB03(s sending) *pb.SendMessageRequest {
	req := &pb.SendMessageRequest{Request: toMessagePB03(s.Message), Metadata: structOf(s.Metadata)}
	if s.Now == nil && s.History == nil && s.Modes == nil && s.Push == nil {
		return req
	}
	req.Configuration = &pb.SendMessageConfiguration{AcceptedOutputModes: s.Modes, Blocking: s.Now != nil && !*s.Now}
	if s.History != nil {
		req.Configuration.HistoryLength = int32(*s.History) //nolint:gosec // the cases' own numbers
	}
	if s.Push != nil {
		req.Configuration.PushNotification = toPushPB03(*s.Push)
	}
	return req
}

func toPushPB03(p pushConfig) *pb.PushNotificationConfig {
	out := &pb.PushNotificationConfig{Id: p.ID, Url: p.URL, Token: p.Token}
	if p.Scheme != "" {
		out.Authentication = &pb.AuthenticationInfo{Schemes: []string{p.Scheme}, Credentials: p.Credentials}
	}
	return out
}

func fromPushPB03(in *pb.TaskPushNotificationConfig) (*pushConfig, error) {
	task, id, err := ofResource(in.GetName())
	c := in.GetPushNotificationConfig()
	if err != nil || c.GetUrl() == "" || c.GetId() != id {
		return nil, fmt.Errorf("this is no push config: %v, %w", in, err)
	}
	out := &pushConfig{Task: task, ID: id, URL: c.GetUrl(), Token: c.GetToken(), Credentials: c.GetAuthentication().GetCredentials()}
	if schemes := c.GetAuthentication().GetSchemes(); len(schemes) > 0 {
		out.Scheme = schemes[0]
	}
	return out, errors.Join(unheard(in), unheard(c))
}

func fromStatusPB03(s *pb.TaskStatus) (state, at string, m *message, err error) {
	if state, err = fromState03(s.GetState().String()); err != nil {
		return "", "", nil, err
	}
	if at, err = momentOf(s.GetTimestamp()); err != nil {
		return "", "", nil, err
	}
	if s.GetUpdate() != nil {
		m, err = fromMessagePB03(s.GetUpdate())
	}
	return state, at, m, err
}

func fromTaskPB03(t *pb.Task) (*task, error) {
	if t.GetId() == "" || t.GetContextId() == "" {
		return nil, fmt.Errorf("a task lacks its id or context: %v", t)
	}
	state, at, m, err := fromStatusPB03(t.GetStatus())
	if err != nil {
		return nil, err
	}
	out := &task{ID: t.GetId(), Context: t.GetContextId(), State: state, Message: m, Metadata: mapOf(t.GetMetadata()), noArtifacts: len(t.GetArtifacts()) == 0, at: at}
	for _, a := range t.GetArtifacts() {
		one, err := fromArtifactPB03(a)
		if err != nil {
			return nil, err
		}
		out.Artifacts = append(out.Artifacts, *one)
	}
	for _, h := range t.GetHistory() {
		one, err := fromMessagePB03(h)
		if err != nil {
			return nil, err
		}
		out.History = append(out.History, *one)
	}
	return out, unheard(t)
}

func fromMessagePB03(m *pb.Message) (*message, error) {
	if m.GetMessageId() == "" || m.GetRole() == pb.Role_ROLE_UNSPECIFIED || len(m.GetParts()) == 0 {
		return nil, fmt.Errorf("a message lacks its id, role or parts: %v", m)
	}
	parts, err := fromPartsPB03(m.GetParts())
	if err != nil {
		return nil, err
	}
	return &message{
		ID: m.GetMessageId(), Task: m.GetTaskId(), Context: m.GetContextId(), Role: strings.ToLower(strings.TrimPrefix(m.GetRole().String(), "ROLE_")), Parts: parts,
		Metadata: mapOf(m.GetMetadata()), Extensions: m.GetExtensions(), References: m.GetReferenceTaskIds(),
	}, unheard(m)
}

func fromPartsPB03(parts []*pb.Part) ([]part, error) {
	var all []part
	for _, p := range parts {
		out := part{Metadata: mapOf(p.GetMetadata())}
		switch c := p.GetPart().(type) {
		case *pb.Part_Text:
			out.Kind, out.Text = "text", c.Text
		case *pb.Part_File:
			out.Name, out.Type = c.File.GetName(), c.File.GetMimeType()
			if uri := c.File.GetFileWithUri(); uri != "" {
				out.Kind, out.URL = "url", uri
				break
			}
			raw, err := base64.StdEncoding.DecodeString(string(c.File.GetFileWithBytes())) // see fileREST03
			if err != nil {
				return nil, err
			}
			out.Kind, out.Raw = "raw", raw
		case *pb.Part_Data:
			out.Kind = "data"
			out.Data, out.Metadata = unwrapped(c.Data.GetData().AsMap(), out.Metadata)
		default:
			return nil, fmt.Errorf("a part has no content: %v", p)
		}
		all = append(all, out)
	}
	return all, nil
}

func fromArtifactPB03(a *pb.Artifact) (*artifact, error) {
	if a.GetArtifactId() == "" || len(a.GetParts()) == 0 {
		return nil, fmt.Errorf("an artifact lacks its id or parts: %v", a)
	}
	parts, err := fromPartsPB03(a.GetParts())
	if err != nil {
		return nil, err
	}
	return &artifact{
		ID: a.GetArtifactId(), Name: a.GetName(), Description: a.GetDescription(), Parts: parts, Metadata: mapOf(a.GetMetadata()), Extensions: a.GetExtensions(),
	}, unheard(a)
}

func fromEventPB03(e *pb.StreamResponse) (out *event, err error) {
	out = &event{}
	switch u := e.GetPayload().(type) {
	case *pb.StreamResponse_Task:
		out.Task, err = fromTaskPB03(u.Task)
	case *pb.StreamResponse_Msg:
		out.Message, err = fromMessagePB03(u.Msg)
	case *pb.StreamResponse_StatusUpdate:
		s := u.StatusUpdate
		out.Status = &status{Task: s.GetTaskId(), Context: s.GetContextId(), Metadata: mapOf(s.GetMetadata()), final: s.GetFinal()}
		out.Status.State, _, out.Status.Message, err = fromStatusPB03(s.GetStatus())
	case *pb.StreamResponse_ArtifactUpdate:
		s := u.ArtifactUpdate
		var a *artifact
		if a, err = fromArtifactPB03(s.GetArtifact()); err == nil {
			out.Artifact = &artChunk{
				Task: s.GetTaskId(), Context: s.GetContextId(), Artifact: *a, Append: s.GetAppend(), Last: s.GetLastChunk(), Metadata: mapOf(s.GetMetadata()),
			}
		}
	default:
		err = fmt.Errorf("an event has no payload: %v", e)
	}
	return out, err
}

func toListPB03(l listing) (*pb.ListTasksRequest, error) {
	req := &pb.ListTasksRequest{ContextId: l.Context, PageToken: l.Token}
	if l.State != "" {
		name := strings.ToUpper(strings.ReplaceAll(l.State, "-", "_"))
		if name == "CANCELED" {
			name = "CANCELLED"
		}
		state, ok := pb.TaskState_value["TASK_STATE_"+name]
		if !ok {
			state = 99
		}
		req.Status = pb.TaskState(state)
	}
	if l.Size != nil {
		req.PageSize = int32(*l.Size) //nolint:gosec // the cases' own numbers
	}
	if l.History != nil {
		req.HistoryLength = int32(*l.History) //nolint:gosec // likewise
	}
	if l.Artifacts {
		req.IncludeArtifacts = true
	}
	if l.Since != "" {
		at, err := time.Parse(time.RFC3339, l.Since)
		if err != nil {
			return nil, errNotOffered // it cannot be said
		}
		req.LastUpdatedTime = timestamppb.New(at)
	}
	return req, nil
}

func fromCardPB03(c *pb.AgentCard) (*card, error) {
	caps := c.GetCapabilities()
	if c.GetName() == "" || c.GetDescription() == "" || c.GetVersion() == "" || c.GetUrl() == "" || caps == nil || len(c.GetSkills()) == 0 || !strings.HasPrefix(c.GetProtocolVersion(), "0.3") {
		return nil, fmt.Errorf("a card lacks something that is required: %v", c)
	}
	out := &card{
		Name: c.GetName(), Description: c.GetDescription(), Version: c.GetVersion(), Streaming: caps.GetStreaming(), Push: caps.GetPushNotifications(),
		Extended: c.GetSupportsAuthenticatedExtendedCard(), InputModes: c.GetDefaultInputModes(), OutputModes: c.GetDefaultOutputModes(), Interfaces: map[string][]string{},
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
	out.Interfaces[c.GetPreferredTransport()] = []string{"0.3"}
	for _, i := range c.GetAdditionalInterfaces() {
		out.Interfaces[i.GetTransport()] = []string{"0.3"}
	}
	return out, unheard(c)
}
