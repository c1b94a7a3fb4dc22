package script

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// fields are the members of a mapping, by key.
type fields map[string]*yaml.Node

func (f fields) get(key string) *yaml.Node { return f[key] }

// mapping reads a mapping with the known keys. It is not ok when n is no mapping; an
// unknown or duplicate key is reported, and the others are still there.
func (r *report) mapping(n *yaml.Node, key string, known ...string) (fields, bool) {
	if n.Kind != yaml.MappingNode {
		r.add(n, key, "expected a mapping with %s, found %s", list(known), kindOf(n))
		return nil, false
	}
	found := fields{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, value := n.Content[i], n.Content[i+1]
		name := k.Value
		switch {
		case k.Kind != yaml.ScalarNode:
			r.add(k, key, "a key must be a word, found %s", kindOf(k))
		case !contains(known, name):
			r.add(k, join(key, name), "unknown key; known are %s", list(known))
		case found[name] != nil:
			r.add(k, join(key, name), "given twice, first in line %d; remove one", found[name].Line)
		default:
			found[name] = value
		}
	}
	return found, true
}

// sequence reads a list that is not empty.
func (r *report) sequence(n *yaml.Node, key string) ([]*yaml.Node, bool) {
	if n.Kind != yaml.SequenceNode {
		r.add(n, key, "expected a list, found %s", kindOf(n))
		return nil, false
	}
	if len(n.Content) == 0 {
		r.add(n, key, "the list is empty; write at least one entry")
		return nil, false
	}
	return n.Content, true
}

// required reads a string that must be there and not be empty.
func (r *report) required(parent *yaml.Node, f fields, key, name string) (string, bool) {
	n := f.get(name)
	if n == nil {
		r.add(parent, join(key, name), "missing; write a text")
		return "", false
	}
	s, ok := r.str(n, join(key, name))
	if ok && s == "" {
		r.add(n, join(key, name), "must not be empty")
		return "", false
	}
	return s, ok
}

// optional reads a string that may be left out.
func (r *report) optional(f fields, key, name string) string {
	n := f.get(name)
	if n == nil {
		return ""
	}
	s, _ := r.str(n, join(key, name))
	return s
}

// str reads a text. A number or a truth value is none: 007 or yes may have lost what
// the author meant.
func (r *report) str(n *yaml.Node, key string) (string, bool) {
	switch {
	case isText(n):
		return n.Value, true
	case n.Kind == yaml.ScalarNode && !isNull(n):
		r.add(n, key, "expected a text, found %s; put quotes around it", kindOf(n))
	default:
		r.add(n, key, "expected a text, found %s", kindOf(n))
	}
	return "", false
}

func (r *report) boolean(n *yaml.Node, key string) bool {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" {
		return strings.EqualFold(n.Value, "true")
	}
	r.add(n, key, "expected true or false, found %s", kindOf(n))
	return false
}

func (r *report) integer(n *yaml.Node, key string, lowest, highest int) int {
	value, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || value < lowest || value > highest {
		r.add(n, key, "expected a whole number from %d to %d, found %s", lowest, highest, kindOf(n))
		return lowest
	}
	return value
}

// isText reports whether n is a text. What YAML takes for a date is one, too.
func isText(n *yaml.Node) bool {
	tag := n.ShortTag()
	return n.Kind == yaml.ScalarNode && (tag == "!!str" || tag == "!!timestamp")
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// kindOf names what n is in words for a person.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias, which is not supported here; write the value out"
	case yaml.ScalarNode:
		switch {
		case isNull(n):
			return "nothing"
		case isText(n):
			return "the text " + strconv.Quote(clip(n.Value))
		}
		return clip(n.Value)
	case yaml.DocumentNode, yaml.StreamNode:
	}
	return "something else"
}

func clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// list names alternatives: "a, b and c".
func list(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}
