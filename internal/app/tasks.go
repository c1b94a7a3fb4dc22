package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"a2a-server/internal/adminsocket"
	"a2a-server/internal/visible"
)

func (p *program) tasksCommand() *cobra.Command {
	c := &cobra.Command{Use: "tasks", Short: "list, show, cancel or delete the tasks of a running server"}
	c.AddCommand(p.tasksList(), p.tasksShow(), p.tasksCancel(), p.tasksDelete())
	return c
}

// tasksJSON is the output of 'tasks list -o json'.
type tasksJSON struct {
	Tasks []json.RawMessage `json:"tasks"`
	More  bool              `json:"more,omitempty"` // not all are listed
}

func (p *program) tasksList() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "list the tasks of the tenant, the newest first"}
	as := outputFlag(c)
	a := adminFlags(c)
	var state string
	c.Flags().StringVar(&state, "state", "", "Only tasks in this `state`, such as input-required.")
	c.Flags().StringVar(&a.query.Context, "context", "", "Only tasks of the context with this `id`.")
	limit := limitFlag(c)
	p.asks(c, a, func(ctx context.Context, client *adminsocket.Client, _ []string) (err error) {
		a.query.State = longState(state)
		all := tasksJSON{Tasks: []json.RawMessage{}}
		lines := []string{"ID\tSTATE\tSINCE\tOWNER\tPENDING\tBYTES"}
		all.More, err = pages(*limit, &a.query, func() (int, string, error) {
			page, err := client.Tasks(ctx, a.query)
			if err != nil {
				return 0, "", err
			}
			for i := range page.Tasks {
				t := &page.Tasks[i]
				about := shortState(string(t.State))
				if t.Damaged {
					about += " (damaged)"
				}
				raw, err := json.Marshal(t)
				if err != nil {
					return 0, "", err
				}
				all.Tasks = append(all.Tasks, raw)
				lines = append(lines, columns(t.ID, about, moment(t.Since), t.Owner, strconv.Itoa(t.Pending), strconv.FormatUint(t.Bytes, 10)))
			}
			return len(page.Tasks), page.Next, nil
		})
		if err != nil {
			return err
		}
		if *as == "json" {
			return p.printJSON(all)
		}
		if len(all.Tasks) == 0 {
			_, err := fmt.Fprintln(p.stdout, "there are no such tasks")
			return err
		}
		if err := p.table(lines); err != nil {
			return err
		}
		return p.noteMore(all.More)
	})
	return c
}

const statePrefix = "TASK_STATE_"

// longState returns a state as A2A 1.0 names it.
func longState(text string) string {
	if text == "" {
		return ""
	}
	return statePrefix + strings.ReplaceAll(strings.TrimPrefix(strings.ToUpper(text), statePrefix), "-", "_")
}

// shortState returns a state as people write it.
func shortState(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, statePrefix)), "_", "-")
}

func (p *program) tasksShow() *cobra.Command {
	c := &cobra.Command{Use: "show ID", Short: "print one task: who owns it, and how it stands"}
	oneArgument(c, "task")
	as := outputFlag(c)
	a := adminFlags(c)
	p.asks(c, a, func(ctx context.Context, client *adminsocket.Client, args []string) error {
		shown, err := client.Task(ctx, args[0], a.query)
		if err != nil {
			return shownError(err)
		}
		if *as == "json" {
			return p.printJSON(struct {
				Summary any             `json:"summary"`
				Task    json.RawMessage `json:"task"`
			}{shown.Summary, shown.Task})
		}
		text, err := taskText(shown, columnsOf(p.stdout))
		if err != nil {
			return err
		}
		_, err = io.WriteString(p.stdout, text)
		return err
	})
	return c
}

// taskText returns what somebody who looks after a task has to know, for a screen with so many
// columns.
func taskText(t *adminsocket.ShownTask, columns int) (string, error) {
	var task struct {
		Status struct {
			Message struct{ Parts []part }
		}
		Artifacts []struct {
			ArtifactID, Name string
			Parts            []part
		}
		History  []json.RawMessage
		Metadata struct {
			Progress struct{ Tool, Job string } `json:"urn:a2a-server:progress"`
		}
	}
	if err := json.Unmarshal(t.Task, &task); err != nil {
		return "", fmt.Errorf("the task cannot be read: %w", err)
	}
	f := facts{columns: columns}
	s := &t.Summary
	f.add("task", s.ID)
	f.add("context", visible.Line(s.Context))
	f.add("state", shortState(string(s.State))+" since "+moment(s.Since))
	f.add("owner", visible.Line(s.Owner))
	f.add("tenant", visible.Line(s.Tenant))
	f.add("created", moment(s.Created))
	if s.Pending > 0 {
		f.add("pending", strconv.Itoa(s.Pending)+" to decide; this lists them:\napprovals list --task "+s.ID)
	}
	f.add("log", strconv.FormatUint(s.Bytes, 10)+" bytes")
	f.add("messages", strconv.Itoa(len(task.History)))
	if at := task.Metadata.Progress; at.Job != "" {
		f.add("job", visible.Line(at.Job)+" of "+visible.Line(at.Tool))
	}
	for _, artifact := range task.Artifacts {
		name := artifact.Name
		if name == "" {
			name = artifact.ArtifactID
		}
		f.add("artifact", visible.Clip(name, 200)+", "+strconv.Itoa(len(artifact.Parts))+" parts")
	}
	for _, one := range task.Status.Message.Parts {
		if one.Text != nil {
			f.add("says", *one.Text)
		}
	}
	return f.String(), nil
}

// changes makes c a command that changes one task, after the person has confirmed it.
func (p *program) changes(c *cobra.Command, question, past string, change func(*adminsocket.Client, context.Context, string, adminsocket.Query) error) *cobra.Command {
	oneArgument(c, "task")
	a := adminFlags(c)
	sure := p.sureFlag(c)
	p.asks(c, a, func(ctx context.Context, client *adminsocket.Client, args []string) error {
		if !*sure {
			shown, err := client.Task(ctx, args[0], a.query)
			if err != nil {
				return shownError(err)
			}
			text, err := taskText(shown, columnsOf(p.stderr))
			if err != nil {
				return err
			}
			if _, err := io.WriteString(p.stderr, text); err != nil {
				return err
			}
			if err := p.confirm(ctx, question+", as "+visible.Line(shown.Caller.Subject)+"?"); err != nil {
				return err
			}
		}
		id := visible.Line(args[0])
		if err := change(client, ctx, args[0], a.query); err != nil {
			return changed(err, id+" was "+past, "a2a-server tasks show "+id)
		}
		_, err := fmt.Fprintf(p.stdout, "%s was %s\n", id, past)
		return err
	})
	return c
}

func (p *program) tasksCancel() *cobra.Command {
	return p.changes(&cobra.Command{
		Use: "cancel ID", Short: "cancel a task of anybody in the tenant",
		Long: "What has run already is not undone, and approvals of the task end. The audit keeps who canceled it.\n",
	}, "Cancel this task", "canceled", (*adminsocket.Client).Cancel)
}

func (p *program) tasksDelete() *cobra.Command {
	return p.changes(&cobra.Command{
		Use: "delete ID", Short: "delete a task of anybody in the tenant that has ended",
		Long: "Its messages, results and approvals are gone; the audit of it stays, and says who deleted it.\n",
	}, "Delete this task with everything that belongs to it", "deleted", (*adminsocket.Client).Delete)
}
