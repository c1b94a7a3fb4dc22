package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"a2a-server/client"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
)

// form has a field for each member of an object, or a single field for a value that is not an
// object.
type form struct {
	Fields []field
	Object bool
}

// field is a member: its input, and the conversion of its text to JSON.
type field struct {
	Name     string // "": the whole value
	Input    string // name of the input
	ID       string // of the input on its page
	Kind     string // "text", "number", "choice", "lines", "area" or "json"
	Type     string // in words
	About    string
	Value    string
	Options  []choice
	Required bool
	Was      string // the requested value, if Value differs
	raw      string // the requested value, as JSON; "": none
	shown    string // Value of raw
}

// schema is the part of a JSON Schema that a form reads.
type schema struct {
	Type        any                        `json:"type"`
	Properties  map[string]json.RawMessage `json:"properties"`
	Required    []string                   `json:"required"`
	Enum        []json.RawMessage          `json:"enum"`
	Items       *schema                    `json:"items"`
	Title       string                     `json:"title"`
	Description string                     `json:"description"`
	MaxLength   int                        `json:"maxLength"`
	Default     json.RawMessage            `json:"default"`
}

// argumentForm returns the form of a call's arguments: its own members, in their order, and
// then the missing members from the schema.
func argumentForm(parameters, arguments json.RawMessage) *form {
	var s schema
	_ = json.Unmarshal(parameters, &s) // without a schema, each field takes JSON
	f := &form{Object: true}
	known := map[string]bool{}
	given, _ := strictjson.Members(arguments) // there are none in a form of an answer
	for _, m := range given {
		known[m.Name] = true
		f.Fields = append(f.Fields, fieldOf(m.Name, s.Properties[m.Name], m.Value, slices.Contains(s.Required, m.Name)))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !known[name] {
			f.Fields = append(f.Fields, fieldOf(name, s.Properties[name], nil, slices.Contains(s.Required, name)))
		}
	}
	return f
}

// answerForm returns the form of an answer, by the schema of the question.
func answerForm(a *client.Approval) *form {
	var s schema
	if json.Unmarshal(a.Schema, &s) == nil && (s.Type == "object" || s.Type == nil && len(s.Properties) > 0) {
		return argumentForm(a.Schema, nil)
	}
	one := fieldOf("", a.Schema, nil, true)
	if len(a.Schema) == 0 && a.Kind == client.KindOutcome {
		one.Kind, one.Type, one.Value = "json", "JSON", "{}"
	} else if len(a.Schema) == 0 {
		one.Kind, one.Type = "area", "text"
	}
	return &form{Fields: []field{one}}
}

func fieldOf(name string, raw, value json.RawMessage, required bool) field {
	var s schema
	_ = json.Unmarshal(raw, &s) // any JSON, then
	f := field{Name: name, Input: "f:" + name, ID: "f:" + name, About: strings.TrimSpace(s.Title + "\n" + s.Description), Required: required, raw: string(value)}
	var text string
	isText := json.Unmarshal(value, &text) == nil
	if value == nil && s.Default != nil {
		isText = json.Unmarshal(s.Default, &text) == nil
	}
	kind, _ := s.Type.(string)
	given := string(value)
	if value == nil {
		given = string(s.Default)
	}
	f.Kind, f.Type, f.Value = "json", "JSON", visible.Text(given)
	if kind != "" {
		f.Type = kind + ", as JSON"
	}
	if hidden(text) > 0 {
		f.Type = "string, as JSON, because it has hidden characters"
	}
	switch {
	case len(s.Enum) > 0:
		f.Kind, f.Type, f.Value = "choice", fmt.Sprintf("one of %d", len(s.Enum)), given
		if !required || value == nil {
			f.Options = append(f.Options, choice{"", none(required), given == ""})
		}
		for _, one := range s.Enum {
			f.Options = append(f.Options, choice{string(one), visible.Line(unquote(string(one))), string(one) == given})
		}
		if given != "" && !slices.ContainsFunc(f.Options, func(o choice) bool { return o.Selected }) {
			f.Options = append(f.Options, choice{given, visible.Line(unquote(given)) + " (not in the schema)", true})
		}
	case kind == "boolean" && (given == "" || given == "true" || given == "false"):
		f.Kind, f.Type, f.Value = "choice", "boolean", given
		if !required || value == nil {
			f.Options = append(f.Options, choice{"", none(required), given == ""})
		}
		f.Options = append(f.Options, choice{"true", "true", given == "true"}, choice{"false", "false", given == "false"})
	case kind == "number" || kind == "integer":
		f.Kind, f.Type = "number", kind
	case kind == "string" && hidden(text) == 0 && (isText || given == ""):
		f.Kind, f.Type, f.Value = "text", "string", text
		if strings.Contains(text, "\n") || len(text) > 36 || s.MaxLength > 500 {
			f.Kind = "area"
		}
	case kind == "array" && s.Items != nil && s.Items.Type == "string" && len(s.Items.Enum) == 0:
		var list []string
		if value != nil && json.Unmarshal(value, &list) != nil || slices.ContainsFunc(list, func(s string) bool { return s == "" || hidden(s) > 0 || strings.Contains(s, "\n") }) {
			break
		}
		f.Kind, f.Type, f.Value = "lines", "array of strings, one a line", strings.Join(list, "\n")
	}
	f.shown = f.Value
	return f
}

// none is the choice of nothing.
func none(required bool) string {
	if required {
		return "Choose…"
	}
	return "– not given –"
}

func unquote(raw string) string {
	var s string
	if json.Unmarshal([]byte(raw), &s) == nil {
		return s
	}
	return raw
}

// fill sets the fields to the values sent, and marks differences from the requested values.
func (f *form) fill(given url.Values) {
	for i := range f.Fields {
		one := &f.Fields[i]
		value, ok := given[one.Input]
		if !ok {
			continue
		}
		if one.Value = strings.ReplaceAll(value[0], "\r\n", "\n"); one.Value != one.shown {
			one.Was = one.shown
			if one.raw == "" {
				one.Was = "not given"
			}
		}
		for n := range one.Options {
			one.Options[n].Selected = one.Options[n].Value == one.Value
		}
	}
}

// value returns the JSON of the values sent.
func (f *form) value(given url.Values) (json.RawMessage, error) {
	f.fill(given)
	if !f.Object {
		raw, err := f.Fields[0].json()
		if err == nil && raw == "" {
			err = fmt.Errorf("the answer is missing: fill it in")
		}
		return json.RawMessage(raw), err
	}
	var out []string
	for i := range f.Fields {
		raw, err := f.Fields[i].json()
		if err != nil {
			return nil, err
		}
		if raw != "" {
			out = append(out, quote(f.Fields[i].Name)+":"+raw)
		}
	}
	return json.RawMessage("{" + strings.Join(out, ",") + "}"), nil
}

// json returns the JSON of a field; "": it is left out. An unchanged value stays the same to
// the byte.
func (f *field) json() (string, error) {
	if f.Value == f.shown && f.raw != "" {
		return f.raw, nil
	}
	switch f.Kind {
	case "text", "area":
		if f.Value == "" && !f.Required && f.raw == "" {
			return "", nil
		}
		return quote(f.Value), nil
	case "lines":
		list := []string{}
		for _, one := range strings.Split(f.Value, "\n") {
			if one = strings.TrimSpace(one); one != "" {
				list = append(list, quote(one))
			}
		}
		if len(list) == 0 && !f.Required && f.raw == "" {
			return "", nil
		}
		return "[" + strings.Join(list, ",") + "]", nil
	}
	text := strings.TrimSpace(f.Value)
	if text == "" {
		return "", nil
	}
	if !json.Valid([]byte(text)) || f.Kind == "number" && strings.ContainsAny(text[:1], `"{[tfn`) {
		return "", fmt.Errorf("%s is not %s: correct it", visible.Quote(f.Name, 60), map[bool]string{true: "a number", false: "valid JSON"}[f.Kind == "number"])
	}
	return text, nil
}
