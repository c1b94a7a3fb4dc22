package tool

import "fmt"

// recovered is deferred around code that the caller supplied: it turns a panic of that
// code into *err. The message names the culprit; a stack trace would not help the reader.
func recovered(err *error, format string, args ...any) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s panicked: %v", fmt.Sprintf(format, args...), p)
	}
}
