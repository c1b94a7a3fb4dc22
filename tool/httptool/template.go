package httptool

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"a2a-server/internal/lists"
)

// fragment is a part of a template: literal text, an argument, or a secret.
type fragment struct {
	text    string // if name is ""
	name    string
	secret  bool
	explode bool // {name*}
	nested  bool // {name[]}
}

// placeholder matches the text between braces.
var placeholder = regexp.MustCompile(`^(secret:)?([A-Za-z0-9_][A-Za-z0-9_.-]{0,63})(\*|\[\])?$`)

// token matches a part of a template: a doubled brace, a placeholder, a single brace, or text.
var token = regexp.MustCompile(`\{\{|\}\}|\{[^}]*\}|[{}]|[^{}]+`)

// parse splits a template into fragments.
func parse(template string) ([]fragment, error) {
	var fragments []fragment
	text := ""
	for _, part := range token.FindAllString(template, -1) {
		switch {
		case part == "{{" || part == "}}":
			text += part[:1]
			continue
		case part == "{" || part == "}":
			return nil, fmt.Errorf("a single %q has no partner; write %[2]s for a brace", part, part+part)
		case part[0] != '{':
			text += part
			continue
		}
		m := placeholder.FindStringSubmatch(part[1 : len(part)-1])
		if m == nil {
			return nil, fmt.Errorf("%q is not a placeholder; write {name}, or {{ for a brace", part)
		}
		if m[1] != "" && m[3] != "" {
			return nil, fmt.Errorf("%q: a secret has no elements; remove the %s", part, m[3])
		}
		if text != "" {
			fragments, text = append(fragments, fragment{text: text}), ""
		}
		fragments = append(fragments, fragment{name: m[2], secret: m[1] != "", explode: m[3] == "*", nested: m[3] == "[]"})
	}
	if text != "" {
		fragments = append(fragments, fragment{text: text})
	}
	return fragments, nil
}

// sole returns the argument that is all of a template.
func sole(fragments []fragment) (name string, ok bool) {
	if len(fragments) == 1 && fragments[0].name != "" && !fragments[0].secret {
		return fragments[0].name, true
	}
	return "", false
}

// literal returns the text of a template without placeholders.
func literal(fragments []fragment) (text string, ok bool) {
	switch {
	case len(fragments) == 0:
		return "", true
	case len(fragments) == 1 && fragments[0].name == "":
		return fragments[0].text, true
	}
	return "", false
}

// encoder returns the form of an argument's text in its place. The text is an element of an array
// if list is set.
type encoder func(name, text string, list bool) (string, error)

// fill returns a template's text with the arguments in it. The elements of an array are joined by
// commas.
func fill(fragments []fragment, args map[string]any, encode encoder) (string, error) {
	var b strings.Builder
	for _, p := range fragments {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		texts, err := elements(args, p.name)
		if err != nil {
			return "", err
		}
		_, list := args[p.name].([]any)
		for i := range texts {
			if texts[i], err = encode(p.name, texts[i], list); err != nil {
				return "", err
			}
		}
		b.WriteString(strings.Join(texts, ","))
	}
	return b.String(), nil
}

// escaped is the [encoder] of the values in a query or a form.
func escaped(_, text string, _ bool) (string, error) { return Escape(text), nil }

// plain is the [encoder] of texts without a syntax.
func plain(_, text string, _ bool) (string, error) { return text, nil }

// place is the place of a template in a request, with its allowed placeholders.
type place struct {
	what     string // for messages, such as `header "X-Team"`
	secrets  bool   // are allowed
	explode  bool   // {name*} and {name[]} are allowed, if they are the whole template
	optional bool   // the whole template may be missing
	typed    bool   // values keep their types if they are the whole template
}

// declared collects the mistakes in the placeholders of a tool.
type declared struct {
	properties map[string]any // of the schema of the arguments; nil: every name is declared
	required   map[string]bool
	used       map[string]bool
	secrets    map[string]bool
	problems   []error
}

// newDeclared returns the names that a schema of arguments declares, all names for nil.
func newDeclared(schema map[string]any) *declared {
	d := &declared{required: map[string]bool{}, used: map[string]bool{}, secrets: map[string]bool{}}
	if schema == nil {
		return d
	}
	d.properties, _ = schema["properties"].(map[string]any)
	if d.properties == nil {
		d.properties = map[string]any{}
	}
	for _, name := range lists.Strings(schema["required"]) {
		d.required[name] = true
	}
	return d
}

// strings returns the schema of a required string for each used name.
func (d *declared) strings() map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, name := range slices.Sorted(maps.Keys(d.used)) {
		properties[name] = map[string]any{"type": "string"}
		required = append(required, name)
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

func (d *declared) problem(format string, args ...any) {
	d.problems = append(d.problems, fmt.Errorf(format, args...))
}

// parse parses a template and checks its placeholders.
func (d *declared) parse(template string, at place) []fragment {
	fragments, err := parse(template)
	if err != nil {
		d.problem("%s: %w", at.what, err)
		return nil
	}
	for _, p := range fragments {
		if p.name != "" {
			d.check(p, len(fragments) == 1, at)
		}
	}
	return fragments
}

func (d *declared) check(p fragment, whole bool, at place) {
	if p.secret {
		d.secrets[p.name] = true
		if !at.secrets {
			d.problem("%s: {secret:%s} is not allowed here; put it into a header", at.what, p.name)
		}
		return
	}
	d.used[p.name] = true
	if (p.explode || p.nested) && (!at.explode || !whole) {
		suffix := "*"
		if p.nested {
			suffix = "[]"
		}
		d.problem("%s: {%s%s} is allowed only as the whole value of a query or form parameter; write {%[2]s}", at.what, p.name, suffix)
	}
	if d.properties == nil {
		return
	}
	schema, has := d.properties[p.name]
	if !has {
		d.problem("%s: unknown argument %q; declare it, or write {{ for a brace", at.what, p.name)
		return
	}
	if s, ok := schema.(map[string]any); ok && s["type"] == "object" && !p.nested && (!at.typed || !whole) {
		d.problem("%s: argument %q is an object, which has no form as text; use it as a whole value of a JSON body", at.what, p.name)
	}
	if !d.required[p.name] && (!at.optional || !whole) {
		d.problem("%s: argument %q must be required, because it is part of a larger text that cannot be left out", at.what, p.name)
	}
}
