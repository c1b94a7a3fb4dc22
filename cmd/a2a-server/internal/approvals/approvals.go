// Package approvals is the command approvals: list, show, decide, watch, wait for and extend the
// approvals of a running server, and list and revoke grants.
package approvals

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/display"
	"a2a-server/cmd/a2a-server/internal/remote"
	"a2a-server/internal/lists"
	"a2a-server/internal/terminal"
	"a2a-server/internal/visible"
)

// Command returns the command approvals.
func Command(p *cli.Program) *cobra.Command {
	return cli.Group("approvals", "list, show or decide approvals of a running server",
		list(p), show(p),
		decideCommand(p, client.Approve), decideCommand(p, client.Edit), decideCommand(p, client.Reject),
		watch(p), wait(p), extend(p), cli.Group("grants", "list or revoke what need not be asked again", listGrants(p), revokeGrant(p)),
	)
}

func list(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{Use: "list", Short: "list the approvals that are pending, the oldest first"}, "", true /* prints */)
	var q client.ApprovalQuery
	var task string
	c.Flags().StringVar(&task, "task", "", "The approvals of the task with this `id` instead, in any state.")
	c.Flags().StringVar((*string)(&q.State), "state", "", "Approvals in this `state` instead, such as rejected, or settled for all that are not pending.")
	c.Flags().StringVar(&q.Tool, "tool", "", "Only approvals of the tool with this `name`.")
	c.Flags().StringVar(&q.Gate, "gate", "", "Only approvals of the gate with this `name`.")
	c.Flags().BoolVar(&q.Mine, "mine", false, "Only approvals that you may decide.")
	c.Flags().StringVar(&q.Order, "order", "", "The `order` of pending ones: time or deadline. Default time.")
	limit := cli.LimitFlag(c.Command)
	return c.Do(func(ctx context.Context, s *remote.Server, _ []string) (err error) {
		if task != "" {
			if q.Task, err = s.TaskID(ctx, task); err != nil {
				return err
			}
		}
		all, err := s.ListApprovals(ctx, q, *limit)
		if err != nil {
			return err
		}
		return printList(p, *c.As, all, &q)
	})
}

func printList(p *cli.Program, as cli.Form, all *cli.Listed[client.Approval], q *client.ApprovalQuery) error {
	states := q.Task != "" || q.State != ""
	head := []string{"ID", "TOOL", "RISK", "REQUESTER", "REQUESTED", "DEADLINE", "GATE", "ARGUMENTS"}
	if states {
		head = append([]string{"ID", "STATE"}, head[1:]...)
	}
	lines := []string{strings.Join(head, "\t")}
	now, name := time.Now(), remote.ShortIDs(lists.Map(all.Items, func(a client.Approval) string { return a.ID }))
	for i := range all.Items {
		a := &all.Items[i]
		requester := a.Requester.Subject
		if a.RequesterRevoked {
			requester += " (revoked)"
		}
		arguments := visible.Clip(string(a.Arguments), 60)
		if n := len(a.EqualTo); n > 0 {
			arguments += fmt.Sprintf(" (equal to %s: %s)", display.Count(n, "other"), strings.Join(short(a.EqualTo), ", "))
		}
		row := []string{name(a.ID), a.Tool, a.Risk, requester, display.Ago(a.Requested, now), display.Ago(deadline(a), now), a.Gate, arguments}
		if states {
			row = append([]string{row[0], string(a.State)}, row[1:]...)
		}
		lines = append(lines, display.Row(row...))
	}
	nothing := "nothing waits for approval"
	switch {
	case all.Damaged > 0:
		nothing = ""
	case states || q.Tool != "" || q.Gate != "" || q.Mine:
		nothing = "there are no such approvals"
	}
	err := p.List(as, all, lines, nothing, all.More, all.Reach)
	if err == nil && all.Damaged > 0 && as != cli.AsJSON {
		_, err = fmt.Fprintf(p.Stderr, "%d more cannot be read, because their stored data is damaged: the server's log lists them.\n", all.Damaged)
	}
	return err
}

// short returns ids as a list shows them, the first three.
func short(ids []string) (all []string) {
	for i, id := range ids {
		if i == 3 {
			return append(all, "…")
		}
		all = append(all, remote.ShortID(id))
	}
	return all
}

// deadline returns the deadline of an approval; zero: it has none.
func deadline(a *client.Approval) time.Time {
	if a.Deadline == nil {
		return time.Time{}
	}
	return *a.Deadline
}

func show(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{Use: "show ID", Short: "print one approval, whatever its state"}, "approval", true /* prints */)
	return c.Do(func(ctx context.Context, s *remote.Server, args []string) error {
		d, err := s.FindApproval(ctx, args[0])
		if err != nil {
			return err
		}
		return p.Show(*c.As, d, Text(d, terminal.Columns(p.Stdout), time.Now()))
	})
}
