package cli

import (
	"errors"
	"fmt"

	"a2a-server/internal/app/config"
)

// The exit codes.
const (
	ExitOK      = 0
	ExitFailure = 1 // something went wrong while it ran
	ExitUsage   = 2 // the command line or the configuration is wrong
	ExitRefused = 3 // a call was not approved, or a change was not confirmed
	ExitUnknown = 4 // it is not known whether a change was made

	ExitTimeout  = 5  // 'approvals wait' has waited for as long as it was told to
	ExitConflict = 6  // an approval was decided otherwise before
	ExitRejected = 10 // 'approvals wait': it was rejected
	ExitExpired  = 11 // 'approvals wait': its deadline has passed
	ExitCanceled = 12 // 'approvals wait': it was canceled, or replaced by another
)

// exitError is an error with an exit code of its own.
type exitError struct {
	code    int
	problem string
}

// Error returns the problem.
func (e *exitError) Error() string { return e.problem }

// Exit returns an error with an exit code of its own.
func Exit(code int, problem string) error { return &exitError{code, problem} }

// Usage returns the error of an invalid command line, with where to read about valid usage.
func Usage(format string, args ...any) error {
	return Exit(ExitUsage, fmt.Sprintf(format, args...)+"\nTry 'a2a-server help'.")
}

// CodeOf returns the exit code of an error.
func CodeOf(err error) int {
	if exit, is := errors.AsType[*exitError](err); is {
		return exit.code
	}
	if _, wrong := errors.AsType[*config.Error](err); wrong {
		return ExitUsage
	}
	return ExitFailure
}
