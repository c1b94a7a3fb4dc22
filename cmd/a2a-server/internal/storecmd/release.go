package storecmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/store/boltstore"
)

func release(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use: "release", Short: "let the store of a stopped server be moved: a copy of it starts, it does not",
		Long: `A copy of a store is refused, because what it takes for undecided may have run since. After
release the store does not start where it is any more, and a copy of its data folder does.

Start one copy only: two copies of a released store do not notice each other, and would run
approved calls twice.
`,
	}
	named := storeFlags(c)
	c.RunE = func(*cobra.Command, []string) error {
		conf, path, err := named.find(p)
		if err != nil {
			return err
		}
		if err := boltstore.Release(path); errors.Is(err, boltstore.ErrInUse) {
			return fmt.Errorf("a server uses %s: stop it, then release the store", path)
		} else if err != nil {
			return fmt.Errorf("release the store: %w", err)
		}
		return p.Printf("%s is released: copy %s, start the server on the copy, and never on two copies\n", path, conf.Data)
	}
	return c
}
