package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/internal/visible"
)

// The exit codes. [ExitCodes] has their meanings.
const (
	ExitOK      = 0
	ExitFailure = 1
	ExitUsage   = 2
	ExitRefused = 3
	ExitUnknown = 4

	ExitTimeout  = 5
	ExitConflict = 6
	ExitCall     = 7
	ExitNoTask   = 8
	ExitRejected = 10
	ExitExpired  = 11
	ExitCanceled = 12
)

// exitMeanings are the exit codes and their meanings, for the help and docs/admin.md.
var exitMeanings = [...]struct {
	code    int
	meaning string
}{
	{ExitOK, "done: the call has run, the task has completed, or it was decided"},
	{ExitFailure, "failed, as the message says; send: the task has ended otherwise"},
	{ExitUsage, "the command line, the configuration or (serve) the store is not valid"},
	{ExitRefused, "not approved or not confirmed: the answer is no, or there is no terminal"},
	{ExitUnknown, "it is not known whether a change was made, or whether the call has run"},
	{ExitTimeout, "not ended yet: the call, the task (Ctrl-C), or the approval (wait)"},
	{ExitConflict, "the approval was decided otherwise before"},
	{ExitCall, "the approved call has failed"},
	{ExitNoTask, "send: the agent answered without a task, so no tool ran"},
	{ExitRejected, "wait: rejected"},
	{ExitExpired, "wait: the deadline has passed"},
	{ExitCanceled, "wait: canceled, or replaced by another approval"},
}

// ExitCodes returns a text with a line for each exit code, in the layout of a format such as "%d %s\n". Without codes
// it has all.
func ExitCodes(format string, codes ...int) string {
	var b strings.Builder
	for _, m := range exitMeanings {
		if len(codes) == 0 || slices.Contains(codes, m.code) {
			fmt.Fprintf(&b, format, m.code, m.meaning)
		}
	}
	return b.String()
}

// exitError is an error with an exit code of its own.
type exitError struct {
	code        int
	problem     string
	commandLine bool // the help of the command has the next step
}

// Error returns the problem.
func (e *exitError) Error() string { return e.problem }

// Exit returns an error with an exit code of its own.
func Exit(code int, problem string) error { return &exitError{code: code, problem: problem} }

// Usage returns the error of an invalid command line. [HelpLine] says where to read about valid usage.
func Usage(format string, args ...any) error {
	return &exitError{ExitUsage, fmt.Sprintf(format, args...), true}
}

// HelpLine returns the line after an error of c that names its help; "": the command line is valid.
func HelpLine(c *cobra.Command, err error) string {
	exit, is := errors.AsType[*exitError](err)
	if !is || !exit.commandLine {
		return ""
	}
	line := "a2a-server help"
	if c.HasParent() && c.Name() != "help" {
		line += " " + Within(c)
	}
	return "Try '" + line + "'.\n"
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

// Again returns another command line for the server or the configuration of c: with the flags that name it, as given.
func Again(c *cobra.Command, words ...string) string {
	return CommandLine(append(words, ServerFlags(c)...)...)
}

// ServerFlags returns the flags that name the server or the configuration of c, as given.
func ServerFlags(c *cobra.Command) []string {
	return Given(c, "url", "socket", "context", "config", "data", "anonymous")
}

// Given returns the flags with these names that the command line of c sets, as its words.
func Given(c *cobra.Command, names ...string) (words []string) {
	for _, name := range names {
		f := c.Flags().Lookup(name)
		switch {
		case f == nil, !f.Changed, f.Value.String() == "":
		case f.Value.Type() != "bool":
			words = append(words, "--"+name, f.Value.String())
		case f.Value.String() == "true":
			words = append(words, "--"+name)
		}
	}
	return words
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
