package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"a2a-server/approval"
)

// A dialect is the way in which a kind of client asks and answers. It reads nothing else of a
// message.
type dialect struct {
	metadata reader // of the message's metadata; nil: the dialect has none
	forms    []form
}

// dialects returns the dialects whose answers name their approval, in the order in which the
// answers are read. It is built once: each message is compared with all forms.
var dialects = sync.OnceValue(func() []dialect {
	return []dialect{
		{readToolApproval, []form{ofType(typeRequest, nil), ofType(typeResponse, readResponse)}},
		{nil, []form{{adkCall, adkAsks, nil}, {adkResponse, adkAnswers, readADK}}},
		{nil, []form{withMember(adkRustCall, nil), withMember(adkRustResponse, readADKRust)}},
		// Valid answers are in metadata.
		{readKagent, []form{ofType(kagentAsk, nil), ofType(kagentQuestion, nil), ofType(kagentDecide, nil), ofType(kagentReply, nil)}},
	}
})

// A form is a shape of data parts that clients take for a question or an answer. Data parts
// are read by their forms only, so every valid answer has a form.
type form struct {
	name string
	// fits reports whether a part has the form. Both maps may be nil. Of the members of object
	// it reads strings; of any other value it only checks whether it is nil.
	fits func(metadata, object map[string]any) bool
	read func(in *incoming, part dataPart) ([]approval.Decision, error) // nil: a question, or an answer that does not count here
}

// ofType returns the form of objects with this value of the member type.
func ofType(name string, read func(*incoming, dataPart) ([]approval.Decision, error)) form {
	return form{name, func(_, object map[string]any) bool { return object["type"] == name }, read}
}

// withMember returns the form of objects with this member.
func withMember(name string, read func(*incoming, dataPart) ([]approval.Decision, error)) form {
	return form{name, func(_, object map[string]any) bool { return object[name] != nil }, read}
}

// read returns the decisions of a dialect.
func (in *incoming) read(d dialect) ([]approval.Decision, error) {
	var all []approval.Decision
	if d.metadata != nil {
		answers, err := d.metadata(in)
		if err != nil {
			return nil, err
		}
		all = answers
	}
	for _, f := range d.forms {
		if f.read == nil {
			continue
		}
		for part := range in.dataParts() {
			if !f.fits(part.metadata, part.object) {
				continue
			}
			answers, err := f.read(in, part)
			if err != nil {
				return nil, err
			}
			all = append(all, answers...)
		}
	}
	return all, nil
}

// twofold refuses a data part that is a question and an answer at once: its sender may mean
// either.
func (in *incoming) twofold() error {
	var wrong []approval.Violation
	for part := range in.dataParts() {
		var asks, answers string
		for _, d := range dialects() {
			for _, f := range d.forms {
				switch {
				case !f.fits(part.metadata, part.object):
				case f.read == nil:
					asks = f.name
				default:
					answers = f.name
				}
			}
		}
		if asks != "" && answers != "" {
			wrong = append(wrong, approval.Violation{
				Field:       fmt.Sprintf("message.parts[%d]", part.index),
				Description: fmt.Sprintf("is a question (%s) and an answer (%s) at once: send the answer without the mark of the question", asks, answers),
			})
		}
	}
	if len(wrong) > 0 {
		return in.malformed("", wrong...)
	}
	return nil
}

// Imitates reports whether a data part with this JSON fits a form of any dialect, whatever its
// metadata. It is also true for an object with a duplicate key or with an error in its JSON,
// because clients may read it in any way.
func (*Presenter) Imitates(data json.RawMessage) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	if len(data) == 0 || data[0] != '{' {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	_, _ = d.Token()
	object := map[string]any{}
	for d.More() {
		key, err := d.Token()
		name, _ := key.(string)
		if _, twice := object[name]; err != nil || twice {
			return true
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return true
		}
		object[name] = outline(value)
	}
	return slices.ContainsFunc(dialects(), func(d dialect) bool {
		return slices.ContainsFunc(d.forms, func(f form) bool { return f.fits(nil, object) })
	})
}

// outline returns the part of a value that forms look at: a string, nil for null, and
// otherwise the value as it is.
func outline(value json.RawMessage) any {
	var text string
	switch {
	case string(value) == "null":
		return nil
	case len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) == nil:
		return text
	}
	return value
}
