package strictjson

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// IsCompact reports whether raw is a value as encoding/json writes a json.RawMessage: without spaces, and
// with the escapes of HTML.
func IsCompact(raw []byte) bool {
	if !jsontext.Value(raw).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return false
	}
	quoted := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case '"':
			quoted = !quoted
		case '\\':
			i++
		case ' ', '\t', '\n', '\r':
			if !quoted {
				return false
			}
		case '<', '>', '&':
			return false
		case 0xe2:
			if bytes.HasPrefix(raw[i:], []byte("\u2028")) || bytes.HasPrefix(raw[i:], []byte("\u2029")) {
				return false
			}
		}
	}
	return true
}
