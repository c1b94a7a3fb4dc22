package app

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/client"
	"a2a-server/internal/visible"
)

// changeTask shows a task, asks the person the question unless they are sure, and changes it.
// past says what was done.
func (p *program) changeTask(ctx context.Context, s *server, text, question, past string, do func(context.Context, string) error, sure bool) error {
	id, err := s.taskID(ctx, text)
	if err != nil {
		return err
	}
	if !sure {
		shown, err := s.task(ctx, id)
		if err != nil {
			return err
		}
		text, err := taskText(shown, columnsOf(p.stderr), time.Now())
		if err != nil {
			return err
		}
		if err := p.confirm(ctx, text, question, shown.Caller.Subject); err != nil {
			return err
		}
	}
	if err := do(ctx, id); err != nil {
		return s.changed(err, id+" was "+past, "a2a-server tasks show "+id)
	}
	_, err = fmt.Fprintf(p.stdout, "%s was %s\n", id, past)
	return err
}

func (p *program) tasksCancel() *cobra.Command {
	c := p.remote(&cobra.Command{
		Use: "cancel [ID]", Short: "cancel any task in the tenant, or all tasks of an owner",
		Long: "Completed calls are not undone, and the task's approvals end. The audit records who canceled it.\n",
	}, "", false /* prints */)
	principal := c.Flags().String("principal", "", "All tasks of this `subject` that have not ended, such as key:ci.")
	sure := p.sureFlag(c.Command)
	c.Args = func(c *cobra.Command, args []string) error {
		if one := len(args) == 1 && args[0] != ""; one == (*principal != "") || !one && len(args) > 0 {
			return usage("%s takes the id of one task, or --principal; 'a2a-server tasks list' has them", within(c))
		}
		return nil
	}
	return c.asks(func(ctx context.Context, s *server, args []string) error {
		if *principal != "" {
			return p.cancelAll(ctx, s, *principal, *sure)
		}
		return p.changeTask(ctx, s, args[0], "Cancel this task", "canceled", s.CancelTask, *sure)
	})
}

func (p *program) tasksDelete() *cobra.Command {
	c := p.remote(&cobra.Command{
		Use: "delete ID", Short: "delete any ended task in the tenant",
		Long: "Its messages, results and approvals are deleted; its audit stays, and records who deleted it.\n",
	}, "task", false /* prints */)
	sure := p.sureFlag(c.Command)
	return c.asks(func(ctx context.Context, s *server, args []string) error {
		return p.changeTask(ctx, s, args[0], "Delete this task with everything that belongs to it", "deleted", s.DeleteTask, *sure)
	})
}

// cancelAll cancels all tasks of an owner that have not ended.
func (p *program) cancelAll(ctx context.Context, s *server, owner string, sure bool) error {
	all, err := s.tasks(ctx, client.TaskQuery{Principal: owner}, math.MaxInt)
	if err != nil {
		return err
	}
	open := slices.DeleteFunc(all.Items, func(t client.Task) bool { return ended(t.State) })
	if len(open) == 0 {
		_, err := fmt.Fprintf(p.stdout, "%s has no tasks that have not ended\n", visible.Line(owner))
		return err
	}
	if !sure {
		question := fmt.Sprintf("Cancel these %d tasks of %s", len(open), visible.Line(owner))
		if len(open) == 1 {
			question = "Cancel this task of " + visible.Line(owner)
		}
		if err := p.confirmAll(ctx, s, taskLines(open, time.Now()), question); err != nil {
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
			failed = append(failed, s.changed(err, id+" was canceled", "a2a-server tasks show "+id))
			if ctx.Err() != nil {
				break
			}
			continue
		}
		if _, err := fmt.Fprintf(p.stdout, "%s was canceled\n", id); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

func (p *program) callsCommand() *cobra.Command {
	return group("calls", "cancel one call of a task of a running server", p.callsCancel())
}

func (p *program) callsCancel() *cobra.Command {
	c := p.remote(&cobra.Command{
		Use: "cancel TASK CALL", Short: "cancel one call of a task, which continues without it",
		Long: "Effects of the call so far are not undone. The audit records who canceled it.\n",
	}, "", false /* prints */)
	takes(c.Command, "; 'a2a-server tasks show' has the calls of a task", "the id of a task", "the id of one of its calls")
	sure := p.sureFlag(c.Command)
	return c.asks(func(ctx context.Context, s *server, args []string) error {
		d, err := s.task(ctx, args[0])
		if err != nil {
			return err
		}
		at := slices.IndexFunc(d.Calls, func(c client.Call) bool { return c.ID == args[1] })
		if at < 0 {
			return fmt.Errorf("task %s has no call %s; 'a2a-server tasks show %s' has its calls", d.Task.ID, visible.Quote(args[1], 80), short(d.Task.ID))
		}
		call := &d.Calls[at]
		if !*sure {
			f := facts{columns: columnsOf(p.stderr)}
			f.add("call", callLine(call))
			f.add("arguments", visible.Line(string(call.Arguments)))
			if err := p.confirm(ctx, f.String(), "Cancel this call", d.Caller.Subject); err != nil {
				return err
			}
		}
		if err := s.CancelCall(ctx, d.Task.ID, call.ID); err != nil {
			return s.changed(err, "the call was canceled", "a2a-server tasks show "+d.Task.ID)
		}
		_, err = fmt.Fprintf(p.stdout, "%s of %s was canceled\n", visible.Line(call.ID), d.Task.ID)
		return err
	})
}
