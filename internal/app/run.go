package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	a2aserver "a2a-server"
	"a2a-server/internal/app/config"
)

// What the program exits with.
const (
	exitOK      = 0
	exitFailure = 1 // something went wrong while it ran
	exitUsage   = 2 // the command line or the configuration is wrong
)

// program is one run of the program, with what it sees of the world around.
type program struct {
	env            []string // NAME=value
	stdout, stderr io.Writer
}

// command is something that the program can be told to do.
type command struct {
	name    string // one or two words
	meaning string
	flags   bool // takes those of the configuration
	run     func(p *program, ctx context.Context, given *flags) error
}

func commands() []command {
	return []command{
		{"serve", "serve until SIGINT or SIGTERM; a second one ends it at once", true, (*program).serve},
		{"config check", "say all that is wrong with the configuration", true, (*program).configCheck},
		{"config show", "write the whole configuration and where each value is from", true, (*program).configShow},
		{"version", "write the version", false, (*program).version},
	}
}

// usageError is a command line that makes no sense.
type usageError struct{ problem string }

// Error returns what is wrong, and where to read how it is right.
func (e *usageError) Error() string {
	return e.problem + "\nTry 'a2a-server help'."
}

// Run does what args, which do not begin with the program's name, say, and returns what
// to exit with. env is the environment, NAME=value.
func Run(ctx context.Context, args, env []string, stdout, stderr io.Writer) int {
	p := &program{env: env, stdout: stdout, stderr: stderr}
	err := p.dispatch(ctx, args)
	var usage *usageError
	var wrong *config.Error
	code := exitFailure
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &wrong):
		err = fmt.Errorf("the configuration is wrong:\n%w", wrong)
		code = exitUsage
	case errors.As(err, &usage), errors.Is(err, a2aserver.ErrConfig):
		code = exitUsage
	}
	_, _ = fmt.Fprintf(stderr, "a2a-server: %v\n", err) // there is no other place to say it
	return code
}

func (p *program) dispatch(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return &usageError{"it has to be told what to do, such as 'a2a-server serve'"}
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		return p.help(args[1:])
	case "-version", "--version":
		args = append([]string{"version"}, args[1:]...)
	}
	for _, c := range commands() {
		words := strings.Fields(c.name)
		if len(args) < len(words) || strings.Join(args[:len(words)], " ") != c.name {
			continue
		}
		given, err := parseFlags(c, args[len(words):])
		if errors.Is(err, flag.ErrHelp) {
			return p.help(words)
		}
		if err != nil {
			return err
		}
		return c.run(p, ctx, given)
	}
	if args[0] == "config" {
		return &usageError{"config takes 'check' or 'show'"}
	}
	return &usageError{fmt.Sprintf("there is no command %q", args[0])}
}
