package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/rules"
)

const (
	childTimeout = 30 * time.Second
	dueBatch     = 64
	dueWorkers   = 16
	dueRetry     = time.Second     // after the first failure; twice as long each time
	maxDueRetry  = 5 * time.Minute // at most
	maxSleep     = time.Minute     // clocks jump; look at least this often
	clockJump    = 10 * time.Millisecond
)

// dueWork is the scheduler's record of the rows that it has begun. Only the scheduler calls
// its methods, except for end.
type dueWork struct {
	ended chan struct{} // a row was done, or has failed
	next  time.Time     // of the first row that was not due when all were read

	mu     sync.Mutex
	busy   map[store.DuePosition]bool
	failed map[store.DuePosition]failedRow
	over   error // the store cannot write any more, permanently
}

// failedRow is a row after failed work, and the time of the retry.
type failedRow struct {
	times int
	again time.Time
}

// skips reports whether a row is in progress, or waits for its retry.
func (w *dueWork) skips(row *store.Due, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.busy[row.Position] || now.Before(w.failed[row.Position].again)
}

// begin takes a worker for a row, and reports whether one was free.
func (w *dueWork) begin(row *store.Due) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.busy) == dueWorkers {
		return false
	}
	w.busy[row.Position] = true
	return true
}

// end releases a worker. Any goroutine may call it.
func (w *dueWork) end(row *store.Due, now time.Time, err error) {
	w.mu.Lock()
	delete(w.busy, row.Position)
	switch {
	case err == nil:
		delete(w.failed, row.Position)
	case errors.Is(err, store.ErrReadOnly):
		w.over = err
	default:
		f := w.failed[row.Position]
		f.again = now.Add(min(dueRetry<<min(f.times, 16), maxDueRetry))
		if errors.Is(err, rules.ErrNotYet) {
			f.again = now.Add(dueRetry)
		} else {
			f.times++
		}
		w.failed[row.Position] = f
	}
	w.mu.Unlock()
	signal(w.ended)
}

// read records that all rows due at a time have been read: failed rows whose retry was
// due by then have been begun again, or are gone.
func (w *dueWork) read(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.failed, func(row store.DuePosition, f failedRow) bool { return !f.again.After(at) && !w.busy[row] })
}

// sleep returns how long there is nothing to begin, as far as is known.
func (w *dueWork) sleep(now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := now.Add(maxSleep)
	if !w.next.IsZero() && w.next.Before(first) {
		first = w.next
	}
	for row, f := range w.failed {
		if f.again.Before(first) && !w.busy[row] {
			first = f.again
		}
	}
	return first.Sub(now)
}

// isOver returns why due work has stopped for good, nil if it has not.
func (w *dueWork) isOver() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// schedule does due work until ctx or the engine ends, with a single timer.
func (e *Engine) schedule(ctx context.Context) error {
	w := &dueWork{ended: make(chan struct{}, 1), busy: map[store.DuePosition]bool{}, failed: map[store.DuePosition]failedRow{}}
	alarm := make(chan struct{}, 1)
	for read := true; ctx.Err() == nil && e.ctx.Err() == nil; {
		if read {
			switch err := e.doDue(ctx, w); {
			case ctx.Err() != nil || e.ctx.Err() != nil:
				continue // to the end: we are stopping
			case w.isOver() != nil: // told below
			case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrDataLoss):
				e.log.Error().Err(err).Msg("deadlines and timers cannot be read; retrying")
				w.next = e.now().Add(dueRetry)
				if errors.Is(err, store.ErrDataLoss) {
					w.next = e.now().Add(maxSleep)
				}
			case err != nil:
				return fmt.Errorf("read due work: %w", err)
			}
		}
		if err := w.isOver(); err != nil {
			e.log.Error().Err(err).Msg("deadlines and timers stop until a backup of the store is restored")
			e.wait(ctx.Done(), e.ctx.Done())
			return nil
		}
		now := e.now()
		stop := e.after(max(w.sleep(now), time.Millisecond), func() { signal(alarm) })
		if later := e.now(); later.Sub(now) > clockJump || w.sleep(later) <= 0 {
			signal(alarm) // the clock is past it, or was moved while it was set
		}
		// The end of a row can only change the next alarm.
		read = e.wait(alarm, w.ended, e.due, ctx.Done(), e.ctx.Done()) != 1
		stop()
	}
	return nil
}

// doDue begins the rows that are due, and waits for a worker for each. Rows in progress or
// waiting for a retry are skipped, so that they do not block the rest.
func (e *Engine) doDue(ctx context.Context, w *dueWork) error {
	begun, at := e.now(), store.DuePosition("")
	for {
		now := e.now()
		rows, next, err := e.store.Due(ctx, store.MillisOf(now), at, dueBatch)
		if err != nil {
			return err
		}
		for i := range rows {
			row := &rows[i]
			if at = row.Position; w.skips(row, now) {
				continue
			}
			for !w.begin(row) {
				e.wait(w.ended, ctx.Done(), e.ctx.Done())
				if err := cmp.Or(w.isOver(), ctx.Err(), e.ctx.Err()); err != nil {
					return err
				}
			}
			e.begin(func() { e.do(w, row) })
		}
		if next != 0 && next <= store.MillisOf(now) {
			continue
		}
		if w.next = (time.Time{}); next != 0 {
			w.next = next.Time()
		}
		w.read(begun)
		return nil
	}
}

// do does the work of a row, and ends it.
func (e *Engine) do(w *dueWork, row *store.Due) {
	err := errors.New("the goroutine of the due work was ended")
	defer func() { w.end(row, e.now(), err) }()
	err = e.handle(*row)
	if err != nil && !errors.Is(err, rules.ErrNotYet) && !errors.Is(err, store.ErrReadOnly) && e.ctx.Err() == nil {
		e.log.Warn().Err(err).Str("kind", row.Kind).Str("task_id", row.Task.String()).Msg("due work failed; retrying")
	}
}

// handle does the work of a due row. The row is removed in the same batch.
func (e *Engine) handle(row store.Due) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	e.at(PointDue)
	if row.Damaged {
		return fmt.Errorf("%w: due work", store.ErrDataLoss)
	}
	switch row.Kind {
	case store.DueDelete:
		err = e.store.Delete(e.ctx, store.System(), row.Task, nil /* audit: its first step is done */)
	case task.DueExpiry:
		err = e.changed(e.ctx, store.System(), row.Task, rules.Expiry{Row: row})
	case task.DueProviderTimeout:
		err = e.changed(e.ctx, store.System(), row.Task, rules.ProviderTimeout{Row: row})
	case task.DueWake:
		err = e.changed(e.ctx, store.System(), row.Task, rules.Wake{Row: row})
		if t := e.running(row.Task); t != nil && errors.Is(err, rules.ErrNotYet) {
			t.tell()
		}
	case task.DueChildCancel:
		err = e.childCancel(row)
	default:
		err = fmt.Errorf("due work of kind %q is not known to this program: use the newer one that wrote it", row.Kind)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// childCancel does due work of kind [task.DueChildCancel].
func (e *Engine) childCancel(row store.Due) error {
	f, err := e.loadTurn(e.ctx, store.System(), row.Task)
	if err != nil {
		return err
	}
	var p rules.ChildCancel
	if err := json.Unmarshal(row.Payload, &p); err != nil {
		return fmt.Errorf("decode child cancel: %w", err)
	}
	if p.Kept {
		var kept bool
		if p.State, kept = f.Kept(p.Call); !kept {
			return e.changed(e.ctx, store.System(), row.Task, rules.ChildCancelResult{Row: row, Nothing: true})
		}
	}
	failed := e.cancelChild(&p, f)
	_, unreachable := errors.AsType[*unreachableError](failed)
	return e.changed(e.ctx, store.System(), row.Task, rules.ChildCancelResult{Row: row, Failed: failed, Unreachable: unreachable})
}

// cancelChild tells the tool of a canceled call to cancel its remote work, in the context of
// the task's owner. A tool that does not return in time has failed; its goroutine is
// abandoned.
func (e *Engine) cancelChild(p *rules.ChildCancel, f *fold.Fold) error {
	ctx, cancel := e.within(e.ctx, childTimeout, context.DeadlineExceeded)
	defer cancel()
	by := e.rules().Owned(ctx, f)
	err, returned := callWithin(ctx, e, func() error { return e.tellChild(by, p) })
	if returned {
		return err
	}
	return fmt.Errorf("the tool %s has not returned: %w", p.Tool, cmp.Or(context.Cause(ctx), errors.New("it ended its goroutine")))
}
