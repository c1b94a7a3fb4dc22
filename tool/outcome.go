package tool

import "errors"

// ErrOutcomeUnknown means that it is unknown whether a call had its effect: the request was
// sent, and no answer came back. A tool wraps it whenever it cannot prove that nothing was
// sent. The call is then not failed but unknown, and a person who reads the text of the error
// decides about it; if the tool declares that it is read-only or idempotent, the call fails as
// after a timeout. See [AnnotationsOf].
//
// The outcome of a call that was canceled while it ran, or whose time is over, is unknown unless the
// call returns a result or [ErrNoEffect].
var ErrOutcomeUnknown = errors.New("it is unknown whether the call had its effect")

// ErrNoEffect means that a call has had no effect and will have none. A tool that was told to
// stop wraps it when it can prove that; the call is then canceled or failed, not unknown.
var ErrNoEffect = errors.New("the call had no effect")
