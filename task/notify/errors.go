package notify

import (
	"errors"
	"time"
)

// ErrPermanent is wrapped by the error of a message that no further attempt can deliver.
var ErrPermanent = errors.New("not tried again")

// A DelayError is a temporary failure after which the receiver named a time to wait.
type DelayError struct {
	Err   error
	After time.Duration
}

// Error returns the text of the failure.
func (e *DelayError) Error() string { return e.Err.Error() }

// Unwrap returns the failure.
func (e *DelayError) Unwrap() error { return e.Err }
