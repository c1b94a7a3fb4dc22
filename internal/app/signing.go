package app

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/internal/app/cli"
	"a2a-server/internal/app/ownkeys"
	"a2a-server/internal/suggest"
	"a2a-server/internal/visible"
)

func signingRotate(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use: "rotate", Short: "make new signing and sealing keys; the old keys are accepted for a day or longer",
		Long: "The keys are in the folder keys of the data folder. A running server takes the new ones\nwithin seconds.\n",
	}
	var purposes []string
	c.Flags().StringSliceVar(&purposes, "purpose", nil, "Purpose of the new key: `"+strings.Join(ownkeys.Purposes(), " or ")+"`. Defaults to everything.")
	cli.Complete(c, "purpose", ownkeys.Purposes()...)
	given := cli.ConfigFlags(c)
	c.RunE = func(*cobra.Command, []string) error {
		all := ownkeys.Purposes()
		for _, purpose := range purposes {
			if !slices.Contains(all, purpose) {
				return cli.Usage("signing rotate: there are no keys for %s%s; known are %s", visible.Quote(purpose, 60), suggest.DidYouMean(purpose, "", all), strings.Join(all, ", "))
			}
		}
		if len(purposes) == 0 {
			purposes = all
		}
		conf, err := p.Load(given)
		if err != nil {
			return err
		}
		for _, purpose := range purposes {
			until, err := ownkeys.Rotate(conf, purpose, time.Now())
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(p.Stdout, "%s: a new key is in use; values from the old key are accepted until %s\n", purpose, until.Format(time.RFC3339)); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}
