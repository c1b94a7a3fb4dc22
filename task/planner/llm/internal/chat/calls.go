package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// maxCalls bounds the calls of an answer. The engine refuses fewer, and says so.
const maxCalls = 256

// calling is a call of which more may come.
type calling struct {
	index    int // -1: it has none
	id, name string
	args     []byte
	begun    bool // args has more than space
	depth    int  // of args: brackets that are open
	quoted   bool // args ends within a text
	escaped  bool // args ends with an escaping backslash
	fields   map[string]any
}

// callDelta is a piece of a call.
type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
	} `json:"function"`
}

func (a *answering) addCalls(raw json.RawMessage) error {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return lost("tool_calls is not a list: %s", raw)
	}
	for _, raw := range list {
		var d callDelta
		if err := json.Unmarshal(raw, &d); err != nil {
			return lost("a call cannot be read: %v: %s", err, raw)
		}
		args := d.Function.Args
		var text string
		switch {
		case string(args) == "null":
			args = nil
		case json.Unmarshal(args, &text) == nil:
			args = json.RawMessage(text)
		} // else it is an object, as some servers send it
		a.size += len(args) + len(d.ID) + len(d.Function.Name)
		c := a.callOf(&d, args)
		switch {
		case len(a.calls) > maxCalls:
			return unusable("", "the model's answer has more than %d calls", maxCalls)
		case a.size > MaxText:
			return tooLong()
		}
		if c.id == "" {
			c.id = d.ID
		}
		if c.name == "" {
			c.name = d.Function.Name
		}
		c.add(args)
		var fields map[string]json.RawMessage
		_ = json.Unmarshal(raw, &fields) // it was read above
		for name, value := range fields {
			if !slices.Contains([]string{"index", "id", "type", "function"}, name) {
				if fits(&a.callExtra, c.fields, name, value) {
					c.fields = merged(c.fields, name, value)
				}
			}
		}
	}
	return nil
}

// callOf returns the call that a piece belongs to. A new call begins with a new id, index or name,
// or a name that follows complete arguments: Ollama sends every call with index 0, others send no
// id, or no index.
func (a *answering) callOf(d *callDelta, args []byte) *calling {
	index := -1
	if d.Index != nil {
		index = *d.Index
	}
	for _, c := range slices.Backward(a.calls) {
		if d.Index != nil && c.index != index {
			continue
		}
		if c.endsBefore(d, args) {
			break
		}
		return c
	}
	c := &calling{index: index}
	a.calls = append(a.calls, c)
	return c
}

// endsBefore reports whether a piece with these arguments begins a call after c. A server that
// repeats the id may repeat the name in each piece, too: then only arguments after complete ones
// begin a call.
func (c *calling) endsBefore(d *callDelta, args []byte) bool {
	name := d.Function.Name
	switch {
	case d.ID != "" && c.id != "" && d.ID != c.id:
		return true
	case name == "" || c.name == "":
		return false
	case name != c.name:
		return true
	case d.ID != "" && d.ID == c.id:
		return !blank(args) && c.begun && c.ended()
	}
	return c.ended()
}

// add adds to the arguments.
func (c *calling) add(args []byte) {
	c.args = append(c.args, args...)
	c.begun = c.begun || !blank(args)
	for _, b := range args {
		switch {
		case c.escaped:
			c.escaped = false
		case c.quoted && b == '\\':
			c.escaped = true
		case b == '"':
			c.quoted = !c.quoted
		case c.quoted:
		case b == '{', b == '[':
			c.depth++
		case b == '}', b == ']':
			c.depth--
		}
	}
}

// ended reports whether the arguments are complete, or have not begun. It does not read them
// again: pieces may be many.
func (c *calling) ended() bool { return c.depth <= 0 && !c.quoted }

func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// nameCalls gives an id to each call that has none, or that of another call.
func (a *answering) nameCalls() {
	first := map[string]*calling{} // by id
	for _, c := range a.calls {
		if first[c.id] == nil {
			first[c.id] = c
		}
	}
	for i, c := range a.calls {
		if c.id != "" && first[c.id] == c {
			continue
		}
		for n := i + 1; c.id == "" || first[c.id] != nil; n++ {
			c.id = fmt.Sprintf("call_%d_%s", n, c.name)
		}
		first[c.id] = c
	}
}
