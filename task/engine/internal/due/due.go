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

	"a2a-server/internal/guard"
	"a2a-server/store"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
)

const (
	batch      = 64
	firstRetry = time.Second     // after the first failure; twice as long each time
	maxRetry   = 5 * time.Minute // at most
	maxSleep   = time.Minute     // clocks jump; look at least this often
	clockJump  = 10 * time.Millisecond
	pause      = 3 * time.Second // before work that is to be done again
)

// ErrAgain is the error of work that is to be done again after a pause. It is begun at whole seconds,
// like all at [record.LookTime], so that rows are read once a second, however many there are.
var ErrAgain = errors.New("it is due again")

// rows is the record of the rows that Run has begun. Only Run calls
// its methods, except for end.
type rows struct {
	past    store.DuePosition // of the newest row that is looked at, in the order of the store: work of another kind comes after it
	workers int               // at most
	ended   chan struct{}     // a row was done, or has failed
	next    time.Time         // of the first row that was not due when all were read

	mu     sync.Mutex
	busy   map[store.DuePosition]bool // true: it was read again meanwhile, and may have another row at its position
	failed map[store.DuePosition]failedRow
}

// failedRow is a row after failed work, and the time of the retry.
type failedRow struct {
	times int
	again time.Time
}

// skips reports whether a row is in progress, or waits for its retry.
func (r *rows) skips(row *store.Due, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, busy := r.busy[row.Position]; busy {
		r.busy[row.Position] = true
		return true
	}
	return now.Before(r.failed[row.Position].again)
}

// begin takes a worker for a row, and reports whether one was free.
func (r *rows) begin(row *store.Due) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.busy) == r.workers {
		return false
	}
	r.busy[row.Position] = false
	return true
}

// end releases a worker. Any goroutine may call it.
func (r *rows) end(row *store.Due, now time.Time, err error) {
	r.mu.Lock()
	readAgain := r.busy[row.Position]
	delete(r.busy, row.Position)
	switch {
	case err == nil && readAgain:
		r.failed[row.Position] = failedRow{again: now.Add(time.Millisecond)} // after a read that is under way
	case err == nil:
		delete(r.failed, row.Position)
	case errors.Is(err, ErrAgain):
		r.failed[row.Position] = failedRow{again: now.Add(pause).Truncate(time.Second)}
	default:
		f := r.failed[row.Position]
		f.again = now.Add(min(firstRetry<<min(f.times, 16), maxRetry))
		if errors.Is(err, rules.ErrNotYet) {
			f.again = now.Add(firstRetry)
			if row.Kind == record.DueLook {
				f.again = f.again.Truncate(time.Second)
			}
		} else {
			f.times++
		}
		r.failed[row.Position] = f
	}
	r.mu.Unlock()
	env.Signal(r.ended)
}

// read records that all rows due at a time have been read: failed rows whose retry was
// due by then have been begun again, or are gone.
func (r *rows) read(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.failed, func(row store.DuePosition, f failedRow) bool {
		_, busy := r.busy[row]
		return !f.again.After(at) && !busy
	})
}

// sleep returns how long there is nothing to begin, as far as is known.
func (r *rows) sleep(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := now.Add(maxSleep)
	if !r.next.IsZero() && r.next.Before(first) {
		first = r.next
	}
	for row, f := range r.failed {
		if _, busy := r.busy[row]; f.again.Before(first) && !busy {
			first = f.again
		}
	}
	return first.Sub(now)
}

// Work does due work. It is safe for concurrent use.
type Work struct {
	Config
	env    *env.Env
	waits  func(*store.Due) bool
	handle func(store.Due) error
	wake   chan struct{}
}

// Config configures Work.
type Config struct {
	Workers int          // rows whose work is done at once
	Until   store.Millis // only rows up to a time; 0: all that are due
}

// New returns Work that calls handle for each due row, for up to c.Workers rows at once. handle removes
// the row; if it returns an error, it is called again later. A row for which waits returns true stays as
// it is until the next [Work.Wake] after waits returns false.
func New(e *env.Env, c Config, waits func(*store.Due) bool, handle func(store.Due) error) *Work {
	return &Work{Config: c, env: e, waits: waits, handle: handle, wake: make(chan struct{}, 1)}
}

// Wake says that there may be other rows.
func (w *Work) Wake() { env.Signal(w.wake) }

// Run does due work until ctx or the engine ends, with a single timer.
func (w *Work) Run(ctx context.Context) error {
	r := &rows{workers: w.Workers, ended: make(chan struct{}, 1), busy: map[store.DuePosition]bool{}, failed: map[store.DuePosition]failedRow{}}
	alarm := make(chan struct{}, 1)
	for read := true; ctx.Err() == nil && w.env.Ctx.Err() == nil; {
		if read {
			switch err := w.doDue(ctx, r); {
			case ctx.Err() != nil || w.env.Ctx.Err() != nil:
				continue // to the end: we are stopping
			case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrDataLoss):
				w.env.Log.Error().Err(err).Msg("deadlines and timers cannot be read; retrying")
				r.next = w.env.Now().Add(firstRetry)
				if errors.Is(err, store.ErrDataLoss) {
					r.next = w.env.Now().Add(maxSleep)
				}
			case err != nil:
				return fmt.Errorf("read due work: %w", err)
			}
		}
		now := w.env.Now()
		stop := w.env.After(max(r.sleep(now), time.Millisecond), func() { env.Signal(alarm) })
		if later := w.env.Now(); later.Sub(now) > clockJump || r.sleep(later) <= 0 {
			env.Signal(alarm) // the clock is past it, or was moved while it was set
		}
		// The end of a row can only change the next alarm.
		read = w.env.Wait(alarm, r.ended, w.wake, ctx.Done(), w.env.Ctx.Done()) != 1
		stop()
	}
	return nil
}

// doDue begins the rows that are due, and waits for a worker for each. Rows in progress or
// waiting for a retry are skipped, so that they do not block the rest.
func (w *Work) doDue(ctx context.Context, r *rows) error {
	begun, at := w.env.Now(), r.past
	for {
		now := w.env.Now()
		until := cmp.Or(w.Until, store.MillisOf(now))
		page, next, err := w.env.Store.Due(ctx, until, at, batch)
		if err != nil {
			return err
		}
		for i := range page {
			row := &page[i]
			if row.Kind == record.DueLook && w.Until == 0 {
				r.past = row.Position
			}
			if at = row.Position; w.waits(row) || r.skips(row, now) {
				continue
			}
			for !r.begin(row) {
				w.env.Wait(r.ended, ctx.Done(), w.env.Ctx.Done())
				if err := cmp.Or(ctx.Err(), w.env.Ctx.Err()); err != nil {
					return err
				}
			}
			w.env.Begin(func() { w.do(r, row) })
		}
		if next != 0 && next <= until {
			continue
		}
		if r.next = (time.Time{}); next != 0 && w.Until == 0 {
			r.next = next.Time()
		}
		r.read(begun)
		return nil
	}
}

// do does the work of a row, and ends it.
func (w *Work) do(r *rows, row *store.Due) {
	begun, err := w.env.Now(), errors.New("the goroutine of the due work was ended")
	defer func() {
		now := w.env.Now()
		if errors.Is(err, rules.ErrNotYet) || errors.Is(err, ErrAgain) {
			now = begun // what it found holds for then: a clock that has moved since must not put it off
		}
		r.end(row, now, err)
	}()
	err = w.work(row)
	if err != nil && !errors.Is(err, rules.ErrNotYet) && !errors.Is(err, ErrAgain) && w.env.Ctx.Err() == nil {
		w.env.Log.Warn().Err(err).Str("kind", row.Kind).Str("task_id", row.Task.String()).Msg("due work failed; retrying")
	}
}

func (w *Work) work(row *store.Due) (err error) {
	defer guard.Recover(&err, "panic")
	return w.handle(*row)
}
