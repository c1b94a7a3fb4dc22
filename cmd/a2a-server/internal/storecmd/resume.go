package storecmd

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/remote"
	"a2a-server/internal/debugapi"
)

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
