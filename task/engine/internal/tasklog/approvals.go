package tasklog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/record"
)

// ReadApproval decodes the row of an approval.
func ReadApproval(row *store.Row) (a approval.Approval, err error) {
	if row.Damaged {
		return a, store.ErrDataLoss
	}
	err = json.Unmarshal(row.Value, &a)
	if err == nil {
		err = a.CheckVersion()
	}
	if err != nil {
		return a, fmt.Errorf("%w: approval %s: %w", store.ErrDataLoss, row.Key, err)
	}
	return a, nil
}

// Approval returns an approval of a task, or an *[approval.Error] with ReasonUnknown.
func (r *Reader) Approval(ctx context.Context, scope store.Scope, of store.TaskID, id string) (*approval.Approval, error) {
	rows, err := r.env.Store.Rows(ctx, scope, store.RowQuery{Kind: record.KindApproval, Task: of, Key: []byte(id)})
	if err != nil {
		return nil, err
	}
	if len(rows.Rows) == 0 {
		return nil, approval.Unknown(id, nil)
	}
	one, err := ReadApproval(&rows.Rows[0])
	return &one, err
}

// pendingBytes is how many bytes of approvals EachPending reads at a time.
const pendingBytes = 256 << 10

// EachPending calls yield with the pending approvals of all tasks, and their tasks, until yield returns
// false or the engine ends. It reports whether it has read all of them; an approval that is damaged is left
// out. The log says what cannot be read, and otherwise, the consequence.
func (r *Reader) EachPending(otherwise string, yield func(store.TaskID, *approval.Approval) bool) (all bool) {
	q := store.RowQuery{Kind: record.KindApproval, Index: record.IndexPending, Bytes: pendingBytes}
	for row, err := range store.AllRows(r.env.Ctx, r.env.Store, store.System(), q) {
		if err != nil {
			if r.env.Ctx.Err() == nil {
				r.env.Log.Error().Err(err).Msg("pending approvals cannot be read; " + otherwise)
			}
			return false
		}
		a, err := ReadApproval(row)
		if err != nil {
			r.env.Log.Error().Err(err).Str("task_id", row.Task.String()).Msg("an approval cannot be read; " + otherwise)
		} else if !yield(row.Task, &a) {
			return false
		}
	}
	return true
}

// Translate turns errors of the store into errors of tasks.
func Translate(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return task.ErrTaskNotFound
	}
	return err
}
