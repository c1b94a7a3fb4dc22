package strictjson

import "strings"

// Error says why JSON was refused, and where.
type Error struct {
	// Pointer is the JSON Pointer (RFC 6901) of the value; "" is the whole value.
	Pointer string
	// Reason is the fault, as a phrase to follow "at <pointer>:".
	Reason string
	// Syntax is true if it is not JSON, and false if it is JSON that is refused.
	Syntax bool
}

// Error implements error.
func (e *Error) Error() string {
	if e.Pointer == "" {
		return "invalid JSON: " + e.Reason
	}
	return "invalid JSON at " + e.Pointer + ": " + e.Reason
}

// below returns e with token added in front of its pointer. Pointers are built only while
// an error is returned, so that valid input costs nothing.
func (e *Error) below(token string) *Error {
	e.Pointer = "/" + EscapePointer(token) + e.Pointer
	return e
}

// EscapePointer escapes token for a JSON Pointer.
func EscapePointer(token string) string {
	if !strings.ContainsAny(token, "~/") {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}
