// Package push is the command push: list and delete the webhooks of a running server.
package push

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/display"
	"a2a-server/cmd/a2a-server/internal/remote"
	"a2a-server/internal/lists"
	"a2a-server/internal/visible"
)

// Command returns the command push.
func Command(p *cli.Program) *cobra.Command {
	return cli.Group("push", "list or delete the webhooks of a running server", list(p), deleteCommand(p))
}

// pushJSON is the output of 'push list -o json'.
type pushJSON struct {
	Webhooks []client.Webhook `json:"webhooks"`
	More     bool             `json:"more,omitempty"`  // not all are listed
	Off      bool             `json:"off,omitempty"`   // none is notified
	Reach    *client.Reach    `json:"reach,omitempty"` // which the caller may see
}

func list(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{
		Use: "list", Short: "list the webhooks of the tenant, and how their notifications stand",
		Long: "A webhook is dead after a day or 20 failures in a row, or when it answers 410. Its client\nrevives it by creating it again with the same id.\n",
	}, "", true /* prints */)
	var q client.WebhookQuery
	var task string
	c.Flags().StringVar(&q.State, "state", "", "Only webhooks in this `state`: active, retrying, dead or damaged.")
	c.Flags().StringVar(&task, "task", "", "Only webhooks of the task with this `id`.")
	principalFlag(c.Command, &q.Principal, "Only webhooks")
	limit := cli.LimitFlag(c.Command)
	return c.Do(func(ctx context.Context, s *remote.Server, _ []string) (err error) {
		if task != "" {
			if q.Task, err = s.TaskID(ctx, task); err != nil {
				return err
			}
		}
		all, off, err := webhooks(ctx, s, q, *limit)
		if err != nil {
			return err
		}
		if off {
			if _, err := fmt.Fprintln(p.Stderr, "Push notifications are switched off: set push.enabled."); err != nil {
				return err
			}
		}
		return p.List(*c.As, pushJSON{all.Items, all.More, off, all.Reach}, webhookLines(all.Items, time.Now()), noWebhooks, all.More, all.Reach)
	})
}

const noWebhooks = "there are no such webhooks"

func principalFlag(c *cobra.Command, to *string, what string) {
	c.Flags().StringVar(to, "principal", "", what+" set by this `subject`, such as key:ci, or through it.")
}

// webhooks returns the webhooks that q selects, at most limit. off: none is notified.
func webhooks(ctx context.Context, s *remote.Server, q client.WebhookQuery, limit int) (all *cli.Listed[client.Webhook], off bool, err error) {
	all, err = cli.Collect(limit, func(all *cli.Listed[client.Webhook], limit int, cursor string) (string, error) {
		q.Limit, q.Cursor = limit, cursor
		page, err := s.Webhooks(ctx, q)
		all.Items, all.Reach, off = append(all.Items, page.Items...), page.Reach, page.Off
		return page.Next, s.Explain(err)
	})
	return all, off, err
}

// setBy returns the principal that set a webhook, with the principals that acted for it. If
// that cannot be read, it returns the owner of the task, because only owners can set webhooks.
func setBy(w *client.Webhook) string {
	if w.SetBy == nil {
		return w.Owner
	}
	return strings.Join(append([]string{w.SetBy.Subject}, w.SetBy.Through...), " via ")
}

// webhookLines returns webhooks as lines for [display.Table].
func webhookLines(all []client.Webhook, now time.Time) []string {
	name := remote.ShortIDs(lists.Map(all, func(w client.Webhook) string { return w.Task }))
	lines := []string{"TASK\tID\tSTATE\tHOST\tSET BY\tTRIES\tNEXT\tLAG\tERROR"}
	for i := range all {
		w := &all[i]
		lines = append(lines, display.Row(name(w.Task), w.ID, w.State, w.Host, setBy(w), strconv.Itoa(w.Tries), display.Ago(w.Next, now), lag(w.Lag), w.Error))
	}
	return lines
}

// lag returns seconds as people write them.
func lag(seconds float64) string {
	if seconds == 0 {
		return ""
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

// deleted is a webhook in the output of 'push delete -o json'.
type deleted struct {
	Task    string `json:"task"`
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"` // false: there was none
}

func deleteCommand(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{
		Use: "delete [TASK ID]", Short: "delete any webhook in the tenant, or all webhooks of a principal",
		Long: "Only a notification in flight is still sent. The audit records who deleted it. Deleting a\nwebhook that does not exist changes nothing.\n",
	}, "", true /* prints */)
	var principal string
	principalFlag(c.Command, &principal, "All webhooks")
	sure := p.SureFlag(c.Command)
	c.Args = func(c *cobra.Command, args []string) error {
		one, all := len(args) == 2 && args[1] != "", principal != ""
		if one == all || !one && len(args) > 0 {
			return cli.Usage("%s takes the id of a task and the id of its webhook, or --principal; '%s' has them", cli.Within(c), cli.Again(c, "push", "list"))
		}
		return nil
	}
	return c.Do(func(ctx context.Context, s *remote.Server, args []string) error {
		chosen, err := choose(ctx, p, s, principal, args, *sure)
		if err != nil {
			return err
		}
		done, err := deleteAll(ctx, s, chosen)
		if err != nil && len(done) == 0 {
			return err
		}
		return errors.Join(printDeleted(p, done, *c.As), err)
	})
}

// choose returns the webhooks to delete: the webhook that args name, or all webhooks of a
// principal. Unless sure is set, the person has seen and confirmed them.
func choose(ctx context.Context, p *cli.Program, s *remote.Server, principal string, args []string, sure bool) ([]client.Webhook, error) {
	q := client.WebhookQuery{Principal: principal}
	if len(args) > 0 {
		var err error
		if q.Task, err = s.TaskID(ctx, args[0]); err != nil {
			return nil, err
		}
		if sure {
			return []client.Webhook{{Task: q.Task, ID: args[1]}}, nil
		}
	}
	all, _, err := webhooks(ctx, s, q, math.MaxInt)
	if err != nil {
		return nil, err
	}
	chosen := all.Items
	if len(args) > 0 {
		chosen = slices.DeleteFunc(chosen, func(w client.Webhook) bool { return w.ID != args[1] })
	}
	p.NoteReach(all.Reach, len(chosen))
	if len(chosen) == 0 || sure {
		return chosen, nil
	}
	return chosen, s.ConfirmAll(ctx, p, webhookLines(chosen, time.Now()), "Delete", "webhook", "")
}

// deleteAll deletes webhooks, each as it was listed: a webhook that was set again meanwhile
// stays. It returns the results until the first error.
func deleteAll(ctx context.Context, s *remote.Server, chosen []client.Webhook) ([]deleted, error) {
	done := []deleted{}
	for i := range chosen {
		w := &chosen[i]
		was, err := s.DeleteWebhook(ctx, w.Task, w.ID, w.Number)
		if refused, is := errors.AsType[*client.Error](err); is && refused.Reason == client.ReasonNotFound && w.Number != 0 {
			err = nil // deleted since it was listed
		}
		if err != nil {
			task, id := visible.Line(w.Task), visible.Line(w.ID)
			return done, s.Changed(err, "the webhook "+id+" of task "+task+" was deleted", "push", "list", "--task", task)
		}
		done = append(done, deleted{w.Task, w.ID, was})
	}
	return done, nil
}

// printDeleted prints the results of deleting webhooks.
func printDeleted(p *cli.Program, done []deleted, as cli.Form) error {
	lines := []string{"TASK\tID\tRESULT"}
	for _, d := range done {
		result := "deleted"
		if !d.Deleted {
			result = "was not there"
		}
		lines = append(lines, display.Row(d.Task, d.ID, result))
	}
	return p.List(as, struct {
		Webhooks []deleted `json:"webhooks"`
	}{done}, lines, noWebhooks, false, nil)
}
