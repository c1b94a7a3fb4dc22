package script

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/internal/strictyaml"
)

// condition says when a scenario plays. The zero condition matches every first message.
type condition struct {
	followUp      bool
	messagePrefix string
	text          *string
	textContains  string
	data          any // as decoded from JSON; nil for none
}

func readCondition(n strictyaml.Node) condition {
	f, _ := n.Fields("message_id_prefix", "text", "text_contains", "data", "follow_up")
	c := condition{text: pointer(f.Get("text")), followUp: truth(f.Get("follow_up"), false)}
	if v := f.Get("message_id_prefix"); !v.Missing() {
		c.messagePrefix = required(v)
	}
	if v := f.Get("text_contains"); !v.Missing() {
		c.textContains = required(v)
	}
	if v := f.Get("data"); !v.Missing() {
		if c.data = plain(v.JSON()); c.data == nil {
			v.Add("write the data that a part must have")
		}
	}
	return c
}

// fits reports whether m matches the condition. answers says that m answers an ask.
func (c condition) fits(m *a2a.Message, answers bool) bool {
	if m == nil || c.followUp != answers || !strings.HasPrefix(m.ID, c.messagePrefix) {
		return false
	}
	text := textOf(m)
	if c.text != nil && *c.text != text || !strings.Contains(text, c.textContains) {
		return false
	}
	if c.data == nil {
		return true
	}
	for _, p := range m.Parts {
		if p == nil {
			continue
		}
		if d, ok := p.Content.(a2a.Data); ok && has(plain(d.Value), c.data) {
			return true
		}
	}
	return false
}

// textOf returns the text parts of m, joined by newlines.
func textOf(m *a2a.Message) string {
	var texts []string
	for _, p := range m.Parts {
		if p == nil {
			continue
		}
		if t, ok := p.Content.(a2a.Text); ok {
			texts = append(texts, string(t))
		}
	}
	return strings.Join(texts, "\n")
}

// has reports whether value has at least the content of want: every member of an object, lists
// entry by entry, anything else equal. Both must come from plain.
func has(value, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		value, ok := value.(map[string]any)
		if !ok {
			return false
		}
		for key, w := range want {
			if v, ok := value[key]; !ok || !has(v, w) {
				return false
			}
		}
		return true
	case []any:
		value, ok := value.([]any)
		if !ok || len(value) != len(want) {
			return false
		}
		for i := range want {
			if !has(value[i], want[i]) {
				return false
			}
		}
		return true
	case json.Number:
		value, ok := value.(json.Number)
		return ok && same(value, want)
	}
	return value == want
}

// same compares numbers, so that 1.0 equals 1. Integers too large for a float are
// compared as written.
func same(a, b json.Number) bool {
	if a == b {
		return true
	}
	if _, err := a.Int64(); err == nil {
		if _, err := b.Int64(); err == nil {
			return false
		}
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	return errX == nil && errY == nil && x == y
}

// plain returns v as decoded from its JSON, whatever Go types it consists of; nil if it
// has no JSON form.
func plain(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var p any
	if d.Decode(&p) != nil {
		return nil
	}
	return p
}

// describe returns a description of when the scenario plays.
func (c condition) describe() string {
	var all []string
	if c.messagePrefix != "" {
		all = append(all, "its id begins with "+quote(c.messagePrefix))
	}
	if c.text != nil {
		all = append(all, "its text is "+quote(*c.text))
	}
	if c.textContains != "" {
		all = append(all, "its text contains "+quote(c.textContains))
	}
	if c.data != nil {
		if text, err := json.Marshal(c.data); err == nil {
			all = append(all, "a data part has "+string(text))
		}
	}
	if len(all) == 0 {
		return "always"
	}
	return strings.Join(all, " and ")
}

func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return string(text)
}
