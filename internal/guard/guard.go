// Package guard turns the panics of code from elsewhere into errors: of tools, of programs that embed
// the server, of libraries.
package guard

import "fmt"

// Error is a panic.
type Error struct{ text string }

// Error returns what panicked, and the value as fmt shows it, whose methods may panic, too.
func (e *Error) Error() string { return e.text }

// Recover is deferred around code from elsewhere. A panic becomes *err, an [*Error] that begins with
// a text.
func Recover(err *error, text string) {
	if p := recover(); p != nil {
		*err = &Error{fmt.Sprintf("%s: %v", text, p)}
	}
}

// Call returns the result of f, or its panic as an error.
func Call[T any](f func() (T, error)) (v T, err error) {
	defer Recover(&err, "panic")
	return f()
}
