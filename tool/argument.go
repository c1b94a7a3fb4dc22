package tool

import (
	"encoding/json"
	"fmt"
)

// Invalid returns the *[InvalidError] of one violation, at a pointer in the arguments of a call.
func Invalid(pointer, format string, args ...any) error {
	return &InvalidError{Violations: []Violation{{Pointer: pointer, Message: fmt.Sprintf(format, args...)}}}
}

// ArgumentText returns an argument as text: a string itself, a number or a boolean as JSON has it. ok is
// false for null, lists and objects.
func ArgumentText(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case Masked: // in a hint
		return v.String(), true
	case bool, json.Number, float64, int, int64:
		raw, err := json.Marshal(v)
		return string(raw), err == nil
	}
	return "", false
}
