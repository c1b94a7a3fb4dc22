package chat

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"a2a-server/internal/strictjson"
)

// An Answer is the complete answer of a model.
type Answer struct {
	Message json.RawMessage // the assistant's message, with all fields that the server sent, to be sent again
	Text    string
	// Reasoning is the text in the fields reasoning_content or reasoning, which Message has, too, if
	// they fit.
	Reasoning string
	Calls     []Call
	Finish    string // never empty, and short
	Model     string // as the server calls it, and short; "": it does not say
	Usage     Usage  // zero: the server does not say
}

// Call is a call that a model wants. Args is the text as it came: it need not be JSON.
type Call struct {
	ID, Name string
	Args     json.RawMessage
}

// Usage counts the tokens of a request. Cached is a part of In.
type Usage struct{ In, Out, Cached int }

// Bounds of an answer, in bytes: of its text and calls, and of the whole message if it has calls,
// because that is kept. Fields beside text and calls are dropped when they do not fit: reasoning
// first, then others of the message. Each of these, and those of calls, have maxFields.
const (
	MaxText    = 1 << 20
	MaxMessage = 192 << 10
	maxFields  = MaxMessage / 2
)

// reasonings returns the fields of reasoning, that which counts last.
func reasonings() []string { return []string{"reasoning", "reasoning_content"} }

func isReasoning(field string) bool { return slices.Contains(reasonings(), field) }

// maxName bounds the names of a model and of a finish reason, in bytes.
const maxName = 200

// cut returns at most limit bytes of text.
func cut(text string, limit int) string { return strings.ToValidUTF8(text[:min(len(text), limit)], "") }

// maxDepth bounds how deep fields that we do not know are nested.
const maxDepth = 32

// answering is an answer of which more may come.
type answering struct {
	text   strings.Builder
	fields map[string]any // of the message, beside those that are read
	calls  []*calling
	size   int
	// Bytes of fields: of reasoning, of others of the message, and of calls.
	reasoned, extra, callExtra int

	finish, model string
	usage         Usage
}

// add adds an event, and returns the text in it.
func (a *answering) add(data []byte) (text string, err error) {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return "", lost("an event is not JSON of a completion: %v: %s", err, data)
	}
	if e := errorIn(c.Error, c.Object, data); e != nil {
		return "", e
	}
	if c.Model != "" {
		a.model = c.Model
	}
	if u := c.Usage; u != nil {
		a.usage = Usage{max(u.In, 0), max(u.Out, 0), max(u.Details.Cached, 0)}
	}
	if len(c.Choices) == 0 {
		return "", nil
	}
	choice := &c.Choices[0]
	delta := choice.Delta
	if delta == nil {
		delta = choice.Message
	}
	if text, err = a.message(delta); err != nil {
		return "", err
	}
	if choice.Finish != "" {
		a.finish = choice.Finish
	}
	return text, nil
}

// message adds a piece of the message.
func (a *answering) message(delta map[string]json.RawMessage) (text string, err error) {
	for _, name := range slices.Sorted(maps.Keys(delta)) { // content comes before a refusal
		raw := delta[name]
		if string(raw) == "null" {
			continue
		}
		switch name {
		case "role":
		case "content", "refusal":
			piece := textIn(raw)
			text += piece
			a.size += len(piece)
		case "tool_calls":
			if err := a.addCalls(raw); err != nil {
				return "", err
			}
		default:
			used := &a.extra
			if isReasoning(name) {
				used = &a.reasoned
			}
			if fits(used, a.fields, name, raw) {
				a.fields = merged(a.fields, name, raw)
			}
		}
	}
	a.text.WriteString(text)
	if a.size > MaxText {
		return "", tooLong()
	}
	return text, nil
}

func tooLong() error { return unusable("", "the model's answer has more than %d bytes", MaxText) }

// fits counts a piece of a field, and reports whether there is room for it.
func fits(used *int, fields map[string]any, name string, piece json.RawMessage) bool {
	*used += len(piece)
	if _, has := fields[name]; !has {
		*used += len(name)
	}
	return *used <= maxFields
}

// textIn returns content: a text, or a list of parts with texts.
func textIn(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts) // anything else has no text
	for _, p := range parts {
		text += p.Text
	}
	return text
}

// merged adds a piece of a field that is not known: texts and lists are joined.
func merged(to map[string]any, name string, raw json.RawMessage) map[string]any {
	v, _, err := strictjson.Numbers(raw)
	if err != nil || v == nil || deeper(v, maxDepth) {
		return to
	}
	if to == nil {
		to = map[string]any{}
	}
	to[name] = joined(to[name], v)
	return to
}

func joined(old, v any) any {
	switch v := v.(type) {
	case string:
		if old, is := old.(string); is {
			return old + v
		}
	case []any:
		if old, is := old.([]any); is {
			return append(old, v...)
		}
	case map[string]any:
		if old, is := old.(map[string]any); is {
			for name, value := range v {
				old[name] = joined(old[name], value)
			}
			return old
		}
	}
	return v
}

// deeper reports whether v is nested deeper than limit.
func deeper(v any, limit int) bool {
	if limit == 0 {
		return true
	}
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(v any) bool { return deeper(v, limit-1) })
	case map[string]any:
		return deeper(slices.Collect(maps.Values(v)), limit)
	}
	return false
}

// answer returns the whole answer. Each call gets an id of its own. Arguments that are not JSON
// become an empty object in the message: endpoints refuse a conversation with them.
func (a *answering) answer() (*Answer, error) {
	out := &Answer{Text: a.text.String(), Finish: cut(a.finish, maxName), Model: cut(a.model, maxName), Usage: a.usage}
	a.nameCalls()
	var calls []any
	for _, c := range a.calls {
		if !c.begun {
			c.args = []byte("{}")
		}
		out.Calls = append(out.Calls, Call{c.id, c.name, c.args})
		args := string(c.args)
		if !json.Valid(c.args) {
			args = "{}"
		}
		m := map[string]any{"id": c.id, "type": "function", "function": map[string]any{"name": c.name, "arguments": args}}
		maps.Copy(m, c.fields)
		calls = append(calls, m)
	}
	for _, name := range reasonings() {
		if text, is := a.fields[name].(string); is {
			out.Reasoning = text
		}
	}
	var err error
	out.Message, err = a.encode(out.Text, calls)
	return out, err
}

// encode returns the message. One with calls has the fields that fit.
func (a *answering) encode(text string, calls []any) (json.RawMessage, error) {
	m := map[string]any{}
	maps.Copy(m, a.fields)
	m["role"], m["content"] = "assistant", text
	if len(calls) > 0 {
		m["tool_calls"] = calls
	}
	for _, drop := range []func(field string) bool{isReasoning, func(string) bool { return true }, nil} {
		raw, err := json.Marshal(m)
		if err != nil || len(calls) == 0 || len(raw) <= MaxMessage {
			return raw, err
		}
		for name := range a.fields {
			if drop != nil && drop(name) {
				delete(m, name)
			}
		}
	}
	return nil, unusable("", "the model's answer has calls and more than %d bytes", MaxMessage)
}
