package config

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// place returns where n stands in the file.
func (l *loader) place(n *yaml.Node) origin {
	return origin{layer: File, name: l.path, line: n.Line, column: n.Column}
}

// section reads the mapping of the keys below path; "" is the root.
func (l *loader) section(n *yaml.Node, path string) {
	l.members(n, path, func(name string, k, v *yaml.Node) {
		where := join(path, name)
		found, isKey := find(l.keys, where)
		switch {
		case where == gatesKey:
			l.gates(v, l.place(v))
		case isKey:
			if value, ok := l.value(v, where, found.list); ok {
				put(l, found, l.config, value)
			} else {
				l.refused[where] = true
			}
		case !l.isSection(where):
			l.add(l.place(k), where, "there is no such key%s", l.didYouMean(where, l.paths()))
		case isNull(v): // all of its keys are commented out
		case v.Kind != yaml.MappingNode:
			l.add(l.place(v), where, "expected keys below it, found %s", kindOf(v))
		default:
			l.section(v, where)
		}
	})
}

func (l *loader) isSection(path string) bool {
	for _, k := range l.keys {
		if strings.HasPrefix(k.name, path+".") {
			return true
		}
	}
	return false
}

// paths returns everything that can be written in the file.
func (l *loader) paths() []string {
	all := append(names(l.keys, same), gatesKey)
	for _, k := range l.keys {
		if section, _, nested := strings.Cut(k.name, "."); nested {
			all = append(all, section)
		}
	}
	return all
}

func same(name string) string { return name }

// members calls each for the members of a mapping. A key that is doubled, or is none,
// is reported instead.
func (l *loader) members(n *yaml.Node, path string, each func(name string, k, v *yaml.Node)) {
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		name := clip(k.Value)
		first, twice := lines[k.Value]
		switch {
		case k.Kind != yaml.ScalarNode:
			l.add(l.place(k), path, "a key must be a word, found %s", kindOf(k))
		case k.ShortTag() == "!!merge":
			l.add(l.place(k), join(path, name), "merge keys are not supported; write the members out")
		case twice:
			l.add(l.place(k), join(path, name), "is given twice, first in line %d; remove one", first)
		default:
			lines[k.Value] = k.Line
			each(name, k, v)
		}
	}
}

// value returns what is given at n, as the author wrote it: to a key that takes a
// text, 1.10 and no are texts like any other.
func (l *loader) value(n *yaml.Node, path string, list bool) (given, bool) {
	v := given{path: path, at: l.place(n)}
	if !list {
		text, ok := l.scalar(n, path)
		v.texts = []string{text}
		return v, ok
	}
	if n.Kind != yaml.SequenceNode {
		switch {
		case isNull(n):
			l.add(v.at, path, "has no value; write a list, or remove the line for the default")
		case n.Kind == yaml.ScalarNode:
			l.add(v.at, path, "expected a list, found %s; write it in brackets, as in [%s]", kindOf(n), clip(n.Value))
		default:
			l.add(v.at, path, "expected a list, found %s; write it as [one, two]", kindOf(n))
		}
		return v, false
	}
	good := true
	for i, item := range n.Content {
		text, ok := l.scalar(item, fmt.Sprintf("%s[%d]", path, i))
		good = good && ok
		v.texts, v.items = append(v.texts, text), append(v.items, l.place(item))
	}
	return v, good
}

func (l *loader) scalar(n *yaml.Node, path string) (string, bool) {
	switch {
	case isNull(n):
		l.add(l.place(n), path, "has no value; write one, or remove the line for the default")
	case n.Kind == yaml.AliasNode:
		l.add(l.place(n), path, "aliases are not supported; write the value out")
	case n.Kind != yaml.ScalarNode:
		l.add(l.place(n), path, "expected one value, found %s", kindOf(n))
	case n.Style&yaml.TaggedStyle != 0:
		l.add(l.place(n), path, "the tag %s is not supported; remove it", clip(n.Tag))
	default:
		return n.Value, true
	}
	return "", false
}

// isNull reports whether nothing is written at n, or null is.
func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style&yaml.TaggedStyle == 0 && n.ShortTag() == "!!null"
}

// kindOf names what n is for somebody who does not know YAML well.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping of keys"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	case yaml.ScalarNode:
		if isNull(n) {
			return "nothing"
		}
		return quote(n.Value)
	case yaml.DocumentNode, yaml.StreamNode:
	}
	return "something else"
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
