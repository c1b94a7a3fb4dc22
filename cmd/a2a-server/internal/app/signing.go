package app

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	a2aserver "a2a-server"

	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/internal/keyring"
	"a2a-server/internal/lists"
	"a2a-server/internal/suggest"
	"a2a-server/internal/visible"
)

func signingRotate(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use: "rotate", Short: "make new signing and sealing keys; the old keys are accepted for a day or longer",
		Long: "The keys are in the folder keys of the data folder. A running server takes the new ones\nwithin seconds.\n",
	}
	all := lists.Map(keyring.Purposes(), func(p keyring.Purpose) string { return string(p) })
	var purposes []string
	c.Flags().StringSliceVar(&purposes, "purpose", nil, "Purpose of the new key: `"+strings.Join(all, " or ")+"`. Defaults to everything.")
	cli.Complete(c, "purpose", all...)
	given := cli.ConfigFlags(c)
	c.RunE = func(*cobra.Command, []string) error {
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
		folder := conf.KeysFolder()
		if folder == "" {
			return fmt.Errorf("%w: the store is not a file, so that the server's own keys are in memory: a restart makes new ones", a2aserver.ErrConfig)
		}
		for _, purpose := range purposes {
			until, err := keyring.Rotate(folder, keyring.Purpose(purpose), time.Now())
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("there is no key for %s in %s yet: the server makes it when it starts", purpose, folder)
			}
			if err != nil {
				return fmt.Errorf("make a new key for %s: %w", purpose, err)
			}
			if err := p.Printf("%s: a new key is in use; values from the old key are accepted until %s\n", purpose, until.Format(time.RFC3339)); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}
