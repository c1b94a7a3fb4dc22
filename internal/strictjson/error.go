package strictjson

import "strings"

// Error says why JSON was refused, and where.
type Error struct {
	// Pointer is the JSON Pointer (RFC 6901) of the place; "" is the whole.
	Pointer string
	// Reason says what is wrong there, in words that follow "at <pointer>:".
	Reason string
	// Syntax says that it is no JSON at all; else it is JSON that is refused.
	Syntax bool
}

// Error implements error.
func (e *Error) Error() string {
	if e.Pointer == "" {
		return "invalid JSON: " + e.Reason
	}
	return "invalid JSON at " + e.Pointer + ": " + e.Reason
}

// below returns e with its pointer moved below token. Pointers are put together on
// the way out of an error alone, so that they cost nothing while all goes well.
func (e *Error) below(token string) *Error {
	e.Pointer = "/" + EscapePointer(token) + e.Pointer
	return e
}

// EscapePointer returns token as it stands between the slashes of a JSON Pointer.
func EscapePointer(token string) string {
	if !strings.ContainsAny(token, "~/") {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}
