package tool

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"a2a-server/internal/strictjson"
)

// maxMessage bounds the message of a violation, in bytes: some quote the value, which may
// be long.
const maxMessage = 400

// invalid turns the library's error into ours.
func invalid(value any, err error) *InvalidError {
	v, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return &InvalidError{Violations: []Violation{{Message: err.Error()}}}
	}
	mend(value, v)
	all := violations(nil, v)
	// The library walks maps, so its order is not the same each time.
	slices.SortFunc(all, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Message, b.Message))
	})
	all = slices.Compact(all)
	return &InvalidError{Violations: all[:min(len(all), maxViolations)]}
}

// mend corrects the location of a name that is not allowed: the library returns a slice
// that it keeps writing to, so it may point at a sibling. Its length and the name are
// correct.
func mend(value any, e *jsonschema.ValidationError) {
	if k, ok := e.ErrorKind.(*kind.PropertyNames); ok {
		if at := locate(value, k.Property, len(e.InstanceLocation), e.InstanceLocation); at != nil {
			e.InstanceLocation = at
		}
	}
	for _, c := range e.Causes {
		mend(value, c)
	}
}

// locate returns where, depth levels down, an object has the name: hint if it is there,
// else the first place in the order of names.
func locate(value any, name string, depth int, hint []string) []string {
	if depth == 0 {
		if object, ok := value.(map[string]any); ok {
			if _, has := object[name]; has {
				return []string{}
			}
		}
		return nil
	}
	first := func(token string, child any, rest []string) []string {
		if at := locate(child, name, depth-1, rest); at != nil {
			return append([]string{token}, at...)
		}
		return nil
	}
	switch v := value.(type) {
	case map[string]any:
		if child, ok := v[hint[0]]; ok {
			if at := first(hint[0], child, hint[1:]); at != nil {
				return at
			}
		}
		for _, token := range slices.Sorted(maps.Keys(v)) {
			if at := first(token, v[token], hint[1:]); at != nil {
				return at
			}
		}
	case []any:
		for i, child := range v {
			if at := first(strconv.Itoa(i), child, hint[1:]); at != nil {
				return at
			}
		}
	}
	return nil
}

// violations appends the violations of e and its causes. Where the library points at an object
// but means a name in it, the name is added.
func violations(to []Violation, e *jsonschema.ValidationError) []Violation {
	at := pointer(e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return named(to, at, k.Missing, "is missing")
	case *kind.DependentRequired:
		return named(to, at, k.Missing, fmt.Sprintf("is missing, but needed with %q", k.Prop))
	case *kind.Dependency:
		return named(to, at, k.Missing, fmt.Sprintf("is missing, but needed with %q", k.Prop))
	case *kind.AdditionalProperties:
		return named(to, at, k.Properties, "is not a known name")
	case *kind.PropertyNames:
		return append(to, Violation{at + "/" + strictjson.EscapePointer(k.Property), "is not an allowed name"})
	case *kind.FalseSchema:
		return append(to, Violation{at, "is not allowed here"})
	case *kind.AnyOf:
		return append(to, alternatives(at, e.Causes))
	case *kind.OneOf:
		if len(e.Causes) > 0 {
			return append(to, alternatives(at, e.Causes))
		}
		return append(to, Violation{at, "matches more than one of the alternatives, and has to match exactly one"})
	}
	if len(e.Causes) == 0 {
		return append(to, Violation{at, message(e)})
	}
	for _, c := range e.Causes {
		to = violations(to, c)
	}
	return to
}

func named(to []Violation, at string, names []string, message string) []Violation {
	for _, n := range names {
		to = append(to, Violation{at + "/" + strictjson.EscapePointer(n), message})
	}
	return to
}

// alternatives combines the reasons why a value fits none of several schemas into a single
// violation: listed separately they would contradict each other.
func alternatives(at string, causes []*jsonschema.ValidationError) Violation {
	var reasons []string
	for _, c := range causes {
		for _, v := range violations(nil, c) {
			r := v.Message
			if below := strings.TrimPrefix(v.Pointer, at); below != "" {
				r = "at " + below + ": " + r
			}
			reasons = append(reasons, r)
		}
	}
	slices.Sort(reasons)
	text := "matches none of the alternatives"
	if len(reasons) > 0 {
		text += ": " + strings.Join(slices.Compact(reasons), ", or ")
	}
	return Violation{at, short(text)}
}

// message is the library's own text for an error without causes.
func message(e *jsonschema.ValidationError) string {
	if out := e.BasicOutput(); out.Error != nil {
		return short(out.Error.String())
	}
	return "does not fit the schema"
}

func short(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + " …"
}

func pointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString("/" + strictjson.EscapePointer(t))
	}
	return b.String()
}

// Violation is a violation of a schema or format by a value.
type Violation struct {
	// Pointer is the JSON Pointer (RFC 6901) to the invalid part; for a missing or unknown
	// name, to the name itself. "" is the whole value.
	Pointer string
	// Message describes the violation.
	Message string
}

// InvalidError lists the violations of a value from outside. It has at least one, and at most
// 32.
type InvalidError struct {
	Violations []Violation
}

// maxViolations is how many violations an [InvalidError] lists. There may be more.
const maxViolations = 32

// Error implements error.
func (e *InvalidError) Error() string {
	var b strings.Builder
	b.WriteString("invalid: ")
	for i, v := range e.Violations {
		if i > 0 {
			b.WriteString("; ")
		}
		if v.Pointer != "" {
			b.WriteString("at " + v.Pointer + ": ")
		}
		b.WriteString(v.Message)
	}
	return b.String()
}

// DecodeArgs decodes the arguments of a call from the bytes that were received. To be
// unambiguous, it refuses duplicate names, integers that a double cannot hold, invalid
// Unicode and deep nesting. Empty input means no arguments: {}. The error is an
// *[InvalidError].
func DecodeArgs(raw []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{}, nil
	}
	args, err := strictjson.DecodeObject(raw)
	if err == nil {
		return args, nil
	}
	v := Violation{Message: err.Error()}
	if e, ok := errors.AsType[*strictjson.Error](err); ok {
		v = Violation{Pointer: e.Pointer, Message: e.Reason}
	}
	return nil, &InvalidError{Violations: []Violation{v}}
}
