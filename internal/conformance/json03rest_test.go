package conformance

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// The types of A2A 0.3 in HTTP+JSON: ProtoJSON of the package a2a.v1 as that version has it.
// Values that are the default may be left out.

type taskREST03 struct {
	ID        string            `json:"id"`
	ContextID string            `json:"contextId"`
	Status    *statusREST03     `json:"status"`
	Artifacts *[]artifactREST03 `json:"artifacts"`
	History   *[]messageREST03  `json:"history"`
	Metadata  map[string]any    `json:"metadata"`
}

type statusREST03 struct {
	State     string         `json:"state"`
	Message   *messageREST03 `json:"message"`
	Timestamp string         `json:"timestamp"`
}

type messageREST03 struct {
	MessageID        string         `json:"messageId,omitempty"`
	ContextID        string         `json:"contextId,omitempty"`
	TaskID           string         `json:"taskId,omitempty"`
	Role             string         `json:"role,omitempty"`
	Content          []partREST03   `json:"content,omitempty"`
	Metadata         map[string]any `json:"metadata,omitempty"`
	Extensions       []string       `json:"extensions,omitempty"`
	ReferenceTaskIDs []string       `json:"referenceTaskIds,omitempty"`
}

type partREST03 struct {
	Text     *string        `json:"text,omitempty"`
	File     *fileREST03    `json:"file,omitempty"`
	Data     *dataREST03    `json:"data,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// fileREST03 has the base64 of base64: the field has the type bytes, and the SDKs of 0.3 put
// into it what 0.3 calls bytes, which is base64 already.
type fileREST03 struct {
	FileWithBytes *[]byte `json:"fileWithBytes,omitempty"`
	FileWithURI   *string `json:"fileWithUri,omitempty"`
	MIMEType      string  `json:"mimeType,omitempty"`
	Name          string  `json:"name,omitempty"`
}

type dataREST03 struct {
	Data *map[string]any `json:"data"`
}

type artifactREST03 struct {
	ArtifactID  string         `json:"artifactId"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parts       []partREST03   `json:"parts"`
	Metadata    map[string]any `json:"metadata"`
	Extensions  []string       `json:"extensions"`
}

// eventREST03 is a StreamResponse, and what SendMessage answers.
type eventREST03 struct {
	Task         *taskREST03    `json:"task"`
	Message      *messageREST03 `json:"message"`
	StatusUpdate *struct {
		TaskID    string         `json:"taskId"`
		ContextID string         `json:"contextId"`
		Status    *statusREST03  `json:"status"`
		Final     bool           `json:"final"`
		Metadata  map[string]any `json:"metadata"`
	} `json:"statusUpdate"`
	ArtifactUpdate *struct {
		TaskID    string          `json:"taskId"`
		ContextID string          `json:"contextId"`
		Artifact  *artifactREST03 `json:"artifact"`
		Append    bool            `json:"append"`
		LastChunk bool            `json:"lastChunk"`
		Metadata  map[string]any  `json:"metadata"`
	} `json:"artifactUpdate"`
}

type pushREST03 struct {
	Name   string       `json:"name,omitempty"`
	Config pushMember03 `json:"pushNotificationConfig"`
}

// fromState03 reads a state as a2a.v1 spells it.
func fromState03(name string) (string, error) {
	if name == "TASK_STATE_CANCELED" {
		return "", fmt.Errorf("%q is a state of 1.0", name)
	}
	if name == "TASK_STATE_CANCELLED" {
		return "canceled", nil
	}
	return fromState10(name)
}

func (s *statusREST03) read() (state string, m *message, err error) {
	if s == nil || !moment.MatchString(s.Timestamp) {
		return "", nil, fmt.Errorf("this is no status: %+v", s)
	}
	if state, err = fromState03(s.State); err == nil && s.Message != nil {
		m, err = s.Message.read()
	}
	return state, m, err
}

func (t *taskREST03) read() (*task, error) {
	if t.ID == "" || t.ContextID == "" {
		return nil, fmt.Errorf("a task lacks its id or context: %+v", t)
	}
	state, m, err := t.Status.read()
	if err != nil {
		return nil, err
	}
	out := &task{ID: t.ID, Context: t.ContextID, State: state, Message: m, Metadata: t.Metadata, noArtifacts: t.Artifacts == nil, at: t.Status.Timestamp}
	if t.Artifacts != nil {
		for i := range *t.Artifacts {
			a, err := (*t.Artifacts)[i].read()
			if err != nil {
				return nil, err
			}
			out.Artifacts = append(out.Artifacts, *a)
		}
	}
	if t.History != nil {
		for i := range *t.History {
			m, err := (*t.History)[i].read()
			if err != nil {
				return nil, err
			}
			out.History = append(out.History, *m)
		}
	}
	return out, nil
}

func (m *messageREST03) read() (*message, error) {
	role, ok := strings.CutPrefix(m.Role, "ROLE_")
	if m.MessageID == "" || !ok || len(m.Content) == 0 {
		return nil, fmt.Errorf("a message lacks its id, role or content: %+v", m)
	}
	parts, err := readPartsREST03(m.Content)
	return &message{
		ID: m.MessageID, Task: m.TaskID, Context: m.ContextID, Role: strings.ToLower(role), Parts: parts, Metadata: m.Metadata,
		Extensions: m.Extensions, References: m.ReferenceTaskIDs,
	}, err
}

func (a *artifactREST03) read() (*artifact, error) {
	if a == nil || a.ArtifactID == "" || len(a.Parts) == 0 {
		return nil, fmt.Errorf("an artifact lacks its id or parts: %+v", a)
	}
	parts, err := readPartsREST03(a.Parts)
	return &artifact{ID: a.ArtifactID, Name: a.Name, Description: a.Description, Parts: parts, Metadata: a.Metadata, Extensions: a.Extensions}, err
}

func readPartsREST03(parts []partREST03) ([]part, error) {
	var all []part
	for _, p := range parts {
		out := part{Metadata: p.Metadata}
		switch {
		case p.Text != nil && p.File == nil && p.Data == nil:
			out.Kind, out.Text = "text", *p.Text
		case p.Text == nil && p.File != nil && p.Data == nil && (p.File.FileWithBytes == nil) != (p.File.FileWithURI == nil):
			out.Name, out.Type = p.File.Name, p.File.MIMEType
			if p.File.FileWithBytes != nil {
				raw, err := base64.StdEncoding.DecodeString(string(*p.File.FileWithBytes))
				if err != nil {
					return nil, err
				}
				out.Kind, out.Raw = "raw", raw
			} else {
				out.Kind, out.URL = "url", *p.File.FileWithURI
			}
		case p.Text == nil && p.File == nil && p.Data != nil && p.Data.Data != nil:
			out.Kind = "data"
			out.Data, out.Metadata = unwrapped(*p.Data.Data, p.Metadata)
		default:
			return nil, fmt.Errorf("this is no part: %s", encode(p))
		}
		all = append(all, out)
	}
	return all, nil
}

func readTaskREST03(raw []byte) (*task, error) {
	var t taskREST03
	if err := fill(raw, &t); err != nil {
		return nil, err
	}
	return t.read()
}

func readEventREST03(raw []byte) (*event, error) {
	var in eventREST03
	if err := fill(raw, &in); err != nil {
		return nil, err
	}
	var out event
	var err error
	n := 0
	if in.Task != nil {
		n++
		out.Task, err = in.Task.read()
	}
	if in.Message != nil && err == nil {
		n++
		out.Message, err = in.Message.read()
	}
	if u := in.StatusUpdate; u != nil && err == nil {
		n++
		out.Status = &status{Task: u.TaskID, Context: u.ContextID, Metadata: u.Metadata, final: u.Final}
		out.Status.State, out.Status.Message, err = u.Status.read()
	}
	if u := in.ArtifactUpdate; u != nil && err == nil {
		n++
		var a *artifact
		if a, err = u.Artifact.read(); err == nil {
			out.Artifact = &artChunk{Task: u.TaskID, Context: u.ContextID, Artifact: *a, Append: u.Append, Last: u.LastChunk, Metadata: u.Metadata}
		}
	}
	if err == nil && n != 1 {
		err = fmt.Errorf("an event has %d members: %s", n, raw)
	}
	return &out, err
}

func readSentREST03(raw []byte) (*sent, error) {
	e, err := readEventREST03(raw)
	if err != nil {
		return nil, err
	}
	if e.Task == nil && e.Message == nil {
		return nil, fmt.Errorf("the answer to a send is neither a task nor a message: %s", raw)
	}
	return &sent{e.Task, e.Message}, nil
}

func toSendREST03(s sending) map[string]any {
	req := map[string]any{}
	if m := s.Message; m != nil {
		role := ""
		if m.Role != "" {
			role = "ROLE_" + strings.ToUpper(m.Role)
		}
		out := messageREST03{
			MessageID: m.ID, ContextID: m.Context, TaskID: m.Task, Role: role, Metadata: m.Metadata, Extensions: m.Extensions, ReferenceTaskIDs: m.References,
		}
		for _, p := range m.Parts {
			one := partREST03{Metadata: p.Metadata}
			switch p.Kind {
			case "text":
				one.Text = &p.Text
			case "raw":
				once := []byte(base64.StdEncoding.EncodeToString(p.Raw))
				one.File = &fileREST03{FileWithBytes: &once, MIMEType: p.Type, Name: p.Name}
			case "url":
				one.File = &fileREST03{FileWithURI: &p.URL, MIMEType: p.Type, Name: p.Name}
			case "data":
				object, metadata := wrapped(p)
				one.Data, one.Metadata = &dataREST03{&object}, metadata
			}
			out.Content = append(out.Content, one)
		}
		req["message"] = out
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
		c["pushNotification"] = toPush03(*s.Push).Config
	}
	if len(c) > 0 {
		req["configuration"] = c
	}
	if s.Metadata != nil {
		req["metadata"] = s.Metadata
	}
	return req
}

// ofResource returns the ids of a task and a push config from the name of one.
func ofResource(name string) (task, id string, err error) {
	fields := strings.Split(name, "/")
	if len(fields) != 4 || fields[0] != "tasks" || fields[2] != "pushNotificationConfigs" {
		return "", "", errors.New("the name of a push config is " + name)
	}
	return fields[1], fields[3], nil
}

func (p *pushREST03) read() (*pushConfig, error) {
	task, id, err := ofResource(p.Name)
	if err != nil {
		return nil, err
	}
	if p.Config.ID != id {
		return nil, fmt.Errorf("the config %s has the id %q", p.Name, p.Config.ID)
	}
	return fromPush03(push03{TaskID: task, Config: p.Config})
}
