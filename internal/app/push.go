package app

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/internal/adminsocket"
	"a2a-server/internal/visible"
)

func (p *program) pushCommand() *cobra.Command {
	c := &cobra.Command{Use: "push", Short: "list or delete the webhooks of a running server"}
	c.AddCommand(p.pushList(), p.pushDelete())
	return c
}

// pushJSON is the output of 'push list -o json'.
type pushJSON struct {
	Webhooks []adminsocket.Webhook `json:"webhooks"`
	More     bool                  `json:"more,omitempty"` // not all are listed
	Off      bool                  `json:"off,omitempty"`  // none is notified
}

func (p *program) pushList() *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "list the webhooks of the tenant, and how their notifications stand",
		Long: "A webhook is dead after a day or 20 failures in a row, or when it answers 410. Its client\nrevives it by creating it again with the same id.\n",
	}
	as := outputFlag(c)
	a := adminFlags(c)
	c.Flags().StringVar(&a.query.State, "state", "", "Only webhooks in this `state`: active, retrying, dead or damaged.")
	c.Flags().StringVar(&a.query.Task, "task", "", "Only webhooks of the task with this `id`.")
	principalFlag(c, a, "Only webhooks")
	limit := limitFlag(c)
	p.asks(c, a, func(ctx context.Context, client *adminsocket.Client, _ []string) error {
		all, _, err := webhooks(ctx, client, a.query, *limit)
		if err != nil {
			return err
		}
		if all.Off {
			if _, err := fmt.Fprintln(p.stderr, "Push notifications are switched off: set push.enabled."); err != nil {
				return err
			}
		}
		if *as == "json" {
			return p.printJSON(all)
		}
		if len(all.Webhooks) == 0 {
			_, err := fmt.Fprintln(p.stdout, noWebhooks)
			return err
		}
		if err := p.table(webhookLines(all.Webhooks)); err != nil {
			return err
		}
		return p.noteMore(all.More)
	})
	return c
}

const noWebhooks = "there are no such webhooks"

func principalFlag(c *cobra.Command, a *admin, what string) {
	c.Flags().StringVar(&a.query.Principal, "principal", "", what+" that this `subject`, such as key:ci, has set or has acted for.")
}

// webhooks returns the webhooks that q selects, at most limit, and who lists them.
func webhooks(ctx context.Context, client *adminsocket.Client, q adminsocket.Query, limit int) (all pushJSON, caller string, err error) {
	all.Webhooks = []adminsocket.Webhook{}
	all.More, err = pages(limit, &q, func() (int, string, error) {
		page, err := client.Webhooks(ctx, q)
		if err != nil {
			return 0, "", err
		}
		all.Webhooks = append(all.Webhooks, page.Webhooks...)
		all.Off, caller = page.Off, page.Caller
		return len(page.Webhooks), page.Next, nil
	})
	return all, caller, err
}

// webhookLines returns webhooks as lines for table.
func webhookLines(all []adminsocket.Webhook) []string {
	lines := []string{"TASK\tID\tSTATE\tHOST\tSET BY\tTRIES\tNEXT\tLAG\tERROR"}
	for i := range all {
		w := &all[i]
		lines = append(lines, columns(w.Task, w.ID, w.State, w.Host, w.By(), strconv.Itoa(w.Tries), moment(w.Next), lag(w.Lag), w.Error))
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

// deleted is one webhook in the output of 'push delete -o json'.
type deleted struct {
	Task    string `json:"task"`
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"` // false: there was none
}

func (p *program) pushDelete() *cobra.Command {
	c := &cobra.Command{
		Use: "delete [TASK ID]", Short: "delete a webhook of anybody in the tenant, or all that somebody has set",
		Long: "Nothing more is sent to it, apart from a notification that is being sent. The audit keeps\nwho deleted it. To delete one that is not there changes nothing.\n",
	}
	c.Annotations = map[string]string{takesArguments: "yes"}
	as := outputFlag(c)
	a := adminFlags(c)
	principalFlag(c, a, "All webhooks")
	sure := p.sureFlag(c)
	c.Args = func(c *cobra.Command, args []string) error {
		one, all := len(args) == 2 && args[1] != "", a.query.Principal != ""
		if one == all || !one && len(args) > 0 {
			return usage("%s takes the id of a task and the id of its webhook, or --principal; 'a2a-server push list' has them", within(c))
		}
		return nil
	}
	p.asks(c, a, func(ctx context.Context, client *adminsocket.Client, args []string) (err error) {
		var chosen []adminsocket.Webhook
		if *sure && len(args) > 0 {
			chosen = []adminsocket.Webhook{{Task: args[0], ID: args[1]}}
		} else if chosen, err = p.choose(ctx, client, a.query, args, *sure); err != nil {
			return err
		}
		done, err := deleteAll(ctx, client, a.query, chosen)
		if err != nil && len(done) == 0 {
			return err
		}
		return errors.Join(p.printDeleted(done, *as == "json"), err)
	})
	return c
}

// choose returns the webhooks to delete: the one that args name, or those of the principal in
// q. Unless sure is set, the person has seen and confirmed them.
func (p *program) choose(ctx context.Context, client *adminsocket.Client, q adminsocket.Query, args []string, sure bool) ([]adminsocket.Webhook, error) {
	if len(args) > 0 {
		q.Task = args[0]
	}
	all, caller, err := webhooks(ctx, client, q, math.MaxInt)
	if err != nil {
		return nil, err
	}
	chosen := all.Webhooks
	if len(args) > 0 {
		chosen = slices.DeleteFunc(chosen, func(w adminsocket.Webhook) bool { return w.ID != args[1] })
	}
	if len(chosen) == 0 || sure {
		return chosen, nil
	}
	lines := webhookLines(chosen[:min(len(chosen), maxShown)])
	if more := len(chosen) - maxShown; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	if err := table(p.stderr, lines); err != nil {
		return nil, err
	}
	question := "Delete this webhook"
	if len(chosen) > 1 {
		question = fmt.Sprintf("Delete these %d webhooks", len(chosen))
	}
	return chosen, p.confirm(ctx, question+", as "+visible.Line(caller)+"?")
}

// maxShown is how many webhooks the question whether to delete them shows.
const maxShown = 50

// deleteAll deletes webhooks, each as it was listed: one that was set again meanwhile stays. It
// returns what became of those that it has come to.
func deleteAll(ctx context.Context, client *adminsocket.Client, q adminsocket.Query, chosen []adminsocket.Webhook) ([]deleted, error) {
	done := []deleted{}
	for i := range chosen {
		w := &chosen[i]
		was, err := client.DeleteWebhook(ctx, w.Task, w.ID, adminsocket.Query{Anonymous: q.Anonymous, Number: w.Number})
		if refused, is := errors.AsType[*adminsocket.Error](err); is && refused.Reason == adminsocket.ReasonNoTask && w.Number != 0 {
			err = nil // deleted since it was listed
		}
		if err != nil {
			task, id := visible.Line(w.Task), visible.Line(w.ID)
			return done, changed(err, "the webhook "+id+" of task "+task+" was deleted", "a2a-server push list --task "+task)
		}
		done = append(done, deleted{w.Task, w.ID, was})
	}
	return done, nil
}

// printDeleted prints what became of webhooks.
func (p *program) printDeleted(done []deleted, asJSON bool) error {
	switch {
	case asJSON:
		return p.printJSON(struct {
			Webhooks []deleted `json:"webhooks"`
		}{done})
	case len(done) == 0:
		_, err := fmt.Fprintln(p.stdout, noWebhooks)
		return err
	}
	lines := []string{"TASK\tID\tRESULT"}
	for _, d := range done {
		result := "deleted"
		if !d.Deleted {
			result = "was not there"
		}
		lines = append(lines, columns(d.Task, d.ID, result))
	}
	return p.table(lines)
}
