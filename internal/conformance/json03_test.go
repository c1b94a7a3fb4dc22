package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The types of A2A 0.3 in JSON-RPC (specification 0.3.0, §6 and §7): what is required has no
// omitempty.

type task03 struct {
	Kind      string         `json:"kind"`
	ID        string         `json:"id"`
	ContextID string         `json:"contextId"`
	Status    *status03      `json:"status"`
	Artifacts *[]artifact03  `json:"artifacts"`
	History   *[]message03   `json:"history"`
	Metadata  map[string]any `json:"metadata"`
}

type status03 struct {
	State     string     `json:"state"`
	Message   *message03 `json:"message"`
	Timestamp string     `json:"timestamp"`
}

type message03 struct {
	Kind             string         `json:"kind"`
	MessageID        string         `json:"messageId,omitempty"`
	ContextID        string         `json:"contextId,omitempty"`
	TaskID           string         `json:"taskId,omitempty"`
	Role             string         `json:"role,omitempty"`
	Parts            []part03       `json:"parts,omitempty"`
	Metadata         map[string]any `json:"metadata,omitempty"`
	Extensions       []string       `json:"extensions,omitempty"`
	ReferenceTaskIDs []string       `json:"referenceTaskIds,omitempty"`
}

type part03 struct {
	Kind     string          `json:"kind,omitempty"`
	Text     *string         `json:"text,omitempty"`
	File     *file03         `json:"file,omitempty"`
	Data     *map[string]any `json:"data,omitempty"`
	Metadata map[string]any  `json:"metadata,omitempty"`
}

type file03 struct {
	Name     string  `json:"name,omitempty"`
	MIMEType string  `json:"mimeType,omitempty"`
	Bytes    *[]byte `json:"bytes,omitempty"`
	URI      *string `json:"uri,omitempty"`
}

type artifact03 struct {
	ArtifactID  string         `json:"artifactId"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parts       []part03       `json:"parts"`
	Metadata    map[string]any `json:"metadata"`
	Extensions  []string       `json:"extensions"`
}

type push03 struct {
	TaskID string       `json:"taskId"`
	Config pushMember03 `json:"pushNotificationConfig"`
}

type pushMember03 struct {
	ID             string  `json:"id,omitempty"`
	URL            string  `json:"url"`
	Token          string  `json:"token,omitempty"`
	Authentication *auth03 `json:"authentication,omitempty"`
}

type auth03 struct {
	Schemes     []string `json:"schemes"`
	Credentials string   `json:"credentials,omitempty"`
}

// compat marks data that 0.3 cannot have by itself, and that is wrapped in an object.
const compat = "data_part_compat"

var states03 = []string{"submitted", "working", "input-required", "completed", "canceled", "failed", "rejected", "auth-required", "unknown"}

func fromStatus03(s *status03) (state string, m *message, err error) {
	if s == nil || !slices.Contains(states03, s.State) || !moment.MatchString(s.Timestamp) {
		return "", nil, fmt.Errorf("this is no status: %+v", s)
	}
	if s.Message != nil {
		m, err = fromMessage03(s.Message)
	}
	return s.State, m, err
}

func fromTask03(t *task03) (*task, error) {
	if t.Kind != "task" || t.ID == "" || t.ContextID == "" {
		return nil, fmt.Errorf("a task lacks its kind, id or context: %+v", t)
	}
	state, m, err := fromStatus03(t.Status)
	if err != nil {
		return nil, err
	}
	out := &task{ID: t.ID, Context: t.ContextID, State: state, Message: m, Metadata: t.Metadata, noArtifacts: t.Artifacts == nil, at: t.Status.Timestamp}
	if t.Artifacts != nil {
		for i := range *t.Artifacts {
			a, err := fromArtifact03(&(*t.Artifacts)[i])
			if err != nil {
				return nil, err
			}
			out.Artifacts = append(out.Artifacts, *a)
		}
	}
	if t.History != nil {
		for i := range *t.History {
			m, err := fromMessage03(&(*t.History)[i])
			if err != nil {
				return nil, err
			}
			out.History = append(out.History, *m)
		}
	}
	return out, nil
}

func fromMessage03(m *message03) (*message, error) {
	if m.Kind != "message" || m.MessageID == "" || (m.Role != "user" && m.Role != "agent") || len(m.Parts) == 0 {
		return nil, fmt.Errorf("a message lacks its kind, id, role or parts: %+v", m)
	}
	parts, err := fromParts03(m.Parts)
	return &message{
		ID: m.MessageID, Task: m.TaskID, Context: m.ContextID, Role: m.Role, Parts: parts, Metadata: m.Metadata, Extensions: m.Extensions, References: m.ReferenceTaskIDs,
	}, err
}

func fromArtifact03(a *artifact03) (*artifact, error) {
	if a == nil || a.ArtifactID == "" || len(a.Parts) == 0 {
		return nil, fmt.Errorf("an artifact lacks its id or parts: %+v", a)
	}
	parts, err := fromParts03(a.Parts)
	return &artifact{ID: a.ArtifactID, Name: a.Name, Description: a.Description, Parts: parts, Metadata: a.Metadata, Extensions: a.Extensions}, err
}

func fromParts03(parts []part03) ([]part, error) {
	var all []part
	for _, p := range parts {
		out := part{Metadata: p.Metadata}
		switch {
		case p.Kind == "text" && p.Text != nil && p.File == nil && p.Data == nil:
			out.Kind, out.Text = "text", *p.Text
		case p.Kind == "file" && p.Text == nil && p.File != nil && p.Data == nil && (p.File.Bytes == nil) != (p.File.URI == nil):
			out.Name, out.Type = p.File.Name, p.File.MIMEType
			if p.File.Bytes != nil {
				out.Kind, out.Raw = "raw", *p.File.Bytes
			} else {
				out.Kind, out.URL = "url", *p.File.URI
			}
		case p.Kind == "data" && p.Text == nil && p.File == nil && p.Data != nil:
			out.Kind = "data"
			out.Data, out.Metadata = unwrapped(*p.Data, p.Metadata)
		default:
			return nil, fmt.Errorf("this is no part: %s", encode(p))
		}
		all = append(all, out)
	}
	return all, nil
}

// unwrapped returns the data of a part in 0.3, which has to be an object there.
func unwrapped(object, metadata map[string]any) (value any, rest map[string]any) {
	if metadata[compat] != true {
		return object, metadata
	}
	delete(metadata, compat)
	if len(metadata) == 0 {
		metadata = nil
	}
	return object["value"], metadata
}

// wrapped is the reverse of unwrapped.
func wrapped(p part) (object, metadata map[string]any) {
	if object, ok := p.Data.(map[string]any); ok {
		return object, p.Metadata
	}
	return map[string]any{"value": p.Data}, p.with(compat, true).Metadata
}

func readTask03(raw []byte) (*task, error) {
	var t task03
	if err := fill(raw, &t); err != nil {
		return nil, err
	}
	return fromTask03(&t)
}

func readEvent03(raw []byte) (*event, error) {
	var of struct{ Kind string }
	if err := json.Unmarshal(raw, &of); err != nil {
		return nil, err
	}
	switch of.Kind {
	case "task":
		t, err := readTask03(raw)
		return &event{Task: t}, err
	case "message":
		var m message03
		if err := fill(raw, &m); err != nil {
			return nil, err
		}
		out, err := fromMessage03(&m)
		return &event{Message: out}, err
	case "status-update":
		var u struct {
			Kind      string         `json:"kind"`
			TaskID    string         `json:"taskId"`
			ContextID string         `json:"contextId"`
			Status    *status03      `json:"status"`
			Final     *bool          `json:"final"`
			Metadata  map[string]any `json:"metadata"`
		}
		if err := fill(raw, &u); err != nil {
			return nil, err
		}
		if u.TaskID == "" || u.ContextID == "" || u.Final == nil {
			return nil, fmt.Errorf("a status update lacks something: %s", raw)
		}
		state, m, err := fromStatus03(u.Status)
		return &event{Status: &status{Task: u.TaskID, Context: u.ContextID, State: state, Message: m, Metadata: u.Metadata, final: *u.Final}}, err
	case "artifact-update":
		var u struct {
			Kind      string         `json:"kind"`
			TaskID    string         `json:"taskId"`
			ContextID string         `json:"contextId"`
			Artifact  *artifact03    `json:"artifact"`
			Append    bool           `json:"append"`
			LastChunk bool           `json:"lastChunk"`
			Metadata  map[string]any `json:"metadata"`
		}
		if err := fill(raw, &u); err != nil {
			return nil, err
		}
		a, err := fromArtifact03(u.Artifact)
		if err != nil || u.TaskID == "" || u.ContextID == "" {
			return nil, errors.Join(err, fmt.Errorf("this is no artifact update: %s", raw))
		}
		return &event{Artifact: &artChunk{Task: u.TaskID, Context: u.ContextID, Artifact: *a, Append: u.Append, Last: u.LastChunk, Metadata: u.Metadata}}, nil
	}
	return nil, fmt.Errorf("an event is of the kind %q: %s", of.Kind, raw)
}

func readSent03(raw []byte) (*sent, error) {
	e, err := readEvent03(raw)
	if err != nil {
		return nil, err
	}
	if e.Task == nil && e.Message == nil {
		return nil, fmt.Errorf("message/send answers with neither a task nor a message: %s", raw)
	}
	return &sent{e.Task, e.Message}, nil
}

func toParts03(parts []part) []part03 {
	var all []part03
	for _, p := range parts {
		out := part03{Kind: p.Kind, Metadata: p.Metadata}
		switch p.Kind {
		case "text":
			out.Text = &p.Text
		case "raw":
			out.Kind, out.File = "file", &file03{Name: p.Name, MIMEType: p.Type, Bytes: &p.Raw}
		case "url":
			out.Kind, out.File = "file", &file03{Name: p.Name, MIMEType: p.Type, URI: &p.URL}
		case "data":
			object, metadata := wrapped(p)
			out.Data, out.Metadata = &object, metadata
		}
		all = append(all, out)
	}
	return all
}

func toSend03(s sending) map[string]any {
	req := map[string]any{}
	if m := s.Message; m != nil {
		req["message"] = message03{
			Kind: "message", MessageID: m.ID, ContextID: m.Context, TaskID: m.Task, Role: m.Role, Parts: toParts03(m.Parts), Metadata: m.Metadata,
			Extensions: m.Extensions, ReferenceTaskIDs: m.References,
		}
	}
	c := map[string]any{}
	if s.Now != nil {
		c["blocking"] = !*s.Now
	}
	if s.History != nil {
		c["historyLength"] = *s.History
	}
	if s.Modes != nil {
		c["acceptedOutputModes"] = s.Modes
	}
	if s.Push != nil {
		c["pushNotificationConfig"] = toPush03(*s.Push).Config
	}
	if len(c) > 0 {
		req["configuration"] = c
	}
	if s.Metadata != nil {
		req["metadata"] = s.Metadata
	}
	return req
}

func toPush03(p pushConfig) push03 {
	out := push03{TaskID: p.Task, Config: pushMember03{ID: p.ID, URL: p.URL, Token: p.Token}}
	if p.Scheme != "" {
		out.Config.Authentication = &auth03{[]string{p.Scheme}, p.Credentials}
	}
	return out
}

func fromPush03(in push03) (*pushConfig, error) {
	c := in.Config
	if in.TaskID == "" || c.ID == "" || c.URL == "" {
		return nil, fmt.Errorf("a push config lacks its task, id or url: %+v", in)
	}
	out := &pushConfig{Task: in.TaskID, ID: c.ID, URL: c.URL, Token: c.Token}
	if c.Authentication != nil {
		if len(c.Authentication.Schemes) != 1 {
			return nil, fmt.Errorf("a push config has the schemes %q", c.Authentication.Schemes)
		}
		out.Scheme, out.Credentials = c.Authentication.Schemes[0], c.Authentication.Credentials
	}
	return out, nil
}

func readPush03(raw []byte) (*pushConfig, error) {
	var in push03
	if err := fill(raw, &in); err != nil {
		return nil, err
	}
	return fromPush03(in)
}

// readCard03 reads the members of a card that 0.3 has. It may have those of 1.0, too.
func readCard03(raw []byte) (*card, error) {
	var in struct {
		Name, Description, Version, URL, PreferredTransport, ProtocolVersion string
		AdditionalInterfaces                                                 []struct{ URL, Transport string }
		Capabilities                                                         *struct {
			Streaming, PushNotifications, StateTransitionHistory bool
			Extensions                                           []struct{ URI string }
		}
		SupportsAuthenticatedExtendedCard     bool
		DefaultInputModes, DefaultOutputModes []string
		Skills                                []struct {
			ID, Name, Description string
			Tags                  []string
		}
		SecuritySchemes map[string]struct{ Type, In, Name string }
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	if in.Name == "" || in.Description == "" || in.Version == "" || in.URL == "" || !strings.HasPrefix(in.ProtocolVersion, "0.3") || in.Capabilities == nil ||
		len(in.DefaultInputModes) == 0 || len(in.DefaultOutputModes) == 0 || len(in.Skills) == 0 {
		return nil, fmt.Errorf("a card lacks something that is required: %s", raw)
	}
	out := &card{
		Name: in.Name, Description: in.Description, Version: in.Version, Streaming: in.Capabilities.Streaming,
		Push: in.Capabilities.PushNotifications, Extended: in.SupportsAuthenticatedExtendedCard,
		InputModes: in.DefaultInputModes, OutputModes: in.DefaultOutputModes, Interfaces: map[string][]string{},
	}
	for _, s := range in.Skills {
		if s.ID == "" || s.Name == "" || s.Description == "" || len(s.Tags) == 0 {
			return nil, fmt.Errorf("a skill lacks something that is required: %+v", s)
		}
		out.Skills = append(out.Skills, s.ID)
	}
	for _, e := range in.Capabilities.Extensions {
		out.Extensions = append(out.Extensions, e.URI)
	}
	for name, s := range in.SecuritySchemes {
		if s.Type == "" || s.Type == "apiKey" && (s.In == "" || s.Name == "") {
			return nil, fmt.Errorf("the security scheme %s lacks something that is required: %+v", name, s)
		}
		out.Schemes = append(out.Schemes, name)
	}
	preferred := in.PreferredTransport
	if preferred == "" {
		preferred = "JSONRPC"
	}
	out.Interfaces[preferred] = []string{"0.3"}
	for _, i := range in.AdditionalInterfaces {
		if i.URL == "" {
			return nil, fmt.Errorf("an interface has no URL: %+v", i)
		}
		out.Interfaces[i.Transport] = []string{"0.3"}
	}
	return out, nil
}
