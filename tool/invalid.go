package tool

import (
	"bytes"
	"errors"
	"strings"

	"a2a-server/internal/strictjson"
)

// Violation is a violation of a schema or format by a value.
type Violation struct {
	// Pointer is the JSON Pointer (RFC 6901) to the invalid part; for a missing or unknown
	// name, to the name itself. "" is the whole value.
	Pointer string
	// Message describes the violation.
	Message string
}

// InvalidError lists the violations of a value from outside. It has at least one, and at most
// [MaxViolations].
type InvalidError struct {
	Violations []Violation
}

// MaxViolations is how many violations an [InvalidError] lists. There may be more.
const MaxViolations = 32

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
