package v03

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"

	"a2a-server/internal/strictjson"
)

// Form is how JSON of A2A 0.3 is written.
type Form uint8

// The forms.
const (
	JSONRPC Form = iota // the TypeScript types of the specification: kind, parts, "input-required"
	REST                // ProtoJSON of a2a.v1: no kind, content, "TASK_STATE_INPUT_REQUIRED"
)

// errBroken is for bytes that are no value of A2A 1.0. The server itself has written
// them, so it is never the client's fault.
var errBroken = errors.New("convert to A2A 0.3: this is not JSON of A2A 1.0")

// compat is the metadata key that marks a data part with a wrapped value.
const compat = "data_part_compat"

// AppendTask appends a task of 1.0 to dst as a task of 0.3, by itself: the answer to GetTask,
// and the body of a push notification of a config that was made with 0.3 (in the form of
// JSON-RPC).
func AppendTask(dst, task []byte, form Form) ([]byte, error) {
	return convert(dst, task, form, (*writer).task)
}

// AppendEvent appends a StreamResponse or SendMessageResponse of 1.0 to dst. In JSON-RPC it
// is the value itself, with a kind; in HTTP+JSON it stays the member of an object. A status
// update is final when its state is terminal or input-required.
func AppendEvent(dst, event []byte, form Form) ([]byte, error) {
	return convert(dst, event, form, (*writer).event)
}

// convert appends the result of write for src, which it must consume completely.
func convert(dst, src []byte, form Form, write func(*writer)) ([]byte, error) {
	w := writer{dst: dst, form: form}
	if !w.read(src, func() { write(&w) }) {
		return dst, errBroken
	}
	return w.dst, nil
}

// writer appends the converted input to dst.
type writer struct {
	in     strictjson.Reader
	dst    []byte
	form   Form
	final  bool // of the last state
	broken bool // the input has another form; the output is then worthless
}

// read calls convert with src as the input, and reports whether it was read completely.
func (w *writer) read(src []byte, convert func()) bool {
	before := w.in
	defer func() { w.in = before }()
	err := strictjson.ReadTrusted(src, func(r strictjson.Reader) bool {
		w.in = r
		convert()
		return !w.broken
	})
	w.broken = w.broken || err != nil
	return !w.broken
}

// value reads a value of any kind, and returns its JSON; nil: there is none.
func (w *writer) value() []byte {
	value, ok := w.in.Span(w.in.Skip)
	if !ok {
		w.broken = true
		return nil
	}
	return value
}

// members reads an object. It yields the name of each member, whose value is next.
func (w *writer) members(yield func(name []byte) bool) {
	if !w.in.Object(func(name []byte) bool { return yield(name) && !w.broken }) {
		w.broken = true
	}
}

// elements reads a list. It yields before each element, which is next.
func (w *writer) elements(yield func() bool) {
	if !w.in.Array(func() bool { return yield() && !w.broken }) {
		w.broken = true
	}
}

func (w *writer) add(text string) { w.dst = append(w.dst, text...) }

// open begins an object in dst, with a kind.
func (w *writer) open(kind string) {
	w.add("{")
	if w.form == JSONRPC && kind != "" {
		w.add(`"kind":"` + kind + `"`)
	}
}

// member begins a member of the object in dst.
func (w *writer) member(name string) {
	w.named([]byte(name))
}

func (w *writer) named(name []byte) {
	if w.dst[len(w.dst)-1] != '{' {
		w.add(",")
	}
	w.add(`"`)
	w.dst = append(w.dst, name...)
	w.add(`":`)
}

// put adds a member with its value.
func (w *writer) put(name string, value []byte) {
	w.member(name)
	w.dst = append(w.dst, value...)
}

// copied adds a member as it is.
func (w *writer) copied(name []byte) {
	w.named(name)
	w.dst = append(w.dst, w.value()...)
}

// list converts a list, element by element. It keeps null.
func (w *writer) list(element func(*writer)) {
	if w.in.Kind() != '[' {
		w.dst = append(w.dst, w.value()...)
		return
	}
	w.add("[")
	for range w.elements {
		if w.dst[len(w.dst)-1] != '[' {
			w.add(",")
		}
		element(w)
	}
	w.add("]")
}

// members are the functions that convert members of an object, by name.
type members map[string]func(*writer)

var (
	events = members{
		"task": (*writer).task, "message": (*writer).message,
		"statusUpdate": (*writer).statusUpdate, "artifactUpdate": func(w *writer) { w.object("artifact-update", artifactUpdates) },
	}
	artifactUpdates = members{"artifact": (*writer).artifact}
	tasks           = members{
		"status": (*writer).status, "artifacts": func(w *writer) { w.list((*writer).artifact) }, "history": func(w *writer) { w.list((*writer).message) },
	}
	statusUpdates = members{"status": (*writer).status}
	statuses      = members{"state": (*writer).state, "message": (*writer).message}
	artifacts     = members{"parts": func(w *writer) { w.list((*writer).part) }}
)

// object converts an object. Members that are not in of are copied.
func (w *writer) object(kind string, of members) {
	w.open(kind)
	for name := range w.members {
		convert := of[string(name)]
		if convert == nil {
			w.copied(name)
			continue
		}
		w.named(name)
		convert(w)
	}
	w.add("}")
}

func (w *writer) event() {
	n := 0
	for name := range w.members {
		convert := events[string(name)]
		if n++; n > 1 || convert == nil {
			w.broken = true
			return
		}
		if w.form == REST {
			w.add(`{"` + string(name) + `":`)
		}
		convert(w)
		if w.form == REST {
			w.add("}")
		}
	}
	w.broken = w.broken || n == 0
}

func (w *writer) task()     { w.object("task", tasks) }
func (w *writer) status()   { w.object("", statuses) }
func (w *writer) artifact() { w.object("", artifacts) }

// statusUpdate converts a status update. It is final when the state is terminal or
// input-required.
func (w *writer) statusUpdate() {
	w.object("status-update", statusUpdates)
	w.dst = w.dst[:len(w.dst)-1] // the object is not over
	w.member("final")
	w.dst = append(strconv.AppendBool(w.dst, w.final), '}')
}

// state converts the state of a task, and notes whether it ends the interaction.
func (w *writer) state() {
	state := string(w.value())
	for i := range states {
		if s := &states[i]; s.now == state {
			if w.final = s.final; w.form == REST {
				w.add(s.proto)
			} else {
				w.add(s.kind)
			}
			return
		}
	}
	w.broken = true
}

// states are the states of tasks in 1.0 and in both forms of 0.3, as JSON.
var states = []struct {
	now, kind, proto string
	final            bool
}{
	{`"TASK_STATE_WORKING"`, `"working"`, `"TASK_STATE_WORKING"`, false},
	{`"TASK_STATE_COMPLETED"`, `"completed"`, `"TASK_STATE_COMPLETED"`, true},
	{`"TASK_STATE_INPUT_REQUIRED"`, `"input-required"`, `"TASK_STATE_INPUT_REQUIRED"`, true},
	{`"TASK_STATE_SUBMITTED"`, `"submitted"`, `"TASK_STATE_SUBMITTED"`, false},
	{`"TASK_STATE_AUTH_REQUIRED"`, `"auth-required"`, `"TASK_STATE_AUTH_REQUIRED"`, false},
	{`"TASK_STATE_FAILED"`, `"failed"`, `"TASK_STATE_FAILED"`, true},
	{`"TASK_STATE_CANCELED"`, `"canceled"`, `"TASK_STATE_CANCELLED"`, true},
	{`"TASK_STATE_REJECTED"`, `"rejected"`, `"TASK_STATE_REJECTED"`, true},
	{`"TASK_STATE_UNSPECIFIED"`, `"unknown"`, `"TASK_STATE_UNSPECIFIED"`, false},
}

func (w *writer) message() {
	w.open("message")
	for name := range w.members {
		switch string(name) {
		case "parts":
			if w.form == REST {
				name = []byte("content")
			}
			w.named(name)
			w.list((*writer).part)
		case "role":
			w.named(name)
			w.role()
		case "referenceTaskIds":
			if w.form == REST { // a2a.v1 has no such field, and strict readers refuse it
				w.value()
				continue
			}
			w.copied(name)
		default:
			w.copied(name)
		}
	}
	w.add("}")
}

func (w *writer) role() {
	role := w.value()
	switch {
	case w.form == REST:
		w.dst = append(w.dst, role...)
	case string(role) == `"ROLE_USER"`:
		w.add(`"user"`)
	default: // 0.3 has only two
		w.add(`"agent"`)
	}
}

// part converts a part: its content becomes an object of its own, unless it is text.
func (w *writer) part() {
	var text, data, raw, url, filename, media, metadata []byte
	for name := range w.members {
		switch string(name) {
		case "text":
			text = w.value()
		case "data":
			data = w.value()
		case "raw":
			raw = w.value()
		case "url":
			url = w.value()
		case "filename":
			filename = w.value()
		case "mediaType":
			media = w.value()
		case "metadata":
			metadata = w.value()
		default:
			w.value()
		}
	}
	wrapped := false
	switch {
	case text != nil:
		w.open("text")
		w.put("text", text)
	case data != nil:
		w.open("data")
		w.member("data")
		wrapped = w.data(data)
	default: // a part of a file that has an empty address is encoded without it
		if raw == nil && url == nil {
			url = []byte(`""`)
		}
		w.open("file")
		w.member("file")
		w.file(raw, url, filename, media)
	}
	if wrapped {
		w.member("metadata")
		w.marked(metadata)
	} else if metadata != nil {
		w.put("metadata", metadata)
	}
	w.add("}")
}

// data adds the value of a data part, which is an object in 0.3, and reports whether it
// had to be wrapped.
func (w *writer) data(value []byte) (wrapped bool) {
	wrapped = value[0] != '{'
	if w.form == REST {
		w.add(`{"data":`)
	}
	if wrapped {
		w.add(`{"value":`)
	}
	w.dst = append(w.dst, value...)
	if wrapped {
		w.add(`}`)
	}
	if w.form == REST {
		w.add(`}`)
	}
	return wrapped
}

// marked adds metadata that says that the value of its part was wrapped.
func (w *writer) marked(metadata []byte) {
	all := map[string]json.RawMessage{}
	if !isNull(metadata) && json.Unmarshal(metadata, &all) != nil {
		w.broken = true
		return
	}
	all[compat] = []byte("true")
	text, err := json.Marshal(all)
	w.dst = append(w.dst, text...)
	w.broken = w.broken || err != nil
}

// file adds a file by its content or its address.
func (w *writer) file(raw, url, name, media []byte) {
	w.add("{")
	switch {
	case raw == nil && w.form == REST:
		w.put("fileWithUri", url)
	case raw == nil:
		w.put("uri", url)
	case w.form == REST:
		w.member("fileWithBytes")
		w.twice(raw)
	default:
		w.put("bytes", raw)
	}
	if media != nil {
		w.put("mimeType", media)
	}
	if name != nil {
		w.put("name", name)
	}
	w.add("}")
}

// twice adds the base64 of base64: the field has the type bytes, and the SDKs for Python
// and Go put the text of 0.3 into it, which is base64 already.
func (w *writer) twice(quoted []byte) {
	if len(quoted) < 2 {
		w.broken = true
		return
	}
	w.add(`"`)
	w.dst = base64.StdEncoding.AppendEncode(w.dst, quoted[1:len(quoted)-1])
	w.add(`"`)
}

// AppendTasks appends the answer to ListTasks of 1.0 to dst as that of 0.3, which only
// HTTP+JSON has.
func AppendTasks(dst, list []byte, form Form) ([]byte, error) {
	return convert(dst, list, form, func(w *writer) {
		w.open("")
		for name := range w.members {
			switch string(name) {
			case "tasks":
				w.named(name)
				w.list((*writer).task)
			case "nextPageToken":
				w.copied(name)
			default: // a2a.v1 has no other, and strict readers refuse them
				w.value()
			}
		}
		w.add("}")
	})
}
