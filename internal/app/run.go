package app

import (
	"context"
	"errors"
	"fmt"
	"io"

	a2aserver "a2a-server"
	"a2a-server/internal/app/config"
	"a2a-server/internal/app/toolcall"
	"a2a-server/internal/visible"
)

// The exit codes.
const (
	exitOK      = 0
	exitFailure = 1 // something went wrong while it ran
	exitUsage   = 2 // the command line or the configuration is wrong
	exitRefused = 3 // a call was not approved, or a change was not confirmed
	exitUnknown = 4 // it is not known whether a change was made

	exitTimeout  = 5  // 'approvals wait' has waited for as long as it was told to
	exitConflict = 6  // an approval was decided otherwise before
	exitRejected = 10 // 'approvals wait': it was rejected
	exitExpired  = 11 // 'approvals wait': its deadline has passed
	exitCanceled = 12 // 'approvals wait': it was canceled, or replaced by another
)

// program is a run of the program, with its environment and output.
type program struct {
	env            []string // NAME=value
	stdin          io.Reader
	stdout, stderr io.Writer
	desk           *desk // of a conversation with an agent; nil: there is none
}

// note prints a line on stderr.
func (p *program) note(text string) {
	if p.desk != nil {
		p.desk.note(text)
		return
	}
	_, _ = fmt.Fprintln(p.stderr, text) // nothing depends on it
}

// exitError is an error with an exit code of its own.
type exitError struct {
	code    int
	problem string
}

// Error returns the problem.
func (e *exitError) Error() string { return e.problem }

// usage returns the error of an invalid command line, with where to read about valid usage.
func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Sprintf(format, args...) + "\nTry 'a2a-server help'."}
}

// codeOf returns the exit code of an error.
func codeOf(err error) int {
	if exit, is := errors.AsType[*exitError](err); is {
		return exit.code
	}
	_, wrong := errors.AsType[*config.Error](err)
	_, call := errors.AsType[*toolcall.Error](err)
	if wrong || call || errors.Is(err, a2aserver.ErrConfig) {
		return exitUsage
	}
	return exitFailure
}

// Run runs the command line args, without the program's name, and returns the exit
// code. env is the environment, NAME=value.
func Run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{env: env, stdin: stdin, stdout: stdout, stderr: stderr}
	root := p.commands()                      //nolint:contextcheck // cobra hands the context on
	root.SetArgs(append([]string{}, args...)) // nil would mean the arguments of the process
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	code := codeOf(err)
	if wrong, is := errors.AsType[*config.Error](err); is {
		err = fmt.Errorf("the configuration is invalid:\n%w", wrong)
	}
	_, _ = fmt.Fprintf(stderr, "a2a-server: %s\n", visible.Text(err.Error())) // if stderr fails, there is nowhere else to write
	return code
}
