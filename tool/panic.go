package tool

import "fmt"

// recovered is deferred around code that was handed in: it turns its panic into
// *err. The message names the culprit; a stack would tell a person no more.
func recovered(err *error, format string, args ...any) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s panicked: %v", fmt.Sprintf(format, args...), p)
	}
}
