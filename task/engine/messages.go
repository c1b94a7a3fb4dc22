package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/fold"
)

// repeats returns the task that the message with this hash has created, unless the task ended more than
// [store.WindowAge] ago. false: the message is new.
func (c *core) repeats(ctx context.Context, scope store.Scope, message store.Hash) (store.TaskID, bool, error) {
	for q := (store.RowQuery{Kind: task.RowMessage, Index: task.IndexMessage, Prefix: message[:], Keys: true}); ; {
		page, err := c.env.Store.Rows(ctx, scope, q)
		if err != nil {
			return store.TaskID{}, false, fmt.Errorf("look up the task of a message: %w", err)
		}
		for i := range page.Rows {
			id := page.Rows[i].Task
			if over, err := c.messageOver(ctx, id); err != nil || !over {
				return id, err == nil, err
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return store.TaskID{}, false, nil
		}
	}
}

// messageOver reports whether the message that created a task does not find it any more: the task is gone,
// or ended at least [store.WindowAge] ago. A damaged task may not have ended.
func (c *core) messageOver(ctx context.Context, id store.TaskID) (bool, error) {
	h, err := c.header(ctx, store.System(), id)
	switch {
	case errors.Is(err, task.ErrTaskNotFound):
		return true, nil
	case errors.Is(err, ErrDataLoss):
		return false, nil
	case err != nil:
		return false, err
	}
	return h.Phase == store.Final && c.env.Now().Sub(h.StatusTime.Time()) >= store.WindowAge, nil
}

// ForgetMessages removes the rows of messages that find their tasks no more, of all owners. Each removal is
// a batch of its own, so an interrupted call leaves the rest to the next.
func (t *Tasks) ForgetMessages(ctx context.Context) error {
	for q := (store.RowQuery{Kind: task.RowMessage, Limit: 500}); ; {
		page, err := t.core.env.Store.Rows(ctx, store.System(), q)
		if err != nil {
			return fmt.Errorf("read messages: %w", err)
		}
		var removals []*store.Commit
		for i := range page.Rows {
			row := &page.Rows[i]
			over, err := t.core.messageOver(ctx, row.Task)
			if err != nil {
				return fmt.Errorf("read the task of a message: %w", err)
			}
			if over {
				removals = append(removals, t.core.env.Store.Append(ctx, &store.Batch{
					Scope: store.System(), Task: row.Task, Rows: []store.RowChange{{Kind: row.Kind, Key: row.Key, IfRev: row.Rev, Delete: true}},
				}))
			}
		}
		for _, c := range removals {
			if _, err := c.Wait(); err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrConflict) {
				return fmt.Errorf("remove a message: %w", err)
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
	}
}

// maxWaiting is how many tasks [core.waiting] returns.
const maxWaiting = 5

// waiting returns the ids of tasks of a context that wait for decisions, those with the newest status
// first, and of at most maxWaiting tasks. A message without a context has none.
func (c *core) waiting(ctx context.Context, owner store.Scope, contextID string) (ids []string, _ error) {
	for q := (store.Query{Context: contextID, Limit: 1000}); contextID != ""; {
		page, err := c.env.Store.Tasks(ctx, owner, q)
		if err != nil {
			return nil, fmt.Errorf("list the tasks of a context: %w", err)
		}
		for i := range page.Tasks {
			if h := &page.Tasks[i]; h.Pending > 0 && h.Phase != store.Final {
				if ids = append(ids, h.Task.String()); len(ids) == maxWaiting {
					return ids, nil
				}
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	return ids, nil
}

// meanwhileOverlap is how long before the beginning of the newest task of a context ends still count as
// meanwhile, unless that task refers to them: they may have come while it began.
const meanwhileOverlap = time.Second

// endedMeanwhile returns the tasks of a context that have ended since its owner began the newest task there,
// the first end first. It leaves out tasks that ended without a rest, whose senders had their results; a crash
// counts as a rest. It looks at the tasks with the newest statuses only.
func (c *core) endedMeanwhile(ctx context.Context, owner store.Scope, contextID string) (ids []a2a.TaskID, _ error) {
	if contextID == "" {
		return nil, nil
	}
	page, err := c.env.Store.Tasks(ctx, owner, store.Query{Context: contextID, Limit: 2 * task.MaxMeanwhile})
	if err != nil {
		return nil, fmt.Errorf("list the tasks of a context: %w", err)
	}
	rested := slices.DeleteFunc(slices.Clone(page.Tasks), func(h store.Header) bool { return h.Phase != store.Final || h.Fence == 1 || h.Damaged })
	if len(rested) == 0 {
		return nil, nil
	}
	newest := slices.MaxFunc(page.Tasks, func(a, b store.Header) int { return bytes.Compare(a.Task[:], b.Task[:]) })
	begun, known, err := c.beginning(ctx, owner, newest.Task)
	if err != nil {
		return nil, err
	}
	for _, h := range slices.Backward(rested) {
		id := a2a.TaskID(h.Task.String())
		if h.StatusTime.Time().After(begun.Add(-meanwhileOverlap)) && !slices.Contains(known, id) {
			ids = append(ids, id)
		}
	}
	return ids[max(0, len(ids)-task.MaxMeanwhile):], nil
}

// beginning returns when a task was created, and the tasks to which its first message refers; zero if the task
// cannot be read.
func (c *core) beginning(ctx context.Context, owner store.Scope, id store.TaskID) (at time.Time, refers []a2a.TaskID, _ error) {
	page, err := c.env.Store.Read(ctx, owner, id, store.After(0), store.Limit{Events: 8, Bytes: 4 << 20})
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrDataLoss), err == nil && len(page.Events) == 0:
		return time.Time{}, nil, nil
	case err != nil:
		return time.Time{}, nil, fmt.Errorf("read the newest task of a context: %w", err)
	}
	var m struct {
		Refers []a2a.TaskID `json:"referenceTaskIds"`
	}
	if raw, ok := fold.Opening(&page.Events[0]); ok {
		_ = json.Unmarshal(raw, &m) // it was encoded here
	}
	begun, _ := fold.Begun(page.Events)
	return begun.Time(), m.Refers, nil
}
