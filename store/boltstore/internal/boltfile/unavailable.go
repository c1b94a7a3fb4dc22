package boltfile

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"a2a-server/store"
)

// UnavailableError says that nothing of a round was written, and why. It is a
// store.ErrUnavailable.
type UnavailableError struct{ Cause error }

// Error names the cause and what the operator can expect.
func (e *UnavailableError) Error() string {
	why := "the disk cannot be written"
	switch {
	case e.was(syscall.ENOSPC):
		why = "the disk is full"
	case e.was(syscall.EDQUOT):
		why = "the quota of the disk is used up"
	case e.was(syscall.EFBIG):
		why = "the file has reached its size limit"
	case e.was(syscall.EROFS):
		why = "the disk is mounted read-only"
	}
	return fmt.Sprintf("%s: nothing was written; the server continues when that is fixed (%v)", why, e.Cause)
}

// was reports whether no is the cause. When the file cannot grow, bbolt passes on only the
// text of the system's error.
func (e *UnavailableError) was(no syscall.Errno) bool {
	return errors.Is(e.Cause, no) || strings.HasSuffix(e.Cause.Error(), ": "+no.Error())
}

// Unwrap returns the cause, and that the error is a store.ErrUnavailable.
func (e *UnavailableError) Unwrap() []error { return []error{store.ErrUnavailable, e.Cause} }

// SlowError is the store.ErrUnavailable of a disk that is slow but has refused nothing. Its
// text begins with the cause.
type SlowError string

// Error returns the text.
func (e SlowError) Error() string { return string(e) }

// Unwrap makes every SlowError a store.ErrUnavailable.
func (SlowError) Unwrap() error { return store.ErrUnavailable }
