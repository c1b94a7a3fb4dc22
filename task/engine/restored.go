package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/guard"
	"a2a-server/store"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
)

// MarkRestored tells a store that it was restored from a backup taken at a moment: the store waits
// for its operator ([Engine.Resume]), and each task that has not ended is brought up to date before
// it continues. now is the time for the audit. Call it before any engine uses the store. It may be
// called again with the same moment, after a crash or an error.
func MarkRestored(ctx context.Context, h store.Handle, moment, now time.Time) error {
	if moment.IsZero() {
		return errors.New("mark a restored store: the moment of the backup is missing")
	}
	r, err := putMark(ctx, h, moment.UTC(), now)
	if err != nil {
		return fmt.Errorf("mark a restored store: %w", err)
	}
	due, err := r.Due()
	if err != nil {
		return err
	}
	for q := (store.Query{Limit: 1000}); ; {
		page, err := h.Tasks(ctx, store.System(), q)
		if err != nil {
			return fmt.Errorf("mark a restored store: list its tasks: %w", err)
		}
		var asides []*store.Commit
		for i := range page.Tasks {
			if t := &page.Tasks[i]; t.Phase != store.Final && !t.Damaged { // nothing continues a damaged task
				asides = append(asides, h.Append(ctx, &store.Batch{Scope: store.System(), Task: t.Task, Due: []store.DueChange{due}}))
			}
		}
		for _, c := range asides {
			if _, err := c.Wait(); err != nil && !errors.Is(err, store.ErrNotFound) {
				return fmt.Errorf("mark a restored store: %w", err)
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
	}
}

// putMark writes the mark, with an audit entry, unless it is there.
func putMark(ctx context.Context, h store.Handle, moment, now time.Time) (*record.Restoration, error) {
	old, err := readMark(ctx, h)
	if err != nil || old.Moment.Equal(moment) && old.Resumed.IsZero() {
		return &old.Restoration, err
	}
	r := record.Restoration{V: record.Version, ID: rand.Text(), Moment: moment}
	b, err := (&mark{Restoration: r, rev: old.rev}).batch(approval.AuditRestored, auth.Principal{}, now)
	if err == nil {
		_, err = h.Append(ctx, b).Wait()
	}
	return &r, err
}

// mark is the mark of a restored store.
type mark struct {
	record.Restoration
	rev uint64 // of its row; 0: the store was never restored
}

// held returns the moment of the backup while the store waits for its operator, else zero.
func (m *mark) held() time.Time {
	if !m.Resumed.IsZero() {
		return time.Time{}
	}
	return m.Moment
}

func readMark(ctx context.Context, h store.Handle) (m mark, err error) {
	page, err := h.Rows(ctx, record.RestorationOwner(), store.RowQuery{Kind: record.KindRestored})
	if err != nil || len(page.Rows) == 0 {
		return m, err
	}
	m.rev = page.Rows[0].Rev
	m.Restoration, err = record.ParseRestoration(&page.Rows[0])
	return m, err
}

// batch returns the batch that writes the mark, with an audit entry.
func (m *mark) batch(what approval.AuditEvent, by auth.Principal, now time.Time) (*store.Batch, error) {
	row, err := m.Row(m.rev)
	if err != nil {
		return nil, err
	}
	entry, err := rules.OfStore(what, by, "a backup of "+m.Moment.Format(time.RFC3339), now)
	if err != nil {
		return nil, err
	}
	return &store.Batch{Scope: record.RestorationOwner(), Rows: []store.RowChange{row}, Audit: [][]byte{entry}}, nil
}

// restoration brings the tasks of a restored store up to date, and lets the store continue.
type restoration struct {
	env     *env.Env
	reader  *tasklog.Reader
	logs    logs
	audited func() // tells the watchers of the audit
	wake    func() // looks for due work again

	tasks   []restoredTask // before anything else
	current atomic.Int64   // of tasks, those that are up to date
	settled chan struct{}  // closed when they are up to date
	settle  func()         // closes it
}

// restoredTask is a task that was not brought up to date after restorations.
type restoredTask struct {
	id   store.TaskID
	rows []store.Due // the oldest backup first
}

func newRestoration(e *env.Env, r *tasklog.Reader, l logs, audited, wake func(), tasks []restoredTask) *restoration {
	settled := make(chan struct{})
	for i := range tasks {
		r.Unsettled.Store(tasks[i].id, tasks[i].restorations())
	}
	return &restoration{env: e, reader: r, logs: l, audited: audited, wake: wake, tasks: tasks, settled: settled, settle: sync.OnceFunc(func() { close(settled) })}
}

// restorations returns the ids of the restorations.
func (t *restoredTask) restorations() (ids []string) {
	for i := range t.rows {
		ids = append(ids, string(t.rows[i].Key))
	}
	return ids
}

// readRestored returns the mark of a store, and the tasks that are not up to date.
func readRestored(h store.Handle) (m mark, tasks []restoredTask, err error) {
	ctx := context.Background() // the reads are short
	if m, err = readMark(ctx, h); err != nil {
		return m, nil, fmt.Errorf("read whether the store was restored from a backup: %w", err)
	}
	if m.rev == 0 {
		return m, nil, nil
	}
	at := map[store.TaskID]int{}
	for after, more := store.DuePosition(""), true; more; {
		page, next, err := h.Due(ctx, 1, after, 1000)
		if err != nil {
			return m, nil, fmt.Errorf("read which tasks of the backup are not up to date: %w", err)
		}
		for i := range page {
			row := page[i]
			if after = row.Position; row.Kind != record.DueRestored {
				continue
			}
			if _, known := at[row.Task]; !known {
				at[row.Task] = len(tasks)
				tasks = append(tasks, restoredTask{id: row.Task})
			}
			t := &tasks[at[row.Task]]
			t.rows = append(t.rows, row)
		}
		more = next == 1 && len(page) > 0
	}
	for i := range tasks {
		slices.SortFunc(tasks[i].rows, func(a, b store.Due) int {
			x, _ := record.ParseDueRestored(&a) // a damaged row fails when it is handled
			y, _ := record.ParseDueRestored(&b)
			return cmp.Or(x.Moment.Compare(y.Moment), cmp.Compare(x.ID, y.ID))
		})
	}
	return m, tasks, nil
}

// settlers is how many tasks are brought up to date at the same time.
const settlers = 64

// settleTasks brings the tasks of a restored store up to date. It returns false if ctx or the
// engine ends first. A task that cannot be brought up to date stays as it is: the rules refuse all
// its inputs.
func (r *restoration) settleTasks(ctx context.Context) bool {
	var next atomic.Int64
	var running env.Group
	began := r.env.Now()
	for range min(settlers, len(r.tasks)) {
		running.Add()
		r.env.Begin(func() {
			defer running.Done()
			for i := next.Add(1) - 1; i < int64(len(r.tasks)) && ctx.Err() == nil && r.env.Ctx.Err() == nil; i = next.Add(1) - 1 {
				r.settleTask(ctx, &r.tasks[i])
			}
		})
	}
	if len(r.tasks) > 0 {
		r.env.Wait(running.None(), ctx.Done(), r.env.Ctx.Done())
	}
	if ctx.Err() != nil || r.env.Ctx.Err() != nil {
		return false
	}
	if n := len(r.tasks); n > 0 {
		r.env.Log.Info().Int("tasks", n).Dur("took_ms", r.env.Now().Sub(began)).Msg("tasks that were open at the moment of the backup were brought up to date")
	}
	r.settle()
	return true
}

// settleTask brings a task up to date, if that is possible.
func (r *restoration) settleTask(ctx context.Context, t *restoredTask) {
	err := r.changeTask(ctx, t)
	switch {
	case err == nil, errors.Is(err, store.ErrNotFound):
		r.reader.Unsettled.Delete(t.id)
		r.current.Add(1)
	case ctx.Err() == nil && r.env.Ctx.Err() == nil:
		r.env.Log.Error().Err(err).Str("task_id", t.id.String()).Msg("a task of the backup cannot be brought up to date: it stands still, and accepts nothing")
	}
}

func (r *restoration) changeTask(ctx context.Context, t *restoredTask) (err error) {
	defer guard.Recover(&err, "panic")
	for tries := 1; ; tries++ {
		err := r.logs.Changed(ctx, store.System(), t.id, rules.Restored{Rows: t.rows})
		again := errors.Is(err, store.ErrUnavailable) || errors.Is(err, ErrBusy)
		if !again || !r.env.Pause(env.RetryPause(tries)) {
			return err
		}
	}
}

// resume is [Engine.Resume].
func (r *restoration) resume(ctx context.Context, by auth.Principal) (moment time.Time, was bool, err error) {
	if err := by.May(auth.Admin); err != nil {
		return time.Time{}, false, err
	}
	for {
		m, err := readMark(ctx, r.env.Store)
		if err != nil {
			return time.Time{}, false, fmt.Errorf("resume the store: %w", err)
		}
		if m.held().IsZero() {
			return m.Moment, false, nil
		}
		m.Resumed = r.env.Now()
		b, err := m.batch(approval.AuditResumed, by, m.Resumed)
		if err == nil {
			_, err = r.env.Append(ctx, b, "", func(store.Receipt, error) {}) // awaitOperator sees it
		}
		switch {
		case errors.Is(err, store.ErrConflict):
			continue
		case err != nil:
			return time.Time{}, false, fmt.Errorf("resume the store: %w", err)
		}
		r.audited()
		r.resumed()
		r.env.Log.Warn().Time("moment", m.Moment).EmbedObject(principalLine{&by}).Msg("the restored store continues")
		return m.Moment, true, nil
	}
}

// resumed lets everything continue that waits for the operator.
func (r *restoration) resumed() {
	r.env.Resume()
	r.wake()
}

// awaitOperator waits until an engine on the store, which may be another one, is told to resume.
func (r *restoration) awaitOperator() {
	wake, stop := r.env.Store.WatchRows(store.System(), record.KindRestored)
	defer stop()
	for {
		m, err := readMark(r.env.Ctx, r.env.Store)
		if err == nil && m.held().IsZero() {
			r.resumed()
		}
		if r.env.Wait(r.env.Resumed(), wake, r.env.Ctx.Done()) != 1 {
			return
		}
	}
}
