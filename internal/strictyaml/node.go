package strictyaml

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"a2a-server/internal/suggest"
	"a2a-server/internal/visible"
)

// Node is a value in a file, or a missing value.
type Node struct {
	path   string
	place  Place
	yaml   *yaml.Node // nil: missing
	report *Report
	secret bool // see [Node.Withheld]
}

// Withheld returns n for a reader that expects no secret there: problems do not repeat its text, which may be
// the secret itself. A {name} without quotes is a text.
func (n Node) Withheld() Node {
	n.secret = true
	return n
}

// Path returns the path of n from the root, such as gates[0].tool.
func (n Node) Path() string { return n.path }

// Place returns where n begins or, if n is missing, where the mapping around it does.
func (n Node) Place() Place { return n.place }

// Add adds a problem with n.
func (n Node) Add(format string, args ...any) { n.report.Add(n.place, n.path, format, args...) }

// AddInside adds a problem at a place of the text of n, see [Node.Inside].
func (n Node) AddInside(line, column int, format string, args ...any) {
	n.report.Add(n.Inside(line, column), n.path, format, args...)
}

// Missing reports whether n is not in the file.
func (n Node) Missing() bool { return n.yaml == nil }

// Below returns the missing member of n with this name.
func (n Node) Below(name string) Node {
	return Node{path: join(n.path, name), place: n.place, report: n.report}
}

// Null reports whether n is missing, empty or null.
func (n Node) Null() bool {
	return n.Missing() || n.yaml.Kind == yaml.ScalarNode && n.yaml.Style&yaml.TaggedStyle == 0 && n.yaml.ShortTag() == "!!null"
}

// IsMapping reports whether n is a mapping.
func (n Node) IsMapping() bool {
	return !n.Missing() && n.yaml.Kind == yaml.MappingNode && (!n.secret || !n.bare())
}

// Says reports whether n is anything other than missing, empty, null or {}.
func (n Node) Says() bool { return !n.Null() && (!n.is(yaml.MappingNode) || len(n.yaml.Content) > 0) }

// IsText reports whether n is a string or a date in YAML.
func (n Node) IsText() bool {
	if n.Missing() || n.yaml.Kind != yaml.ScalarNode || n.yaml.Style&yaml.TaggedStyle != 0 {
		return false
	}
	tag := n.yaml.ShortTag()
	return tag == "!!str" || tag == "!!timestamp"
}

// found describes n for people who do not know YAML well.
func (n Node) found() string {
	switch {
	case n.Null():
		return "nothing"
	case n.IsMapping():
		return "a mapping of keys"
	case n.yaml.Kind == yaml.SequenceNode:
		return "a list"
	case n.yaml.Kind == yaml.AliasNode:
		return "an alias"
	case n.secret:
		return "a text"
	case n.IsText():
		return visible.Quote(n.yaml.Value, maxQuoted)
	}
	return clip(n.yaml.Value)
}

// Expected adds the problem that n is not the expected value. more is appended to it, and may
// say what to write.
func (n Node) Expected(what, more string) {
	switch {
	case n.Missing():
		n.Add("is missing; write %s%s", what, more)
	case n.yaml.Kind == yaml.AliasNode:
		n.Add("aliases are not supported; write the value out")
	case n.yaml.Style&yaml.TaggedStyle != 0:
		n.Add("the tag %s is not supported; remove it", clip(n.yaml.Tag))
	default:
		n.Add("expected %s, found %s%s", what, n.found(), more)
	}
}

// is reports whether n is of a kind and has no tag.
func (n Node) is(kind yaml.Kind) bool {
	return !n.Missing() && n.yaml.Kind == kind && n.yaml.Style&yaml.TaggedStyle == 0 && (!n.secret || !n.bare())
}

// bare reports whether n is a {name} without quotes.
func (n Node) bare() bool {
	c := n.yaml.Content
	return n.yaml.Kind == yaml.MappingNode && n.yaml.Style&yaml.FlowStyle != 0 && len(c) == 2 && c[0].Kind == yaml.ScalarNode && empty(c[1])
}

// Items returns the entries of a list. If n is not a list, it calls [Node.Expected], and ok is
// false.
func (n Node) Items(what, more string) ([]Node, bool) {
	if !n.is(yaml.SequenceNode) {
		n.Expected(what, more)
		return nil, false
	}
	items := make([]Node, len(n.yaml.Content))
	for i, item := range n.yaml.Content {
		items[i] = Node{path: fmt.Sprintf("%s[%d]", n.path, i), place: placeOf(item), yaml: item, report: n.report, secret: n.secret}
	}
	return items, true
}

// Member is an entry of a mapping.
type Member struct {
	Name  string
	Key   Node // the name itself
	Value Node
}

// Unknown adds the problem that the member's name is not in known. It suggests a name, except
// in a file with many problems.
func (m Member) Unknown(known []string) {
	hint := ""
	if len(m.Key.report.problems) < MaxShown {
		hint = suggest.DidYouMean(m.Name, "", known)
	}
	switch {
	case hint != "":
	case len(known) == 1:
		hint = "; the only one is " + known[0]
	case len(known) <= 16:
		hint = "; known are " + List(known)
	}
	m.Key.Add("there is no such key%s", hint)
}

// Members returns the entries of a mapping, except entries with a problem, such as a duplicate
// name. If n is not a mapping, it calls [Node.Expected] and returns ok false.
func (n Node) Members(what, more string) ([]Member, bool) {
	if !n.is(yaml.MappingNode) {
		n.Expected(what, more)
		return nil, false
	}
	lines := map[string]int{}
	var all []Member
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		k, v := n.yaml.Content[i], n.yaml.Content[i+1]
		key := Node{path: n.path, place: placeOf(k), yaml: k, report: n.report}
		if k.Kind != yaml.ScalarNode {
			key.Add("a key must be a word, found %s", key.found())
			continue
		}
		key.path = join(n.path, clip(k.Value))
		first, twice := lines[k.Value]
		switch {
		case k.ShortTag() == "!!merge":
			key.Add("merge keys are not supported; write the members out")
		case k.Style&yaml.TaggedStyle != 0:
			key.Expected("a word", "")
		case twice:
			key.Add("is given twice, first on line %d; remove one", first)
		default:
			lines[k.Value] = k.Line
			all = append(all, Member{Name: k.Value, Key: key, Value: Node{path: key.path, place: placeOf(v), yaml: v, report: n.report, secret: n.secret}})
		}
	}
	return all, true
}

// Names returns the names of the members of a mapping, without looking for problems with
// them. It returns none if n is not a mapping.
func (n Node) Names() []string {
	if !n.is(yaml.MappingNode) {
		return nil
	}
	var all []string
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		if k := n.yaml.Content[i]; k.Kind == yaml.ScalarNode {
			all = append(all, k.Value)
		}
	}
	return all
}

// Decode sets the fields of the struct at to from a mapping that may only have members with their names,
// in lower case or as in their tags yaml. A field is a string, a list of strings, which its tag list may
// describe, or a Node, which the caller reads. If n is not a mapping, ok is false.
func (n Node) Decode(to any) (ok bool) {
	at := reflect.ValueOf(to).Elem()
	nameOf := func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		return cmp.Or(name, strings.ToLower(f.Name))
	}
	var known []string
	for f := range at.Type().Fields() {
		known = append(known, nameOf(f))
	}
	given := map[string]Node{}
	members, ok := n.Members("a mapping with "+List(known), "")
	for _, m := range members {
		if slices.Contains(known, m.Name) {
			given[m.Name] = m.Value
		} else {
			m.Unknown(known)
		}
	}
	for f, v := range at.Fields() {
		value, is := given[nameOf(f)]
		switch v := v.Addr().Interface().(type) {
		case *Node:
			if *v = value; !is {
				*v = n.Below(nameOf(f))
			}
		case *string:
			if is {
				*v, _ = value.Text()
			}
		case *[]string:
			if is {
				*v = value.texts(f.Tag.Get("list"))
			}
		}
	}
	return ok
}

// Texts returns a list of strings. Anything else is a problem.
func (n Node) Texts() []string { return n.texts("") }

func (n Node) texts(what string) []string {
	more := ""
	if what == "" {
		what, more = "a list", "; write it as [one, two]"
	}
	all := []string{}
	items, _ := n.Items(what, more)
	for _, item := range items {
		text, _ := item.Text()
		all = append(all, text)
	}
	return all
}

// Scalar returns the text of a single value as its author wrote it, so that 1.10 and no stay
// as they are. It returns false for anything else.
func (n Node) Scalar() (string, bool) {
	if n.Null() || !n.is(yaml.ScalarNode) {
		return "", false
	}
	return n.yaml.Value, true
}

// One is [Node.Scalar], but anything else than a single value is a problem.
func (n Node) One() (string, bool) {
	text, ok := n.Scalar()
	switch {
	case ok:
	case n.Null() && !n.Missing():
		n.Add("has no value; write one, or remove the line for the default")
	case n.Quoted():
		n.Expected("one value", "")
	}
	return text, ok
}

// Quoted reports whether there is no {name} without quotes in n, which is a mapping to YAML and
// a placeholder to its author. Each is a problem. With a colon, as in {name: null}, it is a
// mapping to both.
func (n Node) Quoted() bool {
	if n.Missing() {
		return true
	}
	c := n.yaml.Content
	if n.bare() {
		name := clip(c[0].Value)
		if n.secret {
			name = "name"
		}
		n.report.Add(placeOf(n.yaml), n.path, `{%s} without quotes is a mapping; write "{%[1]s}"`, name)
		return false
	}
	all := true
	for _, below := range c {
		all = Node{n.path, n.place, below, n.report, n.secret}.Quoted() && all
	}
	return all
}

// empty reports whether nothing at all is written for a value.
func empty(v *yaml.Node) bool {
	return v.Kind == yaml.ScalarNode && v.Value == "" && v.ShortTag() == "!!null"
}

// Into sets v to the value. The error of v is a problem.
func (n Node) Into(v encoding.TextUnmarshaler) {
	if text, ok := n.One(); ok {
		if err := v.UnmarshalText([]byte(text)); err != nil {
			n.Add("%v", err)
		}
	}
}

// Text returns a string. A number or boolean is a problem: 007 or yes may have lost the
// author's meaning.
func (n Node) Text() (string, bool) {
	if n.IsText() {
		return n.yaml.Value, true
	}
	more := ""
	if n.is(yaml.ScalarNode) && !n.Null() {
		more = "; put quotes around it"
	}
	n.Expected("a string", more)
	return "", false
}

// Bool returns a boolean. Anything else is a problem.
func (n Node) Bool() bool {
	if !n.is(yaml.ScalarNode) || n.yaml.ShortTag() != "!!bool" {
		n.Expected("true or false", "")
		return false
	}
	return strings.EqualFold(n.yaml.Value, "true")
}

func placeOf(n *yaml.Node) Place { return Place{n.Line, n.Column} }

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Inside returns the place of a line and a column of the text of n, both from 1. It is the place
// of n itself if YAML writes that text differently.
func (n Node) Inside(line, column int) Place {
	at := n.place
	switch text, ok := n.Scalar(); {
	case !ok || line < 1 || column < 1:
	case n.yaml.Style&yaml.LiteralStyle != 0 && at.Line+line <= len(n.report.lines):
		first := n.report.lines[at.Line] // after the line with the sign |
		return Place{at.Line + line, len(first) - len(strings.TrimLeft(first, " ")) + column}
	case strings.Contains(text, "\n") || n.yaml.Style&yaml.FoldedStyle != 0 || line > 1:
	case n.yaml.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return Place{at.Line, at.Column + column}
	default:
		return Place{at.Line, at.Column + column - 1}
	}
	return at
}
