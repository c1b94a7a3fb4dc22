package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/record"
)

// messageRows is what an engine knows of the rows of messages.
type messageRows struct {
	// A row that is put anew has a rev that it had before, so a send replaces a row only if no removal was under
	// way since it was read: as many have begun as were done then.
	removalsBegun, removalsDone atomic.Uint64

	rests atomic.Bool // the last sweep was less than forgetAfter ago

	sweep sync.Mutex     // held by ForgetMessages; guards the fields below
	swept bool           // there was a sweep
	ended []store.TaskID // the tasks that had ended then, sorted; at most maxEnded
}

const (
	// forgetAfter is how long the process runs, at least, between two sweeps of messages.
	forgetAfter = time.Hour
	// forgetAtStart is how long ago tasks have ended, by the clock, whose messages the first sweep removes.
	forgetAtStart = 24 * time.Hour
	// maxEnded bounds the memory of a sweep to 16 MiB. The messages of other tasks wait for a later sweep.
	maxEnded = 1 << 20
)

// sentBefore returns the task that a message has created, zero if there is none or it is gone, and the rev of
// the row of the message. A damaged task has been created.
func (c *core) sentBefore(ctx context.Context, owner store.Scope, message [16]byte) (id store.TaskID, rev uint64, _ error) {
	page, err := c.env.Store.Rows(ctx, owner, store.RowQuery{Kind: record.KindMessage, Key: message[:]})
	if err != nil {
		return store.TaskID{}, 0, fmt.Errorf("look up the task of a message: %w", err)
	}
	if len(page.Rows) == 0 {
		return store.TaskID{}, 0, nil
	}
	id = record.MessageTask(&page.Rows[0])
	_, err = c.header(ctx, store.System(), id)
	switch {
	case errors.Is(err, task.ErrTaskNotFound):
		id = store.TaskID{}
	case err != nil && !errors.Is(err, store.ErrDataLoss):
		return store.TaskID{}, 0, fmt.Errorf("read the task of a message: %w", err)
	}
	return id, page.Rows[0].Rev, nil
}

// ForgetMessages removes the rows of messages, of all owners, whose tasks are gone or had ended at the last call:
// messages find their tasks for an hour of running time after the end, whatever the clock says. A call less than
// an hour of running time after the last one does nothing. The first call removes the rows of tasks that ended a
// day ago by the clock, because it is unknown how long processes have run since. An interrupted call leaves the
// rest to the next.
func (t *Tasks) ForgetMessages(ctx context.Context) error {
	m := &t.core.messages
	if m.rests.Load() || !m.sweep.TryLock() {
		return nil
	}
	defer m.sweep.Unlock()
	dayAgo := t.core.env.Now().Add(-forgetAtStart)
	var ended []store.TaskID
	for q := (store.RowQuery{Kind: record.KindMessage, Limit: 500}); ; {
		page, err := t.core.env.Store.Rows(ctx, store.System(), q)
		if err != nil {
			return fmt.Errorf("read messages: %w", err)
		}
		var removals []*store.Batch
		for i := range page.Rows {
			row := &page.Rows[i]
			if row.Damaged {
				continue
			}
			id := record.MessageTask(row)
			h, err := t.core.header(ctx, store.System(), id)
			switch _, had := slices.BinarySearchFunc(m.ended, id, compareIDs); {
			case errors.Is(err, task.ErrTaskNotFound):
			case errors.Is(err, store.ErrDataLoss):
				continue // it may not have ended
			case err != nil:
				return fmt.Errorf("read the task of a message: %w", err)
			case h.Phase != store.Final:
				continue
			case !had && (m.swept || !h.StatusTime.Time().Before(dayAgo)):
				if len(ended) < maxEnded {
					ended = append(ended, id)
				}
				continue
			}
			removals = append(removals, &store.Batch{
				Scope: row.Owner, Rows: []store.RowChange{{Kind: row.Kind, Key: row.Key, IfRev: row.Rev, Delete: true}},
			})
		}
		if err := t.core.removeMessages(ctx, removals); err != nil {
			return err
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	slices.SortFunc(ended, compareIDs)
	m.ended, m.swept = ended, true
	m.rests.Store(true)
	t.core.env.After(forgetAfter, func() { m.rests.Store(false) })
	return nil
}

// removeMessages removes rows of messages, and leaves those that have changed.
func (c *core) removeMessages(ctx context.Context, removals []*store.Batch) error {
	m := &c.messages
	m.removalsBegun.Add(1)
	defer func() { m.removalsDone.Add(1) }()
	commits := make([]*store.Commit, len(removals))
	for i, b := range removals {
		commits[i] = c.env.Store.Append(ctx, b)
	}
	var failed error
	for _, commit := range commits {
		if _, err := commit.Wait(); err != nil && !errors.Is(err, store.ErrConflict) {
			failed = fmt.Errorf("remove a message: %w", err)
		}
	}
	return failed
}

func compareIDs(a, b store.TaskID) int { return bytes.Compare(a[:], b[:]) }

// maxWaiting is how many tasks [core.waiting] returns.
const maxWaiting = 5

// waiting returns the ids of tasks of a context that wait for decisions, those with the newest status
// first, and of at most maxWaiting tasks. A message without a context has none.
func (c *core) waiting(ctx context.Context, owner store.Scope, contextID string) (ids []string, _ error) {
	if contextID == "" {
		return nil, nil
	}
	for h, err := range store.AllTasks(ctx, c.env.Store, owner, store.Query{Context: contextID, Limit: 1000}) {
		if err != nil {
			return nil, fmt.Errorf("list the tasks of a context: %w", err)
		}
		if h.Pending > 0 && h.Phase != store.Final {
			if ids = append(ids, h.Task.String()); len(ids) == maxWaiting {
				break
			}
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
