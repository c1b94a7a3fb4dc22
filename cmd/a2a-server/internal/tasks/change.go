package tasks

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/display"
	"a2a-server/cmd/a2a-server/internal/remote"
	"a2a-server/internal/terminal"
	"a2a-server/internal/visible"
)

// change shows a task, asks the person the question unless they are sure, and changes it.
// past says what was done.
func change(ctx context.Context, p *cli.Program, s *remote.Server, text, question, past string, do func(context.Context, string) error, sure bool) error {
	id, err := s.TaskID(ctx, text)
	if err != nil {
		return err
	}
	if !sure {
		shown, err := s.FindTask(ctx, id)
		if err != nil {
			return err
		}
		text, err := taskText(s, shown, terminal.Columns(p.Stderr), time.Now())
		if err != nil {
			return err
		}
		if err := p.Confirm(ctx, text, question, shown.Caller.Subject); err != nil {
			return err
		}
	}
	if err := do(ctx, id); err != nil {
		return s.Changed(err, id+" was "+past, "tasks", "show", id)
	}
	return p.Printf("%s was %s\n", id, past)
}

func cancel(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{
		Use: "cancel [ID]", Short: "cancel any task in the tenant, or all tasks of an owner",
		Long: "Completed calls are not undone, and the task's approvals end. The audit records who canceled it.\n",
	}, "", false /* prints */)
	principal := c.Flags().String("principal", "", "All tasks of this `subject` that have not ended, such as key:ci.")
	sure := p.SureFlag(c.Command)
	c.Args = func(c *cobra.Command, args []string) error {
		if one := len(args) == 1 && args[0] != ""; one == (*principal != "") || !one && len(args) > 0 {
			return cli.Usage("%s takes the id of one task, or --principal; '%s' has them", cli.Within(c), cli.Again(c, "tasks", "list"))
		}
		return nil
	}
	return c.Do(func(ctx context.Context, s *remote.Server, args []string) error {
		if *principal != "" {
			return cancelAll(ctx, p, s, *principal, *sure)
		}
		return change(ctx, p, s, args[0], "Cancel this task", "canceled", s.CancelTask, *sure)
	})
}

func deleteCommand(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{
		Use: "delete ID", Short: "delete any ended task in the tenant",
		Long: "Its messages, results and approvals are deleted; its audit stays, and records who deleted it.\n",
	}, "task", false /* prints */)
	sure := p.SureFlag(c.Command)
	return c.Do(func(ctx context.Context, s *remote.Server, args []string) error {
		return change(ctx, p, s, args[0], "Delete this task with everything that belongs to it", "deleted", s.DeleteTask, *sure)
	})
}

// cancelAll cancels all tasks of an owner that have not ended.
func cancelAll(ctx context.Context, p *cli.Program, s *remote.Server, owner string, sure bool) error {
	all, err := s.ListTasks(ctx, client.TaskQuery{Principal: owner}, math.MaxInt)
	if err != nil {
		return err
	}
	open := slices.DeleteFunc(all.Items, func(t client.Task) bool { return Ended(t.State) })
	p.NoteReach(all.Reach, len(open))
	if len(open) == 0 {
		return p.Printf("%s has no tasks that have not ended\n", visible.Line(owner))
	}
	if !sure {
		if err := s.ConfirmAll(ctx, p, taskLines(open, time.Now()), "Cancel", "task", " of "+visible.Line(owner)); err != nil {
			return err
		}
	}
	var failed []error
	for i := range open {
		id := open[i].ID
		err := s.CancelTask(ctx, id)
		if refused, is := errors.AsType[*client.Error](err); is && refused.Reason == client.ReasonState {
			err = nil // it has ended since it was listed
		}
		if err != nil {
			failed = append(failed, s.Changed(err, id+" was canceled", "tasks", "show", id))
			if ctx.Err() != nil {
				break
			}
			continue
		}
		if err := p.Printf("%s was canceled\n", id); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

// CallsCommand returns the command calls.
func CallsCommand(p *cli.Program) *cobra.Command {
	return cli.Group("calls", "cancel one call of a task of a running server", cancelCall(p))
}

func cancelCall(p *cli.Program) *cobra.Command {
	c := remote.NewCommand(p, &cobra.Command{
		Use: "cancel TASK CALL", Short: "cancel one call of a task, which continues without it",
		Long: "Effects of the call so far are not undone. The audit records who canceled it.\n",
	}, "", false /* prints */)
	c.Args = func(c *cobra.Command, args []string) error {
		return cli.Exactly(c, args, "; '"+cli.Again(c, "tasks", "show", "TASK")+"' has the calls of a task", "the id of a task", "the id of one of its calls")
	}
	sure := p.SureFlag(c.Command)
	return c.Do(func(ctx context.Context, s *remote.Server, args []string) error {
		d, err := s.FindTask(ctx, args[0])
		if err != nil {
			return err
		}
		at := slices.IndexFunc(d.Calls, func(c client.Call) bool { return c.ID == args[1] })
		if at < 0 {
			return fmt.Errorf("task %s has no call %s; '%s' has its calls", d.Task.ID, visible.Quote(args[1], 80), s.Command("tasks", "show", remote.ShortID(d.Task.ID)))
		}
		call := &d.Calls[at]
		if !*sure {
			f := display.Facts{Columns: terminal.Columns(p.Stderr)}
			f.Add("call", callLine(call))
			f.Add("arguments", visible.Line(string(call.Arguments)))
			if err := p.Confirm(ctx, f.String(), "Cancel this call", d.Caller.Subject); err != nil {
				return err
			}
		}
		if err := s.CancelCall(ctx, d.Task.ID, call.ID); err != nil {
			return s.Changed(err, "the call was canceled", "tasks", "show", d.Task.ID)
		}
		return p.Printf("%s of %s was canceled\n", visible.Line(call.ID), d.Task.ID)
	})
}
