package app

import (
	"context"
	"errors"
	"fmt"
	"io"

	a2aserver "a2a-server"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/internal/visible"
)

// Run runs the command line args, without the program's name, and returns the exit
// code. env is the environment, NAME=value.
func Run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &cli.Program{Env: env, Stdin: stdin, Stdout: stdout, Stderr: stderr}
	root := commands(p)                       //nolint:contextcheck // cobra hands the context on
	root.SetArgs(append([]string{}, args...)) // nil would mean the arguments of the process
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return cli.ExitOK
	}
	code := cli.CodeOf(err)
	if _, call := errors.AsType[usageError](err); call || errors.Is(err, a2aserver.ErrConfig) {
		code = cli.ExitUsage
	}
	if wrong, is := errors.AsType[*config.Error](err); is {
		err = fmt.Errorf("the configuration is invalid:\n%w", wrong)
	}
	_, _ = fmt.Fprintf(stderr, "a2a-server: %s\n%s", visible.Text(err.Error()), cli.HelpLine(command, err)) // if stderr fails, there is nowhere else to write
	return code
}
