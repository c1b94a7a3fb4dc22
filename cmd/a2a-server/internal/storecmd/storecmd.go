// Package storecmd is the command store: backups of the store, stores made from them, when these continue,
// and the release of a store that is moved.
package storecmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/cmd/a2a-server/internal/remote"
	"a2a-server/internal/debugapi"
	"a2a-server/store/boltstore"
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

func resume(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{
		Use: "resume", Short: "let a server on a restored store continue its planner, timers and webhooks",
		Long: "It needs the role admin at the admin socket or, without auth.socket, the server's own user.\nDecide about the calls that may have run after the backup first: 'a2a-server approvals list'.\n",
	}, "", false /* prints */)
	return c.Do(func(ctx context.Context, s *remote.Server, _ []string) error {
		body, err := s.OnSocket(ctx, http.MethodPost, debugapi.ResumePath)
		if err != nil {
			return err
		}
		var answer debugapi.Resumed
		if err := json.Unmarshal(body, &answer); err != nil {
			return fmt.Errorf("read the answer of the server: %w", err)
		}
		text := fmt.Sprintf("The store that was restored from a backup of %s continues.", answer.Moment.Format(time.RFC3339))
		if !answer.Held {
			text = "The store does not wait to be resumed."
		}
		return p.Printf("%s\n", text)
	})
}
