// Package storecmd is the command store: backups of the store, stores made from them, when these continue,
// and the release of a store that is moved.
package storecmd

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/config"
)

// Command returns the command store.
func Command(p *cli.Program) *cobra.Command {
	return cli.Group("store", "back up, restore and move the store", backup(p), restore(p), resume(p), release(p))
}

// storeOf is the store of a server on this machine that a command names.
type storeOf struct {
	data  string
	given *cli.Flags
}

func storeFlags(c *cobra.Command) *storeOf {
	s := &storeOf{given: &cli.Flags{}}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&s.data, "data", "", "The data `folder` of the server. Defaults to the one in its configuration.")
	cli.FileFlag(c, s.given)
	return s
}

// find returns the configuration and the path of the store's file.
func (s *storeOf) find(p *cli.Program) (c *config.Config, path string, err error) {
	if c, err = p.Load(s.given); err != nil {
		return nil, "", err
	}
	if s.data != "" {
		c.Data = s.data
		if s.given.File == "" {
			c.Store, c.Admin.Socket = "bolt", "" // of another server
		}
	}
	kind, path := c.StoreFile()
	if kind != "bolt" {
		return nil, "", cli.Usage("the configured store is %s, which has no file", c.Store)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, "", fmt.Errorf("find the store: %w", err)
	}
	return c, path, nil
}
