package tool

import "fmt"

// recovered is deferred around code that the caller supplied: it turns a panic of that code
// into *err. The message names the code by the parameters what and, unless empty, name; a
// stack trace would not help the reader.
func recovered(err *error, what, name string) {
	p := recover()
	switch {
	case p == nil:
	case name == "":
		*err = fmt.Errorf("%s panicked: %v", what, p)
	default:
		*err = fmt.Errorf("%s %q panicked: %v", what, name, p)
	}
}
