package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/remote"
	"a2a-server/internal/debugapi"
	"a2a-server/internal/visible"
)

func reloadCommand(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{
		Use: "reload", Short: "let a running server read its configuration again, as SIGHUP does",
		Long: "It needs the role admin at the admin socket or, without auth.socket, the server's own user.\nIf the configuration has an error, it stays as it was, and the command prints the error and fails.\nWarnings about the new configuration are printed, too.\n",
	}, "", false /* prints */)
	return c.Do(func(ctx context.Context, s *remote.Server, _ []string) error {
		body, err := s.OnSocket(ctx, http.MethodPost, debugapi.ReloadPath)
		if err != nil {
			return err
		}
		var answer debugapi.Reloaded
		if err := json.Unmarshal(body, &answer); err != nil {
			return fmt.Errorf("read the answer of the server: %w", err)
		}
		text := "the configuration was reloaded"
		if len(answer.Restart) > 0 {
			text += "; these keys need a restart: " + strings.Join(answer.Restart, " ")
		}
		for _, warning := range answer.Warnings {
			text += "\nwarning: " + visible.Line(warning)
		}
		return p.Printf("%s\n", text)
	})
}
