package tool

import "errors"

// ErrOutcomeUnknown means that it is unknown whether a call had its effect: the request
// was sent, and no answer came back. A tool wraps it whenever it cannot prove that
// nothing was sent. The call is then not failed but unknown, and a person decides what
// becomes of it, who reads the text of the error; if the tool declares that it is
// read-only or idempotent, the call fails as after a timeout. See [AnnotationsOf].
var ErrOutcomeUnknown = errors.New("it is unknown whether the call had its effect")
