// Package cli is the base of all commands: the streams and the environment of the program, exit
// codes, flags, output as text or JSON, and confirmation by the person. It knows no command, and not
// how a server is put together.
package cli

import (
	"fmt"
	"io"

	"a2a-server/cmd/a2a-server/internal/config"
)

// Program is a run of the program, with its environment and output.
type Program struct {
	Env            []string // NAME=value
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Notes          func(text string) // prints a note; nil: Note prints it on Stderr
}

// Note prints a line for the person.
func (p *Program) Note(text string) {
	if p.Notes != nil {
		p.Notes(text)
		return
	}
	_, _ = fmt.Fprintln(p.Stderr, text) // nothing depends on it
}

// Variable returns the value of an environment variable; "": it is not set.
func (p *Program) Variable(name string) string {
	value, _ := config.Lookup(p.Env, name)
	return value
}

// Printf prints to the standard output, as in package fmt.
func (p *Program) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(p.Stdout, format, args...)
	return err
}
