package commandtool

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"a2a-server/internal/visible"
)

// maxShown is how many characters of a text from outside are repeated in an error.
const maxShown = 100

var (
	placeholder  = regexp.MustCompile(`\{\{[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}\}\}|\{([A-Za-z0-9_][A-Za-z0-9_.-]{0,63})\}`)
	argumentName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)
)

// template is a text with placeholders.
type template []fragment

// fragment is literal text, or the argument of a name.
type fragment struct{ text, name string }

// parseTemplate adds the names of the placeholders to used.
func parseTemplate(s string, args map[string]Arg, used map[string]bool) (template, error) {
	var t template
	end := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(s, -1) {
		t = t.literal(s[end:at[0]])
		end = at[1]
		if at[2] < 0 { // {{name}}
			t = t.literal(s[at[0]+1 : at[1]-1])
			continue
		}
		name := s[at[2]:at[3]]
		if _, ok := args[name]; !ok {
			return nil, fmt.Errorf("unknown argument %s: declare it, or write {{%s}} for {%s} itself", visible.Quote(name, maxShown), name, name)
		}
		used[name] = true
		t = append(t, fragment{name: name})
	}
	return t.literal(s[end:]), nil
}

func (t template) literal(s string) template {
	if s == "" {
		return t
	}
	return append(t, fragment{text: s})
}

// fixed reports whether there are no placeholders.
func (t template) fixed() bool {
	return !slices.ContainsFunc(t, func(p fragment) bool { return p.name != "" })
}

// render returns the text with values in place of the placeholders. ok is false if a value is
// missing. leading are the names of the arguments that decide how the text begins: the empty
// values before any text, and the value with which the text begins, if it does.
func (t template) render(values map[string]string) (text string, leading []string, ok bool) {
	var b strings.Builder
	for _, p := range t {
		s := p.text
		if p.name != "" {
			if s, ok = values[p.name]; !ok {
				return "", nil, false
			}
		}
		if b.Len() == 0 && p.name != "" {
			leading = append(leading, p.name)
		}
		b.WriteString(s)
	}
	return b.String(), leading, true
}
