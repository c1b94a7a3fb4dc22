package v03

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Error is a fault in a request, in words for its client.
type Error struct {
	Field  string // such as message.parts[0].kind; "": the whole request
	Reason string // follows the field in a sentence
}

// Error implements error.
func (e *Error) Error() string { return strings.TrimSpace(e.Field + " " + e.Reason) }

// SendRequest returns the parameters of message/send, or the body of /v1/message:send, as
// parameters of SendMessage of 1.0. raw has to be valid JSON without duplicate names; checks
// that apply to a request of 1.0 follow after the conversion. Fields of 0.3 have their names
// in lowerCamelCase or snake_case, and unknown fields are dropped. An error is an [*Error].
//
// A body in HTTP+JSON may also have the values of JSON-RPC, with a kind, as the
// specification's text has them.
func SendRequest(raw []byte, form Form) ([]byte, error) {
	return request(raw, form, (*reader).send)
}

// reader converts requests.
type reader struct {
	writer
	kinds bool // the message has a kind
	hook  bool // the config of a webhook was read
	err   *Error
}

// request returns the request that convert makes of raw.
func request(raw []byte, form Form, convert func(*reader)) ([]byte, error) {
	r := &reader{writer: writer{form: form, dst: make([]byte, 0, len(raw)+64)}}
	switch read := r.read(raw, func() { convert(r) }); {
	case r.err != nil:
		return nil, r.err
	case !read:
		return nil, &Error{"", "the request must be an object"}
	}
	return r.dst, nil
}

// refuse ends the conversion with an error.
func (r *reader) refuse(field, reason string) {
	if r.err == nil {
		r.err = &Error{field, reason}
	}
	r.broken = true
}

// other copies a value that is not an object, which decoding will refuse, and reports whether
// it did so.
func (r *reader) other() bool {
	if r.in.Kind() == '{' {
		return false
	}
	r.dst = append(r.dst, r.value()...)
	return true
}

func (r *reader) send() {
	var config []byte
	r.add("{")
	for name := range r.members {
		switch string(name) {
		case "request": // the field's name in the proto, where message is that of its JSON
			if r.form == JSONRPC {
				r.value()
				continue
			}
			r.member("message")
			r.message()
		case "message":
			r.member("message")
			r.message()
		case "configuration":
			config = r.value()
		case "metadata":
			r.copied(name)
		default:
			r.value()
		}
	}
	if config != nil {
		r.member("configuration")
		r.read(config, r.config)
	}
	r.add("}")
}

func (r *reader) message() {
	if r.other() {
		return
	}
	r.add("{")
	for name := range r.members {
		switch string(name) {
		case "kind":
			r.kinds = true
			if string(r.value()) != `"message"` {
				r.refuse("message.kind", `must be "message"`)
			}
		case "role":
			r.member("role")
			r.role()
		case "parts":
			r.parts("parts")
		case "content":
			if r.form == JSONRPC {
				r.value()
				continue
			}
			r.parts("content")
		default:
			if same := sameNames[string(name)]; same != "" {
				r.put(same, r.value())
			} else {
				r.value()
			}
		}
	}
	r.add("}")
}

// sameNames are the members of a message that are the same in 1.0, by all their names.
var sameNames = map[string]string{
	"messageId": "messageId", "message_id": "messageId", "contextId": "contextId", "context_id": "contextId",
	"taskId": "taskId", "task_id": "taskId", "referenceTaskIds": "referenceTaskIds", "reference_task_ids": "referenceTaskIds",
	"metadata": "metadata", "extensions": "extensions",
}

func (r *reader) role() {
	switch role := r.value(); {
	case string(role) == `"user"`:
		r.add(`"ROLE_USER"`)
	case string(role) == `"agent"`:
		r.add(`"ROLE_AGENT"`)
	case r.form == REST:
		r.dst = append(r.dst, role...)
	default:
		r.refuse("message.role", `must be "user"`)
	}
}

func (r *reader) parts(name string) {
	r.member("parts")
	if c := r.in.Kind(); c != '[' && c != 'n' {
		r.refuse("message."+name, "must be a list")
		return
	}
	i := 0
	r.list(func(*writer) {
		r.part(fmt.Sprintf("message.%s[%d]", name, i))
		i++
	})
}

// part converts a part. Exactly one of text, file and data has to be there; kind, if present,
// has to name it.
func (r *reader) part(field string) {
	if r.in.Kind() != '{' {
		r.refuse(field, "must be an object")
		return
	}
	var kind, metadata, value []byte
	var content string
	for name := range r.members {
		switch string(name) {
		case "kind":
			kind = r.value()
		case "metadata":
			metadata = r.value()
		case "text", "file", "data":
			v := r.value()
			if isNull(v) {
				continue
			}
			if value != nil {
				r.refuse(field, "has more than one of text, file and data")
			}
			content, value = string(name), v
		default:
			r.value()
		}
	}
	switch {
	case r.broken:
		return
	case kind != nil && string(kind) != `"text"` && string(kind) != `"file"` && string(kind) != `"data"`:
		r.refuse(field+".kind", `must be "text", "file" or "data"`)
		return
	case value == nil:
		r.refuse(field, "has no content: give it text, file or data")
		return
	case kind != nil && string(kind) != `"`+content+`"`:
		r.refuse(field, "has "+content+", but its kind is "+string(kind))
		return
	}
	r.add("{")
	switch content {
	case "text":
		r.put("text", value)
	case "file":
		r.file(field+".file", value)
	case "data":
		metadata = r.data(field+".data", value, metadata, kind != nil || r.form == JSONRPC)
	}
	if metadata != nil {
		r.put("metadata", metadata)
	}
	r.add("}")
}

// data adds the value of a data part, and returns the metadata of the part. plain says that
// the value is the data itself, not an object that has it.
func (r *reader) data(field string, value, metadata []byte, plain bool) []byte {
	if value[0] != '{' {
		r.refuse(field, "must be an object")
		return nil
	}
	if !plain {
		if value = only(value, "data"); value == nil {
			r.refuse(field, `must be an object with data, and nothing else`)
			return nil
		}
	}
	if rest, marked := unmarked(metadata); marked {
		if inner := only(value, "value"); inner != nil {
			value, metadata = inner, rest
		}
	}
	r.put("data", value)
	return metadata
}

// only returns the value of the only member of an object, if that has a name; otherwise nil.
func only(object []byte, name string) (value []byte) {
	var all map[string]json.RawMessage
	if json.Unmarshal(object, &all) != nil || len(all) != 1 {
		return nil
	}
	return all[name]
}

// unmarked returns metadata without the mark of a wrapped value, or nil if it has nothing
// else, and whether it is marked.
func unmarked(metadata []byte) (rest []byte, marked bool) {
	var all map[string]json.RawMessage
	if json.Unmarshal(metadata, &all) != nil || string(all[compat]) != "true" {
		return metadata, false
	}
	if delete(all, compat); len(all) == 0 {
		return nil, true
	}
	rest, err := json.Marshal(all)
	return rest, err == nil
}

// fileNames are the names of the members of a file in 1.0. Those that begin with file are of
// HTTP+JSON only.
var fileNames = map[string]string{
	"bytes": "raw", "uri": "url", "name": "filename", "mimeType": "mediaType", "mime_type": "mediaType",
	"fileWithBytes": "raw", "file_with_bytes": "raw", "fileWithUri": "url", "file_with_uri": "url",
}

// file adds the content or the address of a file.
func (r *reader) file(field string, value []byte) {
	if value[0] != '{' {
		r.refuse(field, "must be an object")
		return
	}
	var content, filename, media []byte
	kind := "" // of the content
	r.read(value, func() {
		for name := range r.members {
			member, v := string(name), r.value()
			rest := strings.HasPrefix(member, "file")
			switch now := fileNames[member]; {
			case now == "" || rest && r.form == JSONRPC || isNull(v):
			case v[0] != '"':
				r.refuse(field+"."+member, "must be a string")
			case now == "filename":
				filename = v
			case now == "mediaType":
				if media != nil {
					r.refuse(field, "has its mimeType more than once")
				}
				media = v
			default:
				if content != nil {
					r.refuse(field, "has its content or its address more than once")
				}
				if kind, content = now, v; rest && now == "raw" {
					content = once(v)
				}
			}
		}
	})
	if content == nil || kind == "url" && isEmpty(content) {
		names := "bytes or a uri"
		if strings.HasPrefix(field, "message.content") {
			names = "fileWithBytes or fileWithUri"
		}
		r.refuse(field, "has no content: give it "+names)
		return
	}
	r.put(kind, content)
	if filename != nil {
		r.put("filename", filename)
	}
	if media != nil {
		r.put("mediaType", media)
	}
}

// once returns the base64 of a file from the field fileWithBytes. The SDKs for Python and Go
// encode it twice, the SDK for JavaScript once, as the proto has it. A value that decodes
// twice counts as encoded twice: a file that is itself base64, without line ends, has to be
// sent by its address, or over JSON-RPC.
func once(quoted []byte) []byte {
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return quoted // decoding will refuse it
	}
	outer, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return quoted
	}
	inner, err := base64.StdEncoding.Strict().DecodeString(string(outer))
	if err != nil || bytes.ContainsAny(outer, "\r\n") { // which decoding skips, and encoding never adds
		return quoted
	}
	out := append([]byte(`"`), base64.StdEncoding.EncodeToString(inner)...)
	return append(out, '"')
}

// isZero reports whether a value is a number, or a number in a string, that is 0.
func isZero(value []byte) bool {
	text := bytes.Trim(value, `"`)
	n, err := strconv.ParseFloat(string(text), 64)
	return err == nil && n == 0 && json.Valid(text)
}

// config converts the configuration of a send. Without blocking, a send in JSON-RPC waits; in
// ProtoJSON a missing value is false, and a history of 0 messages has no limit.
func (r *reader) config() {
	if r.other() {
		return
	}
	proto := r.form == REST && !r.kinds
	blocking := !proto
	r.add("{")
	for name := range r.members {
		switch string(name) {
		case "blocking":
			switch v := r.value(); string(v) {
			case "true":
				blocking = true
			case "false":
				blocking = false
			case "null":
			default:
				r.refuse("configuration.blocking", "must be true or false")
			}
		case "historyLength", "history_length":
			if v := r.value(); !isNull(v) && (!proto || !isZero(v)) {
				r.put("historyLength", v)
			}
		case "acceptedOutputModes", "accepted_output_modes":
			r.copied([]byte("acceptedOutputModes"))
		case "pushNotificationConfig", "push_notification_config":
			r.member("taskPushNotificationConfig")
			r.push("configuration.pushNotificationConfig")
		case "pushNotification", "push_notification":
			if r.form == JSONRPC {
				r.value()
				continue
			}
			r.member("taskPushNotificationConfig")
			r.push("configuration.pushNotification")
		default:
			r.value()
		}
	}
	if !blocking {
		r.put("returnImmediately", []byte("true"))
	}
	r.add("}")
}

// ListQuery returns the query of GET /v1/tasks as that of ListTasks of 1.0: the filter by
// time has another name there, and a state another spelling. query is not changed.
func ListQuery(query url.Values) url.Values {
	out := maps.Clone(query)
	for _, name := range []string{"lastUpdatedTime", "last_updated_time"} {
		if values := out[name]; values != nil {
			out["statusTimestampAfter"] = append(slices.Clip(out["statusTimestampAfter"]), values...)
			delete(out, name)
		}
	}
	if slices.Equal(out["status"], []string{"TASK_STATE_CANCELLED"}) {
		out["status"] = []string{"TASK_STATE_CANCELED"}
	}
	return out
}

// isNull reports whether a value is null, or missing.
func isNull(value []byte) bool { return len(value) == 0 || value[0] == 'n' }

// isEmpty reports whether a value is an empty string.
func isEmpty(value []byte) bool { return string(value) == `""` }
