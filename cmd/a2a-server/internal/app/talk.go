package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/approvals"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/remote"
	"a2a-server/cmd/a2a-server/internal/tasks"
	"a2a-server/internal/terminal"
	"a2a-server/internal/visible"
)

// waits reports whether a task in a state waits for input.
func waits(state string) bool {
	return state == "TASK_STATE_INPUT_REQUIRED" || state == "TASK_STATE_AUTH_REQUIRED"
}

// errWaits ends following a task that waits for a message of the person.
var errWaits = errors.New("the task waits for a message")

// follow prints the events of the task until it ends, and asks the person when it waits. It
// returns errWaits when it waits for a message, and the exit code of a task that has not ended when the person
// interrupts it; to end watching a task is no error.
func (t *talk) follow(ctx context.Context) error {
	if t.task == "" {
		return nil // it was answered with a message
	}
	err := t.events(ctx)
	switch {
	case err == nil, ctx.Err() == nil, cli.CodeOf(err) == cli.ExitRefused:
		return err
	case t.watches:
		return nil
	}
	return cli.Exit(cli.ExitTimeout, fmt.Sprintf("the task %s continues; '%s' comes back to it", visible.Line(t.task), t.comeBack()))
}

// events is follow with the errors of an interrupted client.
func (t *talk) events(ctx context.Context) error {
	defer t.prompter.leave()
	t.prompter.draw()
	for e, err := range t.s.TaskEvents(ctx, t.task, t.last) {
		if err != nil {
			return t.s.Explain(err)
		}
		t.last = e.ID
		u, err := t.prompter.show(e.Data)
		if err != nil {
			return err
		}
		if err := t.stands(ctx, u); err != nil {
			return err
		}
		t.prompter.draw()
	}
	return t.prompter.broken()
}

// stands prints a status, or asks for the input that it waits for. u is nil for an event
// without a status.
func (t *talk) stands(ctx context.Context, u *update) error {
	if u == nil {
		return nil
	}
	t.prompter.state(u.Status.State)
	t.state = u.Status.State
	if waits(u.Status.State) || u.Status.Message != nil && u.Status.Message.Metadata.Approvals != nil {
		return t.paused(ctx, u)
	}
	return t.status(u)
}

// status prints the text of a status, and returns an error for a task that has not completed.
func (t *talk) status(u *update) error {
	text := statusText(u)
	switch state := tasks.ShortState(u.Status.State); {
	case tasks.Ended(state) && state != "completed":
		t.prompter.end()
		if t.call != nil {
			return &callError{text}
		}
		if text != "" {
			text = ": " + text
		}
		return fmt.Errorf("the task %s was %s%s", visible.Line(t.task), map[string]string{"failed": "ended by a failure", "canceled": "canceled", "rejected": "rejected"}[state], text)
	case text != "":
		t.prompter.note(text)
	}
	return nil
}

// statusText returns the texts of a status.
func statusText(u *update) string {
	if u.Status.Message == nil {
		return ""
	}
	return textOf(u.Status.Message.Parts)
}

// textOf returns the texts among parts.
func textOf(parts []part) string {
	var all []string
	for _, one := range parts {
		if one.Text != nil {
			all = append(all, visible.Text(*one.Text))
		}
	}
	return strings.Join(all, "\n")
}

// paused asks the person for the input that a task waits for, if it still waits.
func (t *talk) paused(ctx context.Context, u *update) error {
	all, err := t.s.ListApprovals(ctx, client.ApprovalQuery{Task: t.task, State: client.Pending}, cli.MaxListed)
	if err != nil {
		return err
	}
	if len(all.Items) == 0 {
		d, err := t.s.FindTask(ctx, t.task)
		if err != nil {
			return err
		}
		if t.call != nil && slices.ContainsFunc(d.Approvals, func(a client.Approval) bool { return a.State == client.Pending }) {
			return t.paused(ctx, u) // it was asked since the list: what is written next must not be taken for its answer
		}
		if !waits(d.Task.State) {
			if first, _, _ := strings.Cut(statusText(u), "\n"); d.Task.State == u.Status.State {
				t.prompter.note(first) // another agent waits
			}
			return nil // it has continued since
		}
		if text := statusText(u); text != "" {
			t.prompter.note(text)
		}
		if t.watches {
			return nil
		}
		return errWaits
	}
	t.prompter.end()
	for i := range all.Items {
		if err := t.decide(ctx, &all.Items[i]); err != nil {
			return err
		}
	}
	t.prompter.state("") // the next event has it
	return nil
}

// decide asks the person about an approval, and decides it.
func (t *talk) decide(ctx context.Context, listed *client.Approval) error {
	d, err := t.s.FindApproval(ctx, listed.ID)
	if err != nil {
		return err
	}
	a := &d.Approval
	if a.State != client.Pending {
		return nil
	}
	if t.call != nil {
		t.unknown = t.unknown || a.Kind == client.KindOutcome
		if err := t.undecidable(d); err != nil {
			return err
		}
	}
	switch {
	case t.watches, !d.May.Decide:
		t.prompter.note(approvals.WaitsText(d, t.watches))
		return nil
	case !t.prompter.person:
		return cli.Exit(cli.ExitRefused, fmt.Sprintf("the task %s waits for the approval %s of %s, and there is no terminal to ask on\nDecide it in a terminal, or see how to decide it without:\n%s", t.task, visible.Line(a.ID), visible.Line(a.Tool), t.s.Command("approvals", "approve", remote.ShortID(a.ID))))
	}
	t.prompter.approval(d)
	for {
		decision, err := t.prompter.answer(ctx, d, t.empty)
		if err != nil {
			return t.refusal(err)
		}
		decision.Digest = a.Digest
		_, err = t.s.Decide(ctx, a.ID, decision)
		var unknown *client.OutcomeError
		var refused *client.Error
		switch {
		case err == nil:
			if t.prompter.board != nil {
				t.prompter.board.decided(a, decision.Decision)
			}
			rejected := decision.Decision == client.Reject
			t.unknown = t.unknown && (a.Kind != client.KindOutcome || rejected)
			t.prompter.quiet = t.call != nil && rejected && a.Question == ""
			return nil
		case errors.As(err, &unknown):
			return t.s.Changed(err, visible.Line(a.ID)+" was decided", "approvals", "show", remote.ShortID(a.ID))
		case errors.As(err, &refused) && refused.Approval != nil && refused.Approval.State != client.Pending:
			t.prompter.note(approvals.ConflictText(refused.Approval, time.Now()))
			return nil
		}
		t.prompter.note("That was refused: " + visible.Text(t.s.Explain(err).Error()))
	}
}

// approval prints an approval.
func (d *prompter) approval(a *client.ApprovalDetail) {
	const frame = 3 // columns
	columns, title := terminal.Columns(d.stderr.Writer), "Approval needed"
	if d.board == nil {
		d.stderr.write(approvals.Text(a, columns, time.Now()))
		return
	}
	if a.Approval.Kind == client.KindQuestion {
		title = "Question"
	}
	d.stderr.write(framed(title, approvals.Text(a, columns-frame, time.Now())))
}

// comeBack returns the command that continues the conversation.
func (t *talk) comeBack() string { return t.s.Command("chat", "--task", remote.ShortID(t.task)) }

// refusal returns the error of a question that the person has not answered.
func (t *talk) refusal(err error) error {
	if t.call != nil {
		return t.unanswered(err)
	}
	return cli.Exit(cli.ExitRefused, fmt.Sprintf("nothing was decided here; '%[2]s' comes back to the task %[1]s", visible.Line(t.task), t.comeBack()))
}

// chat sends the person's lines, and follows each task.
func (t *talk) chat(ctx context.Context) error {
	lines := bufio.NewScanner(t.p.Stdin)
	lines.Buffer(nil, terminal.MaxRead)
	for first := t.task != ""; ; first = false {
		if !first {
			line, err := t.line(ctx, lines)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if strings.TrimSpace(line) == "" {
				continue
			}
			if err := t.say(ctx, line); err != nil {
				if cli.CodeOf(err) == cli.ExitUnknown || !t.prompter.person {
					return err
				}
				t.prompter.note("error: " + err.Error())
				continue
			}
		}
		err := t.follow(ctx)
		switch {
		case errors.Is(err, errWaits):
			continue // the next line is for this task
		case ctx.Err() != nil, cli.CodeOf(err) == cli.ExitRefused:
			return err
		case err != nil && !t.prompter.person:
			return err
		case err != nil:
			t.prompter.note(err.Error())
		}
		t.task, t.last = "", "" // the next line creates another task
	}
}

// line returns the person's next line.
func (t *talk) line(ctx context.Context, lines *bufio.Scanner) (string, error) {
	if t.prompter.person {
		line, err := t.prompter.keyboard.Line(ctx, "> ")
		if ctx.Err() != nil {
			err = io.EOF
		}
		return line, err
	}
	if lines.Scan() {
		return lines.Text(), nil
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("read the standard input: %w", err)
	}
	return "", io.EOF
}
