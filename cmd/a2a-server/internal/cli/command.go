package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
)

// Group is a command that only has subcommands.
func Group(use, short string, all ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short}
	c.AddCommand(all...)
	return c
}

// Configured is a command that takes the flags of the configuration.
func Configured(name, short string, run func(context.Context, *Flags) error) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short}
	given := ConfigFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error { return run(c.Context(), given) }
	return c
}

// TakesPairs is the annotation of a command with arguments of the form key=value.
const TakesPairs = "takes pairs"

// Within returns the name of c below the program's.
func Within(c *cobra.Command) string {
	return strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
}
