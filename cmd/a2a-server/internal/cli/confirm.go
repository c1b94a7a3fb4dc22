package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"a2a-server/internal/terminal"
	"a2a-server/internal/visible"
)

// SureFlag gives c the flag that stands for the person's confirmation. Without it, c does
// nothing unless a person is at the terminal.
func (p *Program) SureFlag(c *cobra.Command) *bool {
	sure := c.Flags().Bool("yes", false, "Do not ask on the terminal.")
	c.PreRunE = func(*cobra.Command, []string) error {
		if *sure || p.Person() {
			return nil
		}
		return Exit(ExitRefused, "nothing was done: it has to be confirmed, and there is no terminal to ask on; run the command in a terminal, or add --yes")
	}
	return sure
}

// Person reports whether a person is at the terminal.
func (p *Program) Person() bool {
	in, ok := p.Stdin.(io.Writer) // a file, as a terminal is
	return ok && terminal.Is(in) && terminal.Is(p.Stderr)
}

// Confirm shows a text to the person at the terminal, and returns an error unless they confirm
// that the subject does what the question says.
func (p *Program) Confirm(ctx context.Context, text, question, subject string) error {
	if _, err := io.WriteString(p.Stderr, text); err != nil {
		return err
	}
	k := &terminal.Keyboard{From: p.Stdin, To: p.Stderr}
	for {
		line, err := Ask(ctx, k, question+", as "+visible.Line(subject)+"? [y/N]")
		if err != nil {
			return err
		}
		switch strings.ToLower(line) {
		case "y", "yes":
			return nil
		case "", "n", "no":
			return Exit(ExitRefused, "nothing was done")
		}
		if _, err := fmt.Fprintln(p.Stderr, "Write y or n; an empty line is no."); err != nil {
			return err
		}
	}
}

// Ask returns the line that the person writes after a prompt. Without a line, the error ends the command.
func Ask(ctx context.Context, k *terminal.Keyboard, prompt string) (string, error) {
	line, err := k.Ask(ctx, prompt)
	switch {
	case errors.Is(err, io.EOF):
		return "", Exit(ExitRefused, "nothing was done: standard input ended without an answer")
	case err != nil && ctx.Err() != nil:
		return "", Exit(ExitRefused, "nothing was done: the command was interrupted")
	}
	return line, err
}
