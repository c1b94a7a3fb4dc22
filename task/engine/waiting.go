package engine

import (
	"errors"
	"time"

	"a2a-server/store"
	"a2a-server/task/internal/rules"
)

// patience is how long a task waits for its turn before its status says so.
const patience = time.Second

// setAlarm sets the single timer for all waiting tasks: for when a turn grows old enough to
// make room, and for when a task's status has to say that it waits. e.mu must be held.
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

// ring runs when the alarm fires.
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

// impatient reports whether a task has waited long enough for its status to say so. e.mu
// must be held.
func (e *Engine) impatient() bool {
	first := e.lanes.silent.first
	return first != nil && e.now().Sub(first.of.since) >= patience
}

// sayWhoWaits updates the status of the tasks that have waited long enough, one after the
// other, so that this takes little of the disk from running tasks.
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

// nextSilent returns a task whose status has to say that it waits, nil if there is none.
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

// sayWaits appends a status update: the task waits for a turn. It writes nothing once the task
// has left the queue, and retries on a conflict.
func (e *Engine) sayWaits(w *waiter) error {
	for {
		f, err := e.loadTurn(e.ctx, store.System(), w.task)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil || !e.waiting(w) {
			return err
		}
		_, err = e.write(e.ctx, store.System(), f, rules.Queued{})
		switch {
		case err == nil:
			e.mu.Lock()
			e.said++
			e.mu.Unlock()
			return nil
		case errors.Is(err, rules.ErrNoChange):
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
