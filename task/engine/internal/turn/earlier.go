package turn

import (
	"context"
	"fmt"
	"strconv"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
)

// spent returns [task.Progress].Spent for an owner.
func (t *Turn) spent(owner auth.Principal) func(context.Context) (int, error) {
	return func(ctx context.Context) (tokens int, _ error) {
		q := store.RowQuery{Kind: record.KindTokens, Index: record.IndexSpent, Prefix: record.SpentPrefix(owner.Tenant, owner.Subject, t.turns.Env.Now()), Limit: 1000}
		for row, err := range store.AllRows(ctx, t.turns.Env.Store, t.Owner, q) {
			if err != nil {
				return 0, fmt.Errorf("read what a caller has spent: %w", err)
			}
			n, err := strconv.Atoi(string(row.Value))
			if err != nil {
				return 0, fmt.Errorf("read what task %s has spent: %w", row.Task, err)
			}
			tokens += n
		}
		return tokens, nil
	}
}

// earlier returns [task.Progress].Earlier of a task in a context.
func (ts *Turns) earlier(owner store.Scope, of store.TaskID, in string) func(context.Context, int) ([]task.EarlierTask, error) {
	return func(ctx context.Context, limit int) (all []task.EarlierTask, _ error) {
		err := ts.Reader.Earlier(ctx, owner, in, of.String(), func(f *fold.Fold) (more bool, _ error) {
			earlier, err := rules.Earlier(f)
			if err != nil {
				return false, err
			}
			if limit -= len(earlier.Asked) + len(earlier.Answered); limit < 0 {
				return false, nil
			}
			all = append(all, earlier)
			return true, nil
		})
		if err != nil {
			return nil, err
		}
		return all, nil
	}
}

// meanwhile returns [task.Progress].Meanwhile of p, for the owner of its task.
func (ts *Turns) meanwhile(owner store.Scope, p *task.Progress) func(context.Context) ([]task.EndedTask, error) {
	return func(ctx context.Context) (all []task.EndedTask, _ error) {
		if len(p.Messages) == 0 {
			return nil, nil
		}
		for _, name := range p.Messages[0].Message.ReferenceTasks {
			id, ok := store.ParseTaskID(string(name))
			if !ok || len(all) == task.MaxMeanwhile {
				continue
			}
			f, h, err := ts.Reader.Ended(ctx, owner, id)
			if err != nil {
				return nil, fmt.Errorf("read task %s, to which a message refers: %w", id, err)
			}
			if h.Phase != store.Final {
				continue
			}
			t := task.EndedTask{ID: id.String(), State: task.StateName(h.State), Ended: task.Ended{At: h.StatusTime.Time()}}
			if f != nil {
				t.Ended = rules.Ended(f)
			}
			all = append(all, t)
		}
		return all, nil
	}
}
