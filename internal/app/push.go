package app

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/internal/adminsocket"
)

func (p *program) pushCommand() *cobra.Command {
	c := &cobra.Command{Use: "push", Short: "list the webhooks of a running server"}
	c.AddCommand(p.pushList())
	return c
}

// pushJSON is the output of 'push list -o json'.
type pushJSON struct {
	Webhooks []adminsocket.Webhook `json:"webhooks"`
	More     bool                  `json:"more,omitempty"` // not all are listed
}

func (p *program) pushList() *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "list the webhooks of the tenant, and how their notifications stand",
		Long: "A webhook is dead after a day or 20 failures in a row, or when it answers 410. Its client\nrevives it by creating it again with the same id.\n",
	}
	as := outputFlag(c)
	a := adminFlags(c)
	c.Flags().StringVar(&a.query.State, "state", "", "Only webhooks in this `state`: active, retrying or dead.")
	limit := limitFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		client, err := p.client(a)
		if err != nil {
			return err
		}
		ctx, stop := interruptible(c.Context())
		defer stop()
		all := pushJSON{Webhooks: []adminsocket.Webhook{}}
		lines := []string{"TASK\tID\tSTATE\tHOST\tOWNER\tTRIES\tNEXT\tLAG\tERROR"}
		all.More, err = pages(*limit, &a.query, func() (int, string, error) {
			page, err := client.Webhooks(ctx, a.query)
			if err != nil {
				return 0, "", err
			}
			for i := range page.Webhooks {
				w := &page.Webhooks[i]
				all.Webhooks = append(all.Webhooks, *w)
				lines = append(lines, columns(w.Task, w.ID, w.State, w.Host, w.Owner, strconv.Itoa(w.Tries), moment(w.Next), lag(w.Lag), w.Error))
			}
			return len(page.Webhooks), page.Next, nil
		})
		if err != nil {
			return err
		}
		if *as == "json" {
			return p.printJSON(all)
		}
		if len(all.Webhooks) == 0 {
			_, err := fmt.Fprintln(p.stdout, "there are no such webhooks")
			return err
		}
		if err := p.table(lines); err != nil {
			return err
		}
		return p.noteMore(all.More)
	}
	return c
}

// lag returns seconds as people write them.
func lag(seconds float64) string {
	if seconds == 0 {
		return ""
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}
