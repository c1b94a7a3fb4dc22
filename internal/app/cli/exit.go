package cli

import (
	"errors"
	"fmt"
	"strings"

	"a2a-server/internal/app/config"
	"a2a-server/internal/visible"
)

// The exit codes.
const (
	ExitOK      = 0
	ExitFailure = 1 // something went wrong while it ran
	ExitUsage   = 2 // the command line or the configuration is wrong
	ExitRefused = 3 // a call was not approved, or a change was not confirmed
	ExitUnknown = 4 // it is not known whether a change was made

	ExitTimeout  = 5  // 'approvals wait' has waited for as long as it was told to; 'approvals approve': the call has not ended
	ExitConflict = 6  // an approval was decided otherwise before
	ExitCall     = 7  // 'approvals approve': the approved call has failed
	ExitNoTask   = 8  // 'send': the agent answered without a task
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

// CommandLine returns a command of the program as a POSIX shell reads it.
func CommandLine(words ...string) string {
	line := "a2a-server"
	for _, word := range words {
		if word == "" || strings.ContainsFunc(word, needsQuotes) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		line += " " + visible.Line(word)
	}
	return line
}

// needsQuotes reports whether a character needs quotes in a shell.
func needsQuotes(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_./:=,@%+", r)
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
