package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/client"
	"a2a-server/internal/visible"
)

func (p *program) tasksCommand() *cobra.Command {
	return group("tasks", "list, show, follow, cancel or delete the tasks of a running server", p.tasksList(), p.tasksShow(), p.tasksWatch(), p.tasksCancel(), p.tasksDelete())
}

// tasksJSON is the output of 'tasks list -o json'.
type tasksJSON struct {
	Items []client.Task `json:"items"`
	More  bool          `json:"more,omitempty"` // not all are listed
}

func (p *program) tasksList() *cobra.Command {
	c := p.remote(&cobra.Command{Use: "list", Short: "list the tasks that you may see, the newest first"}, "", true /* prints */)
	var q client.TaskQuery
	c.Flags().StringVar(&q.State, "state", "", "Only tasks in this `state`, such as input-required.")
	c.Flags().StringVar(&q.Context, "of-context", "", "Only tasks of the A2A context with this `id`.")
	c.Flags().StringVar(&q.Principal, "principal", "", "Only tasks of this `subject`, such as key:ci.")
	limit := limitFlag(c.Command)
	return c.asks(func(ctx context.Context, s *server, _ []string) error {
		all, err := s.tasks(ctx, q, *limit)
		if err != nil {
			return err
		}
		return p.list(*c.as, all, taskLines(all.Items, time.Now()), "there are no such tasks", all.More)
	})
}

// tasks returns the tasks that q selects, at most limit.
func (s *server) tasks(ctx context.Context, q client.TaskQuery, limit int) (*tasksJSON, error) {
	all := &tasksJSON{}
	var err error
	all.Items, all.More, err = collect(limit, func(limit int, cursor string) ([]client.Task, string, error) {
		q.Limit, q.Cursor = limit, cursor
		page, err := s.Tasks(ctx, q)
		return page.Items, page.Next, s.explain(err)
	})
	return all, err
}

// taskLines returns tasks as lines for table.
func taskLines(all []client.Task, now time.Time) []string {
	lines := []string{"ID\tSTATE\tSINCE\tOWNER\tPENDING\tBYTES"}
	name := shorts(idsOf(all, func(t *client.Task) string { return t.ID }))
	for i := range all {
		t := &all[i]
		about, owner := shortState(t.State), t.Owner
		if t.Damaged {
			about += " (damaged)"
		}
		if t.OwnerRevoked {
			owner += " (revoked)"
		}
		lines = append(lines, columns(name(t.ID), about, ago(t.Since, now), owner, strconv.Itoa(t.Pending), strconv.FormatUint(t.Bytes, 10)))
	}
	return lines
}

const statePrefix = "TASK_STATE_"

// shortState returns a state as people write it.
func shortState(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, statePrefix)), "_", "-")
}

// ended reports whether a task in a state has ended.
func ended(state string) bool {
	switch shortState(state) {
	case "completed", "failed", "canceled", "rejected":
		return true
	}
	return false
}

func (p *program) tasksShow() *cobra.Command {
	c := p.remote(&cobra.Command{Use: "show ID", Short: "print a task with its owner and state"}, "task", true /* prints */)
	return c.asks(func(ctx context.Context, s *server, args []string) error {
		d, err := s.task(ctx, args[0])
		if err != nil {
			return err
		}
		text, err := taskText(d, columnsOf(p.stdout), time.Now())
		if err != nil && *c.as != asJSON {
			return err
		}
		return p.show(*c.as, d, text)
	})
}

// task returns the task that text means.
func (s *server) task(ctx context.Context, text string) (*client.TaskDetail, error) {
	id, err := s.taskID(ctx, text)
	if err != nil {
		return nil, err
	}
	d, err := s.Task(ctx, id)
	if err != nil {
		return nil, s.explain(err)
	}
	return &d, nil
}

// taskText returns the facts about a task for its overseer, for a screen with so many columns.
func taskText(d *client.TaskDetail, columns int, now time.Time) (string, error) {
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
	if err := json.Unmarshal(d.A2A, &task); err != nil {
		return "", fmt.Errorf("the task cannot be read: %w", err)
	}
	f := facts{columns: columns}
	t := &d.Task
	f.add("task", t.ID)
	f.add("context", visible.Line(t.Context))
	f.add("state", shortState(t.State)+" since "+exactly(t.Since, now))
	f.add("owner", visible.Line(t.Owner))
	if t.OwnerRevoked {
		f.add("caution", "the credential of the owner is no longer valid: the key was removed or revoked, or has expired")
	}
	f.add("tenant", visible.Line(t.Tenant))
	f.add("created", exactly(t.Created, now))
	if t.Pending > 0 {
		f.add("pending", strconv.Itoa(t.Pending)+" to decide; this lists them:\napprovals list --task "+short(t.ID))
	}
	f.add("log", strconv.FormatUint(t.Bytes, 10)+" bytes")
	f.add("messages", strconv.Itoa(len(task.History)))
	if at := task.Metadata.Progress; at.Job != "" {
		f.add("job", visible.Line(at.Job)+" of "+visible.Line(at.Tool))
	}
	for i := range d.Calls {
		f.add("call", callLine(&d.Calls[i]))
	}
	for i := range d.Approvals {
		if a := &d.Approvals[i]; a.Resolution != nil {
			f.add("decided", visible.Line(short(a.ID)+" of "+a.Tool+" was "+endText(a, now)))
		}
	}
	for _, artifact := range task.Artifacts {
		name := artifact.Name
		if name == "" {
			name = artifact.ArtifactID
		}
		f.add("artifact", visible.Clip(name, 200)+", "+strconv.Itoa(len(artifact.Parts))+" parts")
	}
	for _, one := range task.Status.Message.Parts {
		if one.Text != nil && t.Pending == 0 { // else it repeats the approvals, and how A2A clients answer
			f.add("says", *one.Text)
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
