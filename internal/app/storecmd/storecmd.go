// Package storecmd is the command store: what an operator does with the store of a server.
package storecmd

import (
	"github.com/spf13/cobra"

	"a2a-server/internal/app/cli"
)

// Command returns the command store.
func Command(p *cli.Program) *cobra.Command {
	return cli.Group("store", "let a restored store continue", resume(p))
}
