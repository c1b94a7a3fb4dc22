package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// The types of A2A 1.0 in JSON (§5.5, §5.6): what is required has no omitempty.

type task10 struct {
	ID        string          `json:"id"`
	ContextID string          `json:"contextId"`
	Status    *status10       `json:"status"`
	Artifacts *[]artifact10   `json:"artifacts"`
	History   *[]message10    `json:"history"`
	Metadata  *map[string]any `json:"metadata"`
}

type status10 struct {
	State     string     `json:"state"`
	Message   *message10 `json:"message"`
	Timestamp string     `json:"timestamp"`
}

type message10 struct {
	MessageID        string         `json:"messageId"`
	ContextID        string         `json:"contextId,omitempty"`
	TaskID           string         `json:"taskId,omitempty"`
	Role             string         `json:"role,omitempty"`
	Parts            []part10       `json:"parts,omitempty"`
	Metadata         map[string]any `json:"metadata,omitempty"`
	Extensions       []string       `json:"extensions,omitempty"`
	ReferenceTaskIDs []string       `json:"referenceTaskIds,omitempty"`
}

type part10 struct {
	Text      *string         `json:"text,omitempty"`
	Raw       *[]byte         `json:"raw,omitempty"`
	URL       *string         `json:"url,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Filename  string          `json:"filename,omitempty"`
	MediaType string          `json:"mediaType,omitempty"`
	Metadata  map[string]any  `json:"metadata,omitempty"`
}

type artifact10 struct {
	ArtifactID  string         `json:"artifactId"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parts       []part10       `json:"parts"`
	Metadata    map[string]any `json:"metadata"`
	Extensions  []string       `json:"extensions"`
}

// event10 is a StreamResponse, and what SendMessage answers.
type event10 struct {
	Task         *task10    `json:"task"`
	Message      *message10 `json:"message"`
	StatusUpdate *struct {
		TaskID    string         `json:"taskId"`
		ContextID string         `json:"contextId"`
		Status    *status10      `json:"status"`
		Metadata  map[string]any `json:"metadata"`
	} `json:"statusUpdate"`
	ArtifactUpdate *struct {
		TaskID    string         `json:"taskId"`
		ContextID string         `json:"contextId"`
		Artifact  *artifact10    `json:"artifact"`
		Append    bool           `json:"append"`
		LastChunk bool           `json:"lastChunk"`
		Metadata  map[string]any `json:"metadata"`
	} `json:"artifactUpdate"`
}

type page10 struct {
	Tasks         *[]task10 `json:"tasks"`
	NextPageToken *string   `json:"nextPageToken"`
	PageSize      *int      `json:"pageSize"`
	TotalSize     *int      `json:"totalSize"`
}

type push10 struct {
	Tenant         string  `json:"tenant,omitempty"`
	TaskID         string  `json:"taskId,omitempty"`
	ID             string  `json:"id,omitempty"`
	URL            string  `json:"url"`
	Token          string  `json:"token,omitempty"`
	Authentication *auth10 `json:"authentication,omitempty"`
}

type auth10 struct {
	Scheme      string `json:"scheme"`
	Credentials string `json:"credentials,omitempty"`
}

// moment is the form of a time: UTC with milliseconds (§5.6.1).
var moment = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$`)

func fromTask10(t *task10) (*task, error) {
	if t == nil || t.ID == "" || t.ContextID == "" || t.Status == nil {
		return nil, fmt.Errorf("a task lacks its id, context or status: %+v", t)
	}
	state, err := fromState10(t.Status.State)
	if err != nil {
		return nil, err
	}
	out := &task{ID: t.ID, Context: t.ContextID, State: state, noArtifacts: t.Artifacts == nil, at: t.Status.Timestamp}
	if !moment.MatchString(t.Status.Timestamp) {
		return nil, fmt.Errorf("the time of a status is %q", t.Status.Timestamp)
	}
	if t.Status.Message != nil {
		if out.Message, err = fromMessage10(t.Status.Message); err != nil {
			return nil, err
		}
	}
	if t.Artifacts != nil {
		if len(*t.Artifacts) == 0 {
			return nil, errors.New("a task has an empty list of artifacts")
		}
		for i := range *t.Artifacts {
			a, err := fromArtifact10(&(*t.Artifacts)[i])
			if err != nil {
				return nil, err
			}
			out.Artifacts = append(out.Artifacts, *a)
		}
	}
	if t.History != nil {
		if len(*t.History) == 0 {
			return nil, errors.New("a task has an empty history, which is to be left out")
		}
		for i := range *t.History {
			m, err := fromMessage10(&(*t.History)[i])
			if err != nil {
				return nil, err
			}
			out.History = append(out.History, *m)
		}
	}
	if t.Metadata != nil {
		out.Metadata = *t.Metadata
	}
	return out, nil
}

func fromState10(name string) (string, error) {
	state, ok := strings.CutPrefix(name, "TASK_STATE_")
	if !ok {
		return "", fmt.Errorf("%q is no state", name)
	}
	return strings.ReplaceAll(strings.ToLower(state), "_", "-"), nil
}

func fromMessage10(m *message10) (*message, error) {
	role, ok := strings.CutPrefix(m.Role, "ROLE_")
	if m.MessageID == "" || !ok || len(m.Parts) == 0 {
		return nil, fmt.Errorf("a message lacks its id, role or parts: %+v", m)
	}
	parts, err := fromParts10(m.Parts)
	if err != nil {
		return nil, err
	}
	return &message{
		ID: m.MessageID, Task: m.TaskID, Context: m.ContextID, Role: strings.ToLower(role), Parts: parts, Metadata: m.Metadata,
		Extensions: m.Extensions, References: m.ReferenceTaskIDs,
	}, nil
}

func fromParts10(parts []part10) ([]part, error) {
	var all []part
	for i := range parts {
		p := &parts[i]
		out := part{Name: p.Filename, Type: p.MediaType, Metadata: p.Metadata}
		n := 0
		if p.Text != nil {
			out.Kind, out.Text = "text", *p.Text
			n++
		}
		if p.Raw != nil {
			out.Kind, out.Raw = "raw", *p.Raw
			n++
		}
		if p.URL != nil {
			out.Kind, out.URL = "url", *p.URL
			n++
		}
		if p.Data != nil {
			out.Kind = "data"
			if err := json.Unmarshal(p.Data, &out.Data); err != nil {
				return nil, err
			}
			n++
		}
		if n != 1 {
			return nil, fmt.Errorf("a part has %d contents: %+v", n, p)
		}
		all = append(all, out)
	}
	return all, nil
}

func fromArtifact10(a *artifact10) (*artifact, error) {
	if a == nil || a.ArtifactID == "" || len(a.Parts) == 0 {
		return nil, fmt.Errorf("an artifact lacks its id or parts: %+v", a)
	}
	parts, err := fromParts10(a.Parts)
	return &artifact{ID: a.ArtifactID, Name: a.Name, Description: a.Description, Parts: parts, Metadata: a.Metadata, Extensions: a.Extensions}, err
}

func readTask10(raw []byte) (*task, error) {
	var t task10
	if err := fill(raw, &t); err != nil {
		return nil, err
	}
	return fromTask10(&t)
}

func readEvent10(raw []byte) (*event, error) {
	var in event10
	if err := fill(raw, &in); err != nil {
		return nil, err
	}
	var out event
	var err error
	n := 0
	if in.Task != nil {
		n++
		out.Task, err = fromTask10(in.Task)
	}
	if in.Message != nil && err == nil {
		n++
		out.Message, err = fromMessage10(in.Message)
	}
	if u := in.StatusUpdate; u != nil && err == nil {
		n++
		if u.Status == nil || u.TaskID == "" || u.ContextID == "" || !moment.MatchString(u.Status.Timestamp) {
			return nil, fmt.Errorf("a status update lacks something: %s", raw)
		}
		out.Status = &status{Task: u.TaskID, Context: u.ContextID, Metadata: u.Metadata}
		out.Status.State, err = fromState10(u.Status.State)
		if u.Status.Message != nil && err == nil {
			out.Status.Message, err = fromMessage10(u.Status.Message)
		}
	}
	if u := in.ArtifactUpdate; u != nil && err == nil {
		n++
		if u.TaskID == "" || u.ContextID == "" {
			return nil, fmt.Errorf("an artifact update lacks something: %s", raw)
		}
		var a *artifact
		if a, err = fromArtifact10(u.Artifact); err == nil {
			out.Artifact = &artChunk{Task: u.TaskID, Context: u.ContextID, Artifact: *a, Append: u.Append, Last: u.LastChunk, Metadata: u.Metadata}
		}
	}
	if err == nil && n != 1 {
		err = fmt.Errorf("an event has %d members: %s", n, raw)
	}
	return &out, err
}

func readSent10(raw []byte) (*sent, error) {
	e, err := readEvent10(raw)
	if err != nil {
		return nil, err
	}
	if e.Task == nil && e.Message == nil {
		return nil, fmt.Errorf("SendMessage answers with neither a task nor a message: %s", raw)
	}
	return &sent{e.Task, e.Message}, nil
}

func readPage10(raw []byte) (*page, error) {
	var in page10
	if err := fill(raw, &in); err != nil {
		return nil, err
	}
	if in.Tasks == nil || in.NextPageToken == nil || in.PageSize == nil || in.TotalSize == nil {
		return nil, fmt.Errorf("a page lacks something: %s", raw)
	}
	out := &page{Size: *in.PageSize, Total: *in.TotalSize, More: *in.NextPageToken != "", next: *in.NextPageToken}
	for i := range *in.Tasks {
		t, err := fromTask10(&(*in.Tasks)[i])
		if err != nil {
			return nil, err
		}
		out.Tasks = append(out.Tasks, *t)
	}
	return out, nil
}

func toParts10(parts []part) []part10 {
	var all []part10
	for _, p := range parts {
		out := part10{Filename: p.Name, MediaType: p.Type, Metadata: p.Metadata}
		switch p.Kind {
		case "text":
			out.Text = &p.Text
		case "raw":
			out.Raw = &p.Raw
		case "url":
			out.URL = &p.URL
		case "data":
			out.Data = encode(p.Data)
		}
		all = append(all, out)
	}
	return all
}

func toSend10(s sending) map[string]any {
	req := map[string]any{}
	if m := s.Message; m != nil {
		role := ""
		if m.Role != "" {
			role = "ROLE_" + strings.ToUpper(m.Role)
		}
		req["message"] = message10{
			MessageID: m.ID, ContextID: m.Context, TaskID: m.Task, Role: role, Parts: toParts10(m.Parts), Metadata: m.Metadata,
			Extensions: m.Extensions, ReferenceTaskIDs: m.References,
		}
	}
	c := map[string]any{}
	if s.Now != nil {
		c["returnImmediately"] = *s.Now
	}
	if s.History != nil {
		c["historyLength"] = *s.History
	}
	if s.Modes != nil {
		c["acceptedOutputModes"] = s.Modes
	}
	if s.Push != nil {
		c["taskPushNotificationConfig"] = toPush10(*s.Push)
	}
	if len(c) > 0 {
		req["configuration"] = c
	}
	if s.Metadata != nil {
		req["metadata"] = s.Metadata
	}
	return req
}

func toPush10(p pushConfig) push10 {
	out := push10{TaskID: p.Task, ID: p.ID, URL: p.URL, Token: p.Token}
	if p.Scheme != "" {
		out.Authentication = &auth10{p.Scheme, p.Credentials}
	}
	return out
}

func readPush10(raw []byte) (*pushConfig, error) {
	var in push10
	if err := fill(raw, &in); err != nil {
		return nil, err
	}
	return fromPush10(in)
}

func fromPush10(in push10) (*pushConfig, error) {
	if in.TaskID == "" || in.ID == "" || in.URL == "" {
		return nil, fmt.Errorf("a push config lacks its task, id or url: %+v", in)
	}
	out := &pushConfig{Task: in.TaskID, ID: in.ID, URL: in.URL, Token: in.Token}
	if in.Authentication != nil {
		out.Scheme, out.Credentials = in.Authentication.Scheme, in.Authentication.Credentials
	}
	return out, nil
}

func readPushes10(raw []byte) ([]pushConfig, error) {
	var in struct {
		Configs       *[]push10 `json:"configs"`
		NextPageToken *string   `json:"nextPageToken"`
	}
	if err := fill(raw, &in); err != nil {
		return nil, err
	}
	var all []pushConfig
	if in.Configs != nil {
		for _, p := range *in.Configs {
			c, err := fromPush10(p)
			if err != nil {
				return nil, err
			}
			all = append(all, *c)
		}
	}
	return all, nil
}

func toList10(l listing) map[string]any {
	q := map[string]any{}
	if l.Context != "" {
		q["contextId"] = l.Context
	}
	if l.State != "" {
		q["status"] = "TASK_STATE_" + strings.ToUpper(strings.ReplaceAll(l.State, "-", "_"))
	}
	if l.Size != nil {
		q["pageSize"] = *l.Size
	}
	if l.Token != "" {
		q["pageToken"] = l.Token
	}
	if l.History != nil {
		q["historyLength"] = *l.History
	}
	if l.Artifacts {
		q["includeArtifacts"] = true
	}
	if l.Since != "" {
		q["statusTimestampAfter"] = l.Since
	}
	return q
}

// readCard10 reads the members of a card that 1.0 has. It may have those of 0.3, too.
func readCard10(raw []byte) (*card, error) {
	var in struct {
		Name                string
		Description         string
		Version             string
		SupportedInterfaces []struct{ URL, ProtocolBinding, ProtocolVersion string }
		Capabilities        *struct {
			Streaming, PushNotifications, ExtendedAgentCard bool
			Extensions                                      []struct{ URI string }
		}
		DefaultInputModes, DefaultOutputModes []string
		Skills                                []struct {
			ID, Name, Description string
			Tags                  []string
		}
		SecuritySchemes map[string]map[string]any
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	if in.Name == "" || in.Description == "" || in.Version == "" || len(in.SupportedInterfaces) == 0 || in.Capabilities == nil ||
		len(in.DefaultInputModes) == 0 || len(in.DefaultOutputModes) == 0 || len(in.Skills) == 0 {
		return nil, fmt.Errorf("a card lacks something that is required: %s", raw)
	}
	out := &card{
		Name: in.Name, Description: in.Description, Version: in.Version, Streaming: in.Capabilities.Streaming,
		Push: in.Capabilities.PushNotifications, Extended: in.Capabilities.ExtendedAgentCard,
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
	for name := range in.SecuritySchemes {
		out.Schemes = append(out.Schemes, name)
	}
	for _, i := range in.SupportedInterfaces {
		if i.URL == "" {
			return nil, fmt.Errorf("an interface has no URL: %+v", i)
		}
		out.Interfaces[i.ProtocolBinding] = append(out.Interfaces[i.ProtocolBinding], i.ProtocolVersion)
	}
	return out, nil
}
