package conformance

import (
	"encoding/base64"
	"strings"

	oldpb "github.com/a2aproject/a2a-go/a2apb"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// put sets a member unless it is the zero value.
func put[T comparable](in map[string]any, name string, v T) {
	if v != *new(T) {
		in[name] = v
	}
}

// enum returns a name as the form has it. Over gRPC an unknown one is a number.
func (f form) enum(known, old map[string]int32, name string) any {
	if f.old {
		known = old
	}
	if _, is := known[name]; f.numbers && !is {
		return 99
	}
	return name
}

func (f form) message(m *message) map[string]any {
	out := map[string]any{}
	if f.kinds {
		out["kind"] = "message"
	}
	put(out, "messageId", m.ID)
	put(out, "contextId", m.Context)
	put(out, "taskId", m.Task)
	switch {
	case m.Role == "":
	case f.kinds:
		out["role"] = m.Role
	default:
		out["role"] = f.enum(pb.Role_value, oldpb.Role_value, "ROLE_"+strings.ToUpper(m.Role))
	}
	if len(m.Parts) > 0 {
		all := make([]any, len(m.Parts))
		for i, p := range m.Parts {
			all[i] = f.part(p)
		}
		out[f.content()] = all
	}
	if m.Metadata != nil {
		out["metadata"] = m.Metadata
	}
	if m.Extensions != nil {
		out["extensions"] = m.Extensions
	}
	if m.References != nil && (!f.old || !f.numbers) { // gRPC of 0.3 has none
		out["referenceTaskIds"] = m.References
	}
	return out
}

func (f form) part(p part) map[string]any {
	out := map[string]any{}
	file, raw, url := out, "raw", "url"
	if f.old {
		file = map[string]any{}
		put(file, "name", p.Name)
		put(file, "mimeType", p.Type)
		if raw, url = "fileWithBytes", "fileWithUri"; f.kinds {
			raw, url = "bytes", "uri"
		}
	} else {
		put(out, "filename", p.Name)
		put(out, "mediaType", p.Type)
	}
	kind := p.Kind
	switch p.Kind {
	case "text":
		out["text"] = p.Text
	case "raw":
		text := base64.StdEncoding.EncodeToString(p.Raw)
		if f.old && !f.kinds { // as the SDKs of 0.3 do
			text = base64.StdEncoding.EncodeToString([]byte(text))
		}
		kind, file[raw] = "file", text
	case "url":
		kind, file[url] = "file", p.URL
	case "data":
		value := p.Data
		if _, is := value.(map[string]any); f.old && !is {
			value, p = map[string]any{"value": value}, p.with(compat, true)
		}
		if f.old && !f.kinds {
			value = map[string]any{"data": value}
		}
		out["data"] = value
	}
	if f.old && kind == "file" {
		out["file"] = file
	}
	if f.kinds {
		put(out, "kind", kind)
	}
	if p.Metadata != nil {
		out["metadata"] = p.Metadata
	}
	return out
}

func (f form) send(s sending) map[string]any {
	req, c := map[string]any{}, map[string]any{}
	if s.Message != nil {
		req["message"] = f.message(s.Message)
	}
	if s.Now != nil && f.old {
		c["blocking"] = !*s.Now
	} else if s.Now != nil {
		c["returnImmediately"] = *s.Now
	}
	if s.History != nil {
		c["historyLength"] = *s.History
	}
	if s.Modes != nil {
		c["acceptedOutputModes"] = s.Modes
	}
	if s.Push != nil {
		name := "taskPushNotificationConfig"
		if f.kinds {
			name = "pushNotificationConfig"
		} else if f.old {
			name = "pushNotification"
		}
		c[name] = f.push(*s.Push)
	}
	if len(c) > 0 {
		req["configuration"] = c
	}
	if s.Metadata != nil {
		req["metadata"] = s.Metadata
	}
	return req
}

// push returns a push config without its task.
func (f form) push(p pushConfig) map[string]any {
	out := map[string]any{"url": p.URL}
	put(out, "id", p.ID)
	put(out, "token", p.Token)
	if p.Scheme != "" {
		a := map[string]any{"scheme": p.Scheme}
		if f.old {
			a = map[string]any{"schemes": []string{p.Scheme}}
		}
		put(a, "credentials", p.Credentials)
		out["authentication"] = a
	}
	return out
}

func (f form) list(l listing) map[string]any {
	q := map[string]any{}
	put(q, "contextId", l.Context)
	put(q, "pageToken", l.Token)
	put(q, "includeArtifacts", l.Artifacts)
	if l.State != "" {
		name := "TASK_STATE_" + strings.ToUpper(strings.ReplaceAll(l.State, "-", "_"))
		if f.old && l.State == "canceled" {
			name = "TASK_STATE_CANCELLED"
		}
		q["status"] = f.enum(pb.TaskState_value, oldpb.TaskState_value, name)
	}
	if l.Size != nil {
		q["pageSize"] = *l.Size
	}
	if l.History != nil {
		q["historyLength"] = *l.History
	}
	since := "statusTimestampAfter"
	if f.old {
		since = "lastUpdatedTime"
	}
	put(q, since, l.Since)
	return q
}
