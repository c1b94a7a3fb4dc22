// Package due does the work of due rows: deadlines, timers and deferred deletions. It knows when,
// and retries; a function says how.
package due

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/env"
)

const (
	batch      = 64
	workers    = 16
	firstRetry = time.Second     // after the first failure; twice as long each time
	maxRetry   = 5 * time.Minute // at most
	maxSleep   = time.Minute     // clocks jump; look at least this often
	clockJump  = 10 * time.Millisecond
)

// rows is the record of the rows that Run has begun. Only Run calls
// its methods, except for end.
type rows struct {
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
func (w *rows) skips(row *store.Due, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.busy[row.Position] || now.Before(w.failed[row.Position].again)
}

// begin takes a worker for a row, and reports whether one was free.
func (w *rows) begin(row *store.Due) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.busy) == workers {
		return false
	}
	w.busy[row.Position] = true
	return true
}

// end releases a worker. Any goroutine may call it.
func (w *rows) end(row *store.Due, now time.Time, err error) {
	w.mu.Lock()
	delete(w.busy, row.Position)
	switch {
	case err == nil:
		delete(w.failed, row.Position)
	case errors.Is(err, store.ErrReadOnly):
		w.over = err
	default:
		f := w.failed[row.Position]
		f.again = now.Add(min(firstRetry<<min(f.times, 16), maxRetry))
		if errors.Is(err, task.ErrNotYet) {
			f.again = now.Add(firstRetry)
		} else {
			f.times++
		}
		w.failed[row.Position] = f
	}
	w.mu.Unlock()
	env.Signal(w.ended)
}

// read records that all rows due at a time have been read: failed rows whose retry was
// due by then have been begun again, or are gone.
func (w *rows) read(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.failed, func(row store.DuePosition, f failedRow) bool { return !f.again.After(at) && !w.busy[row] })
}

// sleep returns how long there is nothing to begin, as far as is known.
func (w *rows) sleep(now time.Time) time.Duration {
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
func (w *rows) isOver() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// Work does due work. It is safe for concurrent use.
type Work struct {
	env    *env.Env
	handle func(store.Due) error
	wake   chan struct{}
}

// New returns Work that calls handle for each due row, concurrently. handle removes the row; if it
// returns an error, it is called again later.
func New(e *env.Env, handle func(store.Due) error) *Work {
	return &Work{env: e, handle: handle, wake: make(chan struct{}, 1)}
}

// Wake says that there may be other rows.
func (e *Work) Wake() { env.Signal(e.wake) }

// Run does due work until ctx or the engine ends, with a single timer.
func (e *Work) Run(ctx context.Context) error {
	w := &rows{ended: make(chan struct{}, 1), busy: map[store.DuePosition]bool{}, failed: map[store.DuePosition]failedRow{}}
	alarm := make(chan struct{}, 1)
	for read := true; ctx.Err() == nil && e.env.Ctx.Err() == nil; {
		if read {
			switch err := e.doDue(ctx, w); {
			case ctx.Err() != nil || e.env.Ctx.Err() != nil:
				continue // to the end: we are stopping
			case w.isOver() != nil: // told below
			case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrDataLoss):
				e.env.Log.Error().Err(err).Msg("deadlines and timers cannot be read; retrying")
				w.next = e.env.Now().Add(firstRetry)
				if errors.Is(err, store.ErrDataLoss) {
					w.next = e.env.Now().Add(maxSleep)
				}
			case err != nil:
				return fmt.Errorf("read due work: %w", err)
			}
		}
		if err := w.isOver(); err != nil {
			e.env.Log.Error().Err(err).Msg("deadlines and timers stop until a backup of the store is restored")
			e.env.Wait(ctx.Done(), e.env.Ctx.Done())
			return nil
		}
		now := e.env.Now()
		stop := e.env.After(max(w.sleep(now), time.Millisecond), func() { env.Signal(alarm) })
		if later := e.env.Now(); later.Sub(now) > clockJump || w.sleep(later) <= 0 {
			env.Signal(alarm) // the clock is past it, or was moved while it was set
		}
		// The end of a row can only change the next alarm.
		read = e.env.Wait(alarm, w.ended, e.wake, ctx.Done(), e.env.Ctx.Done()) != 1
		stop()
	}
	return nil
}

// doDue begins the rows that are due, and waits for a worker for each. Rows in progress or
// waiting for a retry are skipped, so that they do not block the rest.
func (e *Work) doDue(ctx context.Context, w *rows) error {
	begun, at := e.env.Now(), store.DuePosition("")
	for {
		now := e.env.Now()
		page, next, err := e.env.Store.Due(ctx, store.MillisOf(now), at, batch)
		if err != nil {
			return err
		}
		for i := range page {
			row := &page[i]
			if at = row.Position; w.skips(row, now) {
				continue
			}
			for !w.begin(row) {
				e.env.Wait(w.ended, ctx.Done(), e.env.Ctx.Done())
				if err := cmp.Or(w.isOver(), ctx.Err(), e.env.Ctx.Err()); err != nil {
					return err
				}
			}
			e.env.Begin(func() { e.do(w, row) })
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
func (e *Work) do(w *rows, row *store.Due) {
	err := errors.New("the goroutine of the due work was ended")
	defer func() { w.end(row, e.env.Now(), err) }()
	err = e.handle(*row)
	if err != nil && !errors.Is(err, task.ErrNotYet) && !errors.Is(err, store.ErrReadOnly) && e.env.Ctx.Err() == nil {
		e.env.Log.Warn().Err(err).Str("kind", row.Kind).Str("task_id", row.Task.String()).Msg("due work failed; retrying")
	}
}
