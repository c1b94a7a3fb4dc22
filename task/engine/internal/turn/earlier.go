package turn

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/internal/rules"
)

// spent returns [task.Progress].Spent for an owner.
func (t *Turn) spent(owner auth.Principal) func(context.Context) (int, error) {
	return func(ctx context.Context) (tokens int, _ error) {
		q := store.RowQuery{Kind: task.RowTokens, Index: task.IndexSpent, Prefix: task.SpentPrefix(owner.Tenant, owner.Subject, t.turns.env.Now()), Limit: 1000}
		for {
			page, err := t.turns.env.Store.Rows(ctx, t.Owner, q)
			if err != nil {
				return 0, fmt.Errorf("read what a caller has spent: %w", err)
			}
			for i := range page.Rows {
				n, err := strconv.Atoi(string(page.Rows[i].Value))
				if err != nil {
					return 0, fmt.Errorf("read what task %s has spent: %w", page.Rows[i].Task, err)
				}
				tokens += n
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				return tokens, nil
			}
		}
	}
}

// Bounds of the earlier tasks that a planner is told of. A task with a larger log is left out.
const (
	maxEarlier     = 50
	maxEarlierTask = 1 << 20
)

// earlier returns [task.Progress].Earlier of a task in a context.
func (ts *Turns) earlier(owner store.Scope, of store.TaskID, in string) func(context.Context, int) ([]task.EarlierTask, error) {
	return func(ctx context.Context, limit int) (all []task.EarlierTask, _ error) {
		page, err := ts.env.Store.Tasks(ctx, owner, store.Query{Context: in, Limit: maxEarlier})
		if err != nil {
			return nil, fmt.Errorf("list the earlier tasks of the context: %w", err)
		}
		for i := range page.Tasks {
			h := &page.Tasks[i]
			if h.Task == of || h.Phase != store.Final || h.Damaged {
				continue
			}
			f, _, err := ts.reader.Load(ctx, owner, h.Task, tasklog.Reading{Most: maxEarlierTask})
			switch {
			case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrDataLoss), err == nil && f == nil:
				continue
			case err != nil:
				return nil, err
			}
			earlier, err := rules.Earlier(f)
			if err != nil {
				return nil, err
			}
			if limit -= len(earlier.Asked) + len(earlier.Answered); limit < 0 {
				break
			}
			all = append(all, earlier)
		}
		return all, nil
	}
}
