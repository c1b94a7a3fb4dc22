package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// sureFlag gives c the flag that stands for the person's confirmation. Without it, c does
// nothing unless a person is at the terminal.
func (p *program) sureFlag(c *cobra.Command) *bool {
	sure := c.Flags().Bool("yes", false, "Do not ask on the terminal.")
	c.PreRunE = func(*cobra.Command, []string) error {
		if *sure {
			return nil
		}
		return p.needsPerson("add --yes")
	}
	return sure
}

// person reports whether a person is at the terminal.
func (p *program) person() bool {
	in, ok := p.stdin.(io.Writer) // a file, as a terminal is
	return ok && terminal(in) && terminal(p.stderr)
}

// needsPerson returns the error of a command that asks, if no person is at the terminal. or is
// the alternative that the error offers.
func (p *program) needsPerson(or string) error {
	if p.person() {
		return nil
	}
	return &exitError{exitRefused, "nothing was done: it has to be confirmed, and there is no terminal to ask on; run the command in a terminal, or " + or}
}

// confirm asks the person at the terminal, and returns an error unless they write yes.
func (p *program) confirm(ctx context.Context, question string) error {
	k := &keyboard{from: p.stdin, to: p.stderr}
	for {
		line, err := k.ask(ctx, question+" [y/N]")
		switch {
		case errors.Is(err, io.EOF):
			return &exitError{exitRefused, "nothing was done: standard input ended without an answer"}
		case err != nil && ctx.Err() != nil:
			return &exitError{exitRefused, "nothing was done: the command was interrupted"}
		case err != nil:
			return err
		}
		switch strings.ToLower(line) {
		case "y", "yes":
			return nil
		case "", "n", "no":
			return &exitError{exitRefused, "nothing was done"}
		}
		if _, err := fmt.Fprintln(p.stderr, "Write y or n; an empty line is no."); err != nil {
			return err
		}
	}
}
