package engine

import (
	"errors"
	"time"

	"a2a-server/store"
	"a2a-server/task"
)

// patience is how long a task waits for its turn before its status says so.
const patience = time.Second

// setAlarm sets the one timer for all tasks that wait: for when a turn makes room by
// growing older, and for when a task says that it waits. e.mu must be held.
func (e *Engine) setAlarm(now time.Time) {
	at := e.lanes.ripe()
	if first := e.lanes.silent.first; first != nil && !e.saying {
		if say := first.of.since.Add(patience); at.IsZero() || say.Before(at) {
			at = say
		}
	}
	if at.IsZero() || !e.alarm.IsZero() && !at.Before(e.alarm) {
		return
	}
	e.alarmOff()
	e.alarm = at
	e.unset = e.after(max(at.Sub(now), 0), e.ring)
}

// alarmOff unsets the timer. e.mu must be held.
func (e *Engine) alarmOff() {
	if e.unset != nil {
		e.unset()
	}
	e.alarm, e.unset = time.Time{}, nil
}

// ring is the alarm.
func (e *Engine) ring() {
	e.mu.Lock()
	e.alarm, e.unset = time.Time{}, nil
	say := !e.draining && !e.saying && e.impatient()
	if say {
		e.saying = true
		e.busy.add()
	}
	e.mu.Unlock()
	if say {
		e.spawn(e.sayWhoWaits)
	}
	e.next()
}

// impatient reports whether a task has waited for long enough to say so. e.mu must be
// held.
func (e *Engine) impatient() bool {
	first := e.lanes.silent.first
	return first != nil && e.now().Sub(first.of.since) >= patience
}

// sayWhoWaits has the tasks say that they wait which have done so for long enough: one
// after the other, so that the disk has more to do with those that are at work.
func (e *Engine) sayWhoWaits() {
	defer e.busy.done()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.saying = false; !e.draining {
			e.setAlarm(e.now())
		}
	}()
	for w := e.nextSilent(); w != nil; w = e.nextSilent() {
		if err := e.sayWaits(w); err != nil && e.ctx.Err() == nil {
			e.log.Warn().Err(err).Str("task_id", w.task.String()).Msg("the status of a task that waits for its turn cannot be written")
		}
	}
}

// nextSilent returns a task that has to say that it waits, nil when none has.
func (e *Engine) nextSilent() *waiter {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining || !e.impatient() {
		return nil
	}
	w := e.lanes.silent.first.of
	w.silent.leave()
	return w
}

// sayWaits has a task say that it waits, if it still does: whatever its turn writes is in
// conflict with that, and comes after it or instead of it.
func (e *Engine) sayWaits(w *waiter) error {
	for {
		f, err := e.loadTurn(e.ctx, store.System(), w.task)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil || !e.waiting(w) {
			return err
		}
		_, err = e.write(e.ctx, store.System(), f, task.Queued{})
		switch {
		case err == nil:
			e.mu.Lock()
			e.said++
			e.mu.Unlock()
			return nil
		case errors.Is(err, task.ErrNoChange):
			return nil
		case !errors.Is(err, store.ErrConflict):
			return err
		}
	}
}

// waiting reports whether a task waits for its turn.
func (e *Engine) waiting(w *waiter) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lanes.waiters[w.task] == w
}
