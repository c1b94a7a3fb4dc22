package functiontool

import (
	"encoding/json"
	"errors"
	"strings"

	"a2a-server/tool"
)

// refused describes arguments that fit the schema but not the Go type, such as a number
// that is too large for an int8.
func refused(err error) error {
	e, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return tool.Invalid("", "%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	at := ""
	if e.Field != "" {
		at = "/" + strings.ReplaceAll(e.Field, ".", "/")
	}
	return tool.Invalid(at, "%s does not fit %v", e.Value, e.Type)
}
