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

// EscapePointer escapes token for a JSON Pointer.
func EscapePointer(token string) string {
	if !strings.ContainsAny(token, "~/") {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}
