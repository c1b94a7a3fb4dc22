// Package debug is the commands debug and log: profiles of a running server, and the level of its
// log.
package debug

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/remote"
	"a2a-server/internal/debugapi"
	"a2a-server/internal/suggest"
)

// Command returns the command debug.
func Command(p *cli.Program) *cobra.Command {
	return cli.Group("debug", "look into a running server", pprof(p))
}

// LogCommand returns the command log.
func LogCommand(p *cli.Program) *cobra.Command {
	return cli.Group("log", "change the log of a running server", level(p))
}

func pprof(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{
		Use: "pprof heap|goroutine|profile", Short: "write a profile of a running server to a file",
		Long: "It needs the role admin at the admin socket or, without auth.socket, the server's own user.\n'go tool pprof FILE' shows the file.\n",
	}, "", false /* prints */)
	file := c.Flags().String("file", "", "The new `file`. Defaults to NAME.pb.gz.")
	seconds := c.Flags().Int("seconds", 10, "How `long` profile, of the processor, takes: 1 to 60.")
	c.Args = word("the name of a profile", debugapi.Profiles())
	return c.Do(func(ctx context.Context, s *remote.Server, args []string) error {
		path := *file
		if path == "" {
			path = args[0] + ".pb.gz"
		}
		to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		switch {
		case errors.Is(err, fs.ErrExist):
			return fmt.Errorf("%s exists: name a new file with --file", path)
		case err != nil:
			return fmt.Errorf("create the file of the profile: %w", err)
		}
		profile, err := s.OnSocket(ctx, http.MethodGet, debugapi.ProfilePath+args[0]+"?seconds="+strconv.Itoa(*seconds))
		if err == nil {
			_, err = to.Write(profile)
		}
		if err = errors.Join(err, to.Close()); err != nil {
			return errors.Join(err, os.Remove(path))
		}
		return p.Printf("%s\n", path)
	})
}

func level(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{
		Use: "level debug|info|warn|error", Short: "set the level of the log of a running server until the next reload",
		Long: "It needs the role admin at the admin socket or, without auth.socket, the server's own user.\nA reload sets log.level of the configuration again.\n",
	}, "", false /* prints */)
	c.Args = word("a level", debugapi.Levels())
	return c.Do(func(ctx context.Context, s *remote.Server, args []string) error {
		if _, err := s.OnSocket(ctx, http.MethodPost, debugapi.LevelPath+args[0]); err != nil {
			return err
		}
		return p.Printf("the level of the log is %s until the next reload\n", args[0])
	})
}

// word refuses arguments that are not a single word of a list.
func word(what string, of []string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) != 1:
			return cli.Usage("%s takes %s: %s", cli.Within(c), what, strings.Join(of, ", "))
		case !slices.Contains(of, args[0]):
			return cli.Usage("%s: %q is not %s%s", cli.Within(c), args[0], what, suggest.DidYouMean(args[0], "", of))
		}
		return nil
	}
}
