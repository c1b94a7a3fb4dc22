// Package tasks is the commands tasks and calls: list, show, cancel and delete the tasks of a running
// server, and cancel calls.
package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/approvals"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/display"
	"a2a-server/cmd/a2a-server/internal/remote"
	"a2a-server/internal/lists"
	"a2a-server/internal/terminal"
	"a2a-server/internal/visible"
)

// Command returns the command tasks. watch is its subcommand that prints the events of a task.
func Command(p *cli.Program, watch *cobra.Command) *cobra.Command {
	return cli.Group("tasks", "list, show, follow, cancel or delete the tasks of a running server", list(p), show(p), watch, cancel(p), deleteCommand(p))
}

func list(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{Use: "list", Short: "list the tasks that you may see, the newest first"}, "", true /* prints */)
	var q client.TaskQuery
	c.Flags().StringVar(&q.State, "state", "", "Only tasks in this `state`, such as input-required.")
	c.Flags().StringVar(&q.Context, "of-context", "", "Only tasks of the A2A context with this `id`.")
	c.Flags().StringVar(&q.Principal, "principal", "", "Only tasks of this `subject`, such as key:ci.")
	limit := cli.LimitFlag(c.Command)
	return c.Do(func(ctx context.Context, s *remote.Server, _ []string) error {
		all, err := s.ListTasks(ctx, q, *limit)
		if err != nil {
			return err
		}
		return p.List(*c.As, all, taskLines(all.Items, time.Now()), "there are no such tasks", all.More, all.Reach)
	})
}

// taskLines returns tasks as lines for [display.Table].
func taskLines(all []client.Task, now time.Time) []string {
	lines := []string{"ID\tSTATE\tSINCE\tOWNER\tPENDING\tBYTES"}
	name := remote.ShortIDs(lists.Map(all, func(t client.Task) string { return t.ID }))
	for i := range all {
		t := &all[i]
		about, owner := ShortState(t.State), t.Owner
		if t.Damaged {
			about += " (damaged)"
		}
		if t.OwnerRevoked {
			owner += " (revoked)"
		}
		lines = append(lines, display.Row(name(t.ID), about, display.Ago(t.Since, now), owner, strconv.Itoa(t.Pending), strconv.FormatUint(t.Bytes, 10)))
	}
	return lines
}

// ShortState returns a state as people write it.
func ShortState(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "TASK_STATE_")), "_", "-")
}

// Ended reports whether a task in a state has ended.
func Ended(state string) bool {
	return slices.Contains([]string{"completed", "failed", "canceled", "rejected"}, ShortState(state))
}

func show(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{Use: "show ID", Short: "print a task with its owner and state"}, "task", true /* prints */)
	return c.Do(func(ctx context.Context, s *remote.Server, args []string) error {
		d, err := s.FindTask(ctx, args[0])
		if err != nil {
			return err
		}
		text, err := taskText(s, d, terminal.Columns(p.Stdout), time.Now())
		if err != nil && *c.As != cli.AsJSON {
			return err
		}
		return p.Show(*c.As, d, text)
	})
}

// taskText returns the facts about a task for its overseer, for a screen with so many columns.
func taskText(s *remote.Server, d *client.TaskDetail, columns int, now time.Time) (string, error) {
	var task struct {
		Status struct {
			Message struct{ Parts []struct{ Text *string } }
		}
		Artifacts []struct {
			ArtifactID, Name string
			Parts            []json.RawMessage
		}
		History  []json.RawMessage
		Metadata struct {
			Progress struct{ Tool, Job string } `json:"urn:a2a-server:progress"`
		}
	}
	if err := json.Unmarshal(d.A2A, &task); err != nil {
		return "", fmt.Errorf("the task cannot be read: %w", err)
	}
	f := display.Facts{Columns: columns}
	t := &d.Task
	f.Add("task", t.ID)
	f.Add("context", visible.Line(t.Context))
	f.Add("state", ShortState(t.State)+" since "+display.Exactly(t.Since, now))
	f.Add("owner", visible.Line(t.Owner))
	if t.OwnerRevoked {
		f.Add("caution", "the credential of the owner is no longer valid: the key was removed or revoked, or has expired")
	}
	f.Add("tenant", visible.Line(t.Tenant))
	f.Add("created", display.Exactly(t.Created, now))
	if t.Pending > 0 {
		f.Add("pending", strconv.Itoa(t.Pending)+" to decide; this lists them:\n"+s.Command("approvals", "list", "--task", remote.ShortID(t.ID)))
	}
	f.Add("log", strconv.FormatUint(t.Bytes, 10)+" bytes")
	f.Add("messages", strconv.Itoa(len(task.History)))
	if at := task.Metadata.Progress; at.Job != "" {
		f.Add("job", visible.Line(at.Job)+" of "+visible.Line(at.Tool))
	}
	for i := range d.Calls {
		f.Add("call", callLine(&d.Calls[i]))
	}
	for i := range d.Approvals {
		if a := &d.Approvals[i]; a.Resolution != nil {
			f.Add("decided", visible.Line(remote.ShortID(a.ID)+" of "+a.Tool+" was "+approvals.EndText(a, now)))
		}
	}
	for _, artifact := range task.Artifacts {
		f.Add("artifact", visible.Clip(cmp.Or(artifact.Name, artifact.ArtifactID), 200)+", "+display.Count(len(artifact.Parts), "part"))
	}
	for _, one := range task.Status.Message.Parts {
		if one.Text != nil && t.Pending == 0 { // else it repeats the approvals, and how A2A clients answer
			f.Add("says", *one.Text)
		}
	}
	return f.String(), nil
}

// callLine returns a call on a single line: its id, its tool, and its state.
func callLine(c *client.Call) string {
	text := c.ID + " " + c.Tool + ", " + c.State
	if c.Outcome != "" {
		text += " " + c.Outcome
	}
	if c.Error != "" {
		text += ": " + visible.Clip(c.Error, 200)
	}
	return visible.Line(text)
}
