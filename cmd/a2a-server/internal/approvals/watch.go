package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/display"
	"a2a-server/cmd/a2a-server/internal/remote"
	"a2a-server/internal/visible"
)

func watch(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{Use: "watch", Short: "print pending approvals, then new approvals and decisions as they happen"}, "", true /* prints */)
	return c.Do(func(ctx context.Context, s *remote.Server, _ []string) error {
		if _, err := s.WhoAmI(ctx); err != nil {
			return s.Interrupted(ctx, err) // a server that was never reached is not waited for
		}
		shown := map[string]client.State{}
		for e, err := range s.Watch(ctx, "") {
			switch {
			case err != nil:
				return s.Interrupted(ctx, err)
			case e.Reset || e.Entry.N == 0:
				page, err := s.ListApprovals(ctx, client.ApprovalQuery{}, cli.MaxListed)
				if err != nil {
					return err
				}
				p.NoteReach(page.Reach, len(page.Items))
				for i := range page.Items {
					if err := printChanged(p, &page.Items[i], shown, *c.As == "json"); err != nil {
						return err
					}
				}
			case e.Entry.Approval != "":
				d, err := s.Approval(ctx, e.Entry.Approval)
				if refused, is := errors.AsType[*client.Error](err); is && refused.Reason == client.ReasonNotFound {
					continue // its task was deleted, or it is not for this caller
				}
				if err != nil {
					return s.Explain(err)
				}
				if err := printChanged(p, &d.Approval, shown, *c.As == "json"); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// printChanged prints an approval on a single line, unless it was printed in this state
// before.
func printChanged(p *cli.Program, a *client.Approval, shown map[string]client.State, asJSON bool) error {
	if shown[a.ID] == a.State {
		return nil
	}
	if len(shown) > 10_000 {
		clear(shown) // at worst a line is printed again
	}
	shown[a.ID] = a.State
	if asJSON {
		raw, err := json.Marshal(a)
		if err == nil {
			err = p.Printf("%s\n", raw)
		}
		return err
	}
	line := fmt.Sprintf("%s  %-9s %s  %s", time.Now().Format("15:04:05"), visible.Line(string(a.State)), remote.ShortID(a.ID), visible.Line(a.Tool))
	if r := a.Resolution; r != nil {
		line += "  by " + byText(r.By) + display.After(": ", visible.Clip(r.Reason, 200))
	} else {
		line += "  for " + visible.Line(a.Requester.Subject) + "  " + visible.Clip(string(a.Arguments), 200)
	}
	return p.Printf("%s\n", line)
}

const waitHelp = "The command is done once the approval is approved, edited or answered.\n"

func wait(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{Use: "wait ID", Short: "wait until an approval is decided", Long: waitHelp, Example: "a2a-server approvals wait ID --timeout 10m"}, "approval", true /* prints */)
	c.Exits(cli.ExitTimeout, cli.ExitRejected, cli.ExitExpired, cli.ExitCanceled)
	timeout := c.Flags().Duration("timeout", 0, "How long to wait, a `duration` such as 10m. Default: without limit.")
	return c.Do(func(ctx context.Context, s *remote.Server, args []string) error {
		d, err := s.FindApproval(ctx, args[0])
		if err != nil {
			return err
		}
		waiting := ctx
		if *timeout > 0 {
			var cancel context.CancelFunc
			waiting, cancel = context.WithTimeout(ctx, *timeout)
			defer cancel()
		}
		a := &d.Approval
		if a.State == client.Pending {
			if a, err = settled(waiting, s, a.ID); err != nil {
				if waiting.Err() != nil {
					return cli.Exit(cli.ExitTimeout, visible.Line(d.Approval.ID)+" still waits")
				}
				return s.Explain(err)
			}
		}
		if *c.As == "json" {
			if err := p.PrintJSON(a); err != nil {
				return err
			}
		}
		return printEnd(p, a, *c.As == "json")
	})
}

// settled returns an approval once it is not pending any more.
func settled(ctx context.Context, s *remote.Server, id string) (*client.Approval, error) {
	for e, err := range s.Watch(ctx, "") {
		if err != nil {
			return nil, err
		}
		if e.Entry.N != 0 && e.Entry.Approval != id {
			continue
		}
		d, err := s.Approval(ctx, id)
		if err != nil {
			return nil, err
		}
		if d.Approval.State != client.Pending {
			return &d.Approval, nil
		}
	}
	return nil, context.Cause(ctx)
}

// printEnd reports how an approval has ended: as the output, or as an error with its exit code.
func printEnd(p *cli.Program, a *client.Approval, printed bool) error {
	text, code := visible.Line(a.ID+" was "+string(a.State)), cli.ExitOK
	if r := a.Resolution; r != nil {
		text += " by " + byText(r.By) + display.After(": ", visible.Line(r.Reason))
	}
	switch a.State {
	case client.Rejected:
		code = cli.ExitRejected
	case client.Expired:
		code, text = cli.ExitExpired, visible.Line(a.ID)+" has expired"
	case client.Canceled, client.Superseded:
		code = cli.ExitCanceled
	case client.Approved, client.Edited, client.Responded, client.Pending:
	}
	if code != cli.ExitOK {
		return cli.Exit(code, text)
	}
	if printed {
		return nil
	}
	return p.Printf("%s\n", text)
}

func extend(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{Use: "extend ID", Short: "move the deadline of a pending approval"}, "approval", true /* prints */)
	by := c.Flags().Duration("by", 0, "How much later than its deadline, a `duration` such as 24h.")
	var at time.Time
	c.Flags().TimeVar(&at, "until", at, []string{time.RFC3339}, "The new deadline instead, a `time` such as 2027-01-31T18:00:00Z.")
	return c.Do(func(ctx context.Context, s *remote.Server, args []string) error {
		if (*by == 0) == at.IsZero() {
			return cli.Usage("approvals extend: write --by or --until")
		}
		d, err := s.FindApproval(ctx, args[0])
		if err != nil {
			return err
		}
		a := &d.Approval
		if *by != 0 {
			if a.Deadline == nil {
				return errors.New(visible.Line(a.ID) + " has no deadline that could be moved")
			}
			at = a.Deadline.Add(*by)
		}
		done, err := s.Extend(ctx, a.ID, client.Extension{Digest: a.Digest, Until: at})
		if err != nil {
			return s.Changed(err, "the deadline of "+visible.Line(a.ID)+" was moved", "approvals", "show", a.ID)
		}
		if done.Approval != nil {
			at = deadline(done.Approval)
		}
		return p.Show(*c.As, done, fmt.Sprintf("the deadline of %s is %s\n", visible.Line(a.ID), display.Exactly(at, time.Now())))
	})
}
