package functiontool

import (
	"encoding/json"
	"errors"
	"strings"

	"a2a-server/tool"
)

func invalid(pointer, message string) error {
	return &tool.InvalidError{Violations: []tool.Violation{{Pointer: pointer, Message: message}}}
}

// refused describes arguments that fit the schema but not the Go type, such as a number
// that is too large for an int8.
func refused(err error) error {
	e, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return invalid("", strings.TrimPrefix(err.Error(), "json: "))
	}
	at := ""
	if e.Field != "" {
		at = "/" + strings.ReplaceAll(e.Field, ".", "/")
	}
	return invalid(at, e.Value+" does not fit "+e.Type.String())
}
