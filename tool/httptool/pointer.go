package httptool

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-openapi/jsonpointer"

	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
)

// pointer is a JSON Pointer (RFC 6901) as its tokens.
type pointer []string

// pointerText matches a JSON Pointer.
var pointerText = regexp.MustCompile(`^(/([^/~]|~[01])*)*$`)

// parsePointer parses a JSON Pointer. "" is the whole value.
func parsePointer(s string) (pointer, error) {
	p, err := jsonpointer.New(s)
	if err != nil || !pointerText.MatchString(s) {
		return nil, fmt.Errorf("%q is not a JSON Pointer; write / before each name, such as /items/0/key, and ~0 for ~ and ~1 for / in a name", s)
	}
	return p.DecodedTokens(), nil
}

// maxNames bounds how many names an error lists.
const maxNames = 10

// find returns the value at p, or an error that names the value found instead.
func (p pointer) find(v any) (any, error) {
	for i, token := range p {
		missing := func(what string) error {
			return fmt.Errorf("it has no value at %s: %s", quote(p), fmt.Sprintf(what, quote(p[:i])))
		}
		switch value := v.(type) {
		case map[string]any:
			next, has := value[token]
			if !has {
				return nil, missing("the object at %s has " + names(value))
			}
			v = next
		case []any:
			n, ok := index(token)
			if !ok {
				return nil, missing("an array is at %s, whose elements are counted from 0")
			}
			if n >= len(value) {
				return nil, missing(fmt.Sprintf("the array at %%s has %d elements", len(value)))
			}
			v = value[n]
		default:
			return nil, missing("%s is neither an object nor an array")
		}
	}
	return v, nil
}

func index(token string) (n int, ok bool) {
	n, err := strconv.Atoi(token)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == token
}

func quote(p pointer) string {
	var b strings.Builder
	for _, token := range p {
		b.WriteString("/" + strictjson.EscapePointer(token))
	}
	return visible.Quote(b.String(), 200)
}

// names lists the names of an object, in a form for fmt.Sprintf.
func names(object map[string]any) string {
	all := slices.Sorted(maps.Keys(object))
	if len(all) == 0 {
		return "no members"
	}
	var shown []string
	for _, name := range all[:min(len(all), maxNames)] {
		shown = append(shown, visible.Quote(name, 40))
	}
	list := strings.Join(shown, ", ")
	if more := len(all) - len(shown); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return strings.ReplaceAll(list, "%", "%%")
}
