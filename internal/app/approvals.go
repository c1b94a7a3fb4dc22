package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/client"
	"a2a-server/internal/visible"
)

func (p *program) approvalsCommand() *cobra.Command {
	return group("approvals", "list, show or decide approvals of a running server",
		p.approvalsList(), p.approvalsShow(),
		p.approvalsDecide(client.Approve), p.approvalsDecide(client.Edit), p.approvalsDecide(client.Reject),
		p.approvalsWatch(), p.approvalsWait(), p.approvalsExtend(),
	)
}

// approvalsJSON is the output of 'approvals list -o json'.
type approvalsJSON struct {
	Items   []client.Approval `json:"items"`
	Damaged int               `json:"damaged,omitempty"` // how many cannot be read
	More    bool              `json:"more,omitempty"`    // not all are listed
}

func (p *program) approvalsList() *cobra.Command {
	c := p.remote(&cobra.Command{Use: "list", Short: "list the approvals that are pending, the oldest first"}, "", true /* prints */)
	var q client.ApprovalQuery
	var task string
	c.Flags().StringVar(&task, "task", "", "The approvals of the task with this `id` instead, in any state.")
	c.Flags().StringVar((*string)(&q.State), "state", "", "Approvals in this `state` instead, such as rejected, or settled for all that are not pending.")
	c.Flags().StringVar(&q.Tool, "tool", "", "Only approvals of the tool with this `name`.")
	c.Flags().StringVar(&q.Gate, "gate", "", "Only approvals of the gate with this `name`.")
	c.Flags().BoolVar(&q.Mine, "mine", false, "Only approvals that you may decide.")
	c.Flags().StringVar(&q.Order, "order", "", "The `order` of pending ones: time or deadline. Default time.")
	limit := limitFlag(c.Command)
	return c.asks(func(ctx context.Context, s *server, _ []string) (err error) {
		if task != "" {
			if q.Task, err = s.taskID(ctx, task); err != nil {
				return err
			}
		}
		all, err := s.pending(ctx, q, *limit)
		if err != nil {
			return err
		}
		return p.printApprovals(*c.as, all, &q)
	})
}

// pending returns the approvals that q selects, at most limit.
func (s *server) pending(ctx context.Context, q client.ApprovalQuery, limit int) (*approvalsJSON, error) {
	all := &approvalsJSON{}
	var err error
	all.Items, all.More, err = collect(limit, func(limit int, cursor string) ([]client.Approval, string, error) {
		q.Limit, q.Cursor = limit, cursor
		page, err := s.Approvals(ctx, q)
		all.Damaged += page.Damaged
		return page.Items, page.Next, s.explain(err)
	})
	return all, err
}

func (p *program) printApprovals(as form, all *approvalsJSON, q *client.ApprovalQuery) error {
	states := q.Task != "" || q.State != ""
	head := []string{"ID", "TOOL", "RISK", "REQUESTER", "REQUESTED", "DEADLINE", "GATE", "ARGUMENTS"}
	if states {
		head = append([]string{"ID", "STATE"}, head[1:]...)
	}
	lines := []string{strings.Join(head, "\t")}
	now, name := time.Now(), shorts(idsOf(all.Items, func(a *client.Approval) string { return a.ID }))
	for i := range all.Items {
		a := &all.Items[i]
		requester := a.Requester.Subject
		if a.RequesterRevoked {
			requester += " (revoked)"
		}
		row := []string{name(a.ID), a.Tool, a.Risk, requester, ago(a.Requested, now), ago(deadline(a), now), a.Gate, visible.Clip(string(a.Arguments), 60)}
		if states {
			row = append([]string{row[0], string(a.State)}, row[1:]...)
		}
		lines = append(lines, columns(row...))
	}
	nothing := "nothing waits for approval"
	switch {
	case all.Damaged > 0:
		nothing = ""
	case states || q.Tool != "" || q.Gate != "" || q.Mine:
		nothing = "there are no such approvals"
	}
	err := p.list(as, all, lines, nothing, all.More)
	if err == nil && all.Damaged > 0 && as != asJSON {
		_, err = fmt.Fprintf(p.stderr, "%d more cannot be read, because their stored data is damaged: the server's log lists them.\n", all.Damaged)
	}
	return err
}

// deadline returns the deadline of an approval; zero: it has none.
func deadline(a *client.Approval) time.Time {
	if a.Deadline == nil {
		return time.Time{}
	}
	return *a.Deadline
}

func (p *program) approvalsShow() *cobra.Command {
	c := p.remote(&cobra.Command{Use: "show ID", Short: "print one approval, whatever its state"}, "approval", true /* prints */)
	return c.asks(func(ctx context.Context, s *server, args []string) error {
		d, err := s.approval(ctx, args[0])
		if err != nil {
			return err
		}
		return p.show(*c.as, d, approvalText(d, columnsOf(p.stdout), time.Now()))
	})
}

// approval returns the approval that text means.
func (s *server) approval(ctx context.Context, text string) (*client.ApprovalDetail, error) {
	id, err := s.approvalID(ctx, text)
	if err != nil {
		return nil, err
	}
	d, err := s.Approval(ctx, id)
	if err != nil {
		return nil, s.explain(err)
	}
	return &d, nil
}
