package approvals

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/approval"
	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/display"
	"a2a-server/cmd/a2a-server/internal/remote"
	"a2a-server/internal/visible"
)

// grantsJSON is the output of 'approvals grants list -o json'.
type grantsJSON struct {
	Grants []client.Grant `json:"grants"`
	More   bool           `json:"more,omitempty"`  // not all are listed
	Reach  *client.Reach  `json:"reach,omitempty"` // which the caller may see
}

func listGrants(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{Use: "list", Short: "list the grants in force, those that end first before others"}, "", true /* prints */)
	limit := cli.LimitFlag(c.Command)
	return c.Do(func(ctx context.Context, s *remote.Server, _ []string) error {
		all, err := grants(ctx, s, *limit)
		if err != nil {
			return err
		}
		lines, now := []string{"ID\tOWNER\tBY\tMADE\tLETS START"}, time.Now()
		for i := range all.Items {
			g := &all.Items[i]
			lines = append(lines, display.Row(g.ID, g.Owner.Subject, g.By.Subject, display.Ago(g.Made, now), g.Words))
		}
		return p.List(*c.As, grantsJSON{all.Items, all.More, all.Reach}, lines, "there are no grants", all.More, all.Reach)
	})
}

// grants returns the grants in force, at most limit.
func grants(ctx context.Context, s *remote.Server, limit int) (*cli.Listed[client.Grant], error) {
	return cli.Collect(limit, func(all *cli.Listed[client.Grant], limit int, cursor string) (string, error) {
		page, err := s.Grants(ctx, client.GrantQuery{Limit: limit, Cursor: cursor})
		all.Items, all.Reach = append(all.Items, page.Items...), page.Reach
		return page.Next, s.Explain(err)
	})
}

func revokeGrant(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{Use: "revoke [ID]", Short: "revoke a grant, or all that somebody has made: afterwards no call starts by it"}, "", false /* prints */)
	reason := c.Flags().String("reason", "", "Why: a `text` for the audit.")
	by := c.Flags().String("by", "", "Revoke all grants that this `person` has made: a subject such as key:alice, or the name of a person.")
	c.Args = func(c *cobra.Command, args []string) error {
		if (len(args) == 1 && args[0] != "") == (*by != "") || len(args) > 1 {
			return cli.Usage("approvals grants revoke takes the id of one grant, or --by and who made them; '%s' has them", cli.Again(c, "approvals", "grants", "list"))
		}
		return nil
	}
	return c.Do(func(ctx context.Context, s *remote.Server, args []string) (err error) {
		var reach *client.Reach
		if *by != "" {
			if args, reach, err = grantsBy(ctx, s, *by); err != nil {
				return err
			}
		}
		for _, id := range args {
			if err := s.RevokeGrant(ctx, id, *reason); err != nil {
				return s.Changed(err, "the grant was revoked", "approvals", "grants", "list")
			}
			if err := p.Printf("the grant %s is revoked\n", visible.Line(id)); err != nil {
				return err
			}
		}
		if *by != "" {
			p.NoteReach(reach, len(args))
		}
		if len(args) == 0 {
			err = p.Printf("there are no grants by %s\n", visible.Line(*by))
		}
		return err
	})
}

// grantsBy returns the ids of the grants in force that a subject or a person has made, as far as the caller
// may see them.
func grantsBy(ctx context.Context, s *remote.Server, by string) (ids []string, reach *client.Reach, err error) {
	all, err := grants(ctx, s, math.MaxInt)
	if err != nil {
		return nil, nil, err
	}
	for i := range all.Items {
		if maker := &all.Items[i].By; strings.EqualFold(maker.Subject, by) || strings.EqualFold(maker.Person, by) {
			ids = append(ids, all.Items[i].ID)
		}
	}
	return ids, all.Reach, nil
}

// grantRequest returns the request for a grant in the flags of a decision, nil if there is none.
func (f *decisionFlags) grantRequest() (*client.GrantRequest, error) {
	if f.grant == "" {
		if f.uses != 0 {
			return nil, cli.Usage("approvals approve: --uses needs --grant")
		}
		return nil, nil //nolint:nilnil // no grant
	}
	g := &client.GrantRequest{Scope: f.grant}
	if f.grant == "ask_once" {
		g = client.AskOnce()
	}
	if g.Uses = f.uses; g.Scope == "task" || g.Scope == "context" {
		return g, nil
	}
	d, err := time.ParseDuration(f.grant)
	if err != nil || d < time.Second || f.uses < 0 {
		return nil, cli.Usage("approvals approve: --grant is ask_once, task, context, or a time such as 1h, and --uses a number from 1")
	}
	g.Scope, g.Seconds = "time", int64(d/time.Second)
	return g, nil
}

// grantText says what a grant would let start, as a person reads it before it is made.
func grantText(a *client.Approval, g *client.GrantRequest) string {
	if g == nil {
		return ""
	}
	text := "later calls like this one"
	if g.Exact {
		text = "later calls with exactly these arguments"
	} else if a.Grants != nil && len(a.Grants.Vary) > 0 {
		text += fmt.Sprintf(" (with any %s)", visible.Line(fmt.Sprint(a.Grants.Vary)))
	}
	var most client.GrantTerms
	if a.Grants != nil {
		most = *a.Grants
	}
	span := func(seconds int64) string { return approval.Span(time.Duration(seconds) * time.Second) }
	switch {
	case g.Scope != "time":
		text += fmt.Sprintf(" of the same %s, for at most %s", g.Scope, span(most.Seconds))
	default:
		text += " of the requester, for " + span(g.Seconds)
	}
	if uses := cmp.Or(g.Uses, most.Uses); uses > 0 {
		text += ", up to " + display.Count(uses, "time")
	}
	return text + "; 'approvals grants revoke' ends that"
}
