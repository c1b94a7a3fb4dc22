// Package notifications is the command notifications: list the messages of routes that a running
// server has not sent.
package notifications

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/display"
	"a2a-server/cmd/a2a-server/internal/remote"
	"a2a-server/internal/lists"
)

// Command returns the command notifications.
func Command(p *cli.Program) *cobra.Command {
	return cli.Group("notifications", "list the messages about approvals that a running server has not sent", list(p))
}

// listJSON is the output of 'notifications list -o json'.
type listJSON struct {
	Notifications []client.Notification `json:"notifications"`
	More          bool                  `json:"more,omitempty"`  // not all are listed
	Reach         *client.Reach         `json:"reach,omitempty"` // which the caller may see
}

func list(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{
		Use: "list", Short: "list messages of the tenant that wait, are tried again, or have failed",
		Long: "A message has failed when its receiver refuses it, or does not accept it for a day. It is kept\nfor 30 days, and not sent again.\n",
	}, "", true /* prints */)
	var q client.NotificationQuery
	c.Flags().StringVar(&q.State, "state", "", "Only messages in this `state`: waiting, retrying, failed or damaged.")
	c.Flags().StringVar(&q.Route, "route", "", "Only messages of the route with this `name`.")
	limit := cli.LimitFlag(c.Command)
	return c.Do(func(ctx context.Context, s *remote.Server, _ []string) error {
		all, err := cli.Collect(*limit, func(all *cli.Listed[client.Notification], limit int, cursor string) (string, error) {
			q.Limit, q.Cursor = limit, cursor
			page, err := s.Notifications(ctx, q)
			all.Items, all.Reach = append(all.Items, page.Items...), page.Reach
			return page.Next, s.Explain(err)
		})
		if err != nil {
			return err
		}
		return p.List(*c.As, listJSON{all.Items, all.More, all.Reach}, lines(all.Items, time.Now()), "there are no such messages", all.More, all.Reach)
	})
}

// lines returns messages as lines for [display.Table].
func lines(all []client.Notification, now time.Time) []string {
	name := remote.ShortIDs(lists.Map(all, func(n client.Notification) string { return n.Approval }))
	lines := []string{"ROUTE\tEVENT\tAPPROVAL\tSTATE\tAT\tTRIES\tNEXT\tERROR"}
	for i := range all {
		n := &all[i]
		event := n.Event
		if n.Count > 0 {
			event = fmt.Sprintf("%s of %d", event, n.Count)
		}
		lines = append(lines, display.Row(n.Route, event, name(n.Approval), n.State, display.Ago(n.At, now), strconv.Itoa(n.Tries), display.Ago(n.Next, now), n.Error))
	}
	return lines
}
