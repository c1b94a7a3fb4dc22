package httptool

import (
	"fmt"
	"regexp"

	"github.com/go-openapi/jsonpointer"

	"a2a-server/internal/visible"
)

// pointerText matches a JSON Pointer.
var pointerText = regexp.MustCompile(`^(/([^/~]|~[01])*)*$`)

// parsePointer parses a JSON Pointer (RFC 6901). "" is the whole value.
func parsePointer(s string) (jsonpointer.Pointer, error) {
	p, err := jsonpointer.New(s)
	if err != nil || !pointerText.MatchString(s) {
		return p, fmt.Errorf("%q is not a JSON Pointer; write / before each name, such as /items/0/key, and ~0 for ~ and ~1 for / in a name", s)
	}
	return p, nil
}

// find returns the value at p.
func find(p jsonpointer.Pointer, v any) (any, error) {
	found, _, err := p.Get(v)
	if err != nil {
		return nil, fmt.Errorf("it has no value at %s", quote(p))
	}
	return found, nil
}

func quote(p jsonpointer.Pointer) string { return visible.Quote(p.String(), 200) }
