package scheduler

import "time"

// patience is how long a task waits for its turn before its status says so.
const patience = time.Second

// setAlarm sets the single timer for all waiting tasks: for when a turn grows old enough to
// make room, and for when a task's status has to say that it waits. s.mu must be held.
func (s *Scheduler) setAlarm(now time.Time) {
	at := s.queues.ripe()
	if first := s.queues.silent.first; first != nil && !s.announcing {
		if announce := first.of.since.Add(patience); at.IsZero() || announce.Before(at) {
			at = announce
		}
	}
	if at.IsZero() || !s.alarm.IsZero() && !at.Before(s.alarm) {
		return
	}
	s.alarmOff()
	s.alarm = at
	s.unset = s.Env.After(max(at.Sub(now), 0), s.ring)
}

// alarmOff unsets the timer. s.mu must be held.
func (s *Scheduler) alarmOff() {
	if s.unset != nil {
		s.unset()
	}
	s.alarm, s.unset = time.Time{}, nil
}

// ring runs when the alarm fires.
func (s *Scheduler) ring() {
	s.mu.Lock()
	s.alarm, s.unset = time.Time{}, nil
	announce := !s.draining && !s.announcing && s.impatient()
	if announce {
		s.announcing = true
		s.Env.Busy.Add()
	}
	s.mu.Unlock()
	if announce {
		s.Env.Spawn(s.announceAll)
	}
	s.Next()
}

// impatient reports whether a task has waited long enough for its status to say so. s.mu
// must be held.
func (s *Scheduler) impatient() bool {
	first := s.queues.silent.first
	return first != nil && s.Env.Now().Sub(first.of.since) >= patience
}

// announceAll updates the status of the tasks that have waited long enough, one after the
// other, so that this takes little of the disk from running tasks.
func (s *Scheduler) announceAll() {
	defer s.Env.Busy.Done()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.announcing = false; !s.draining {
			s.setAlarm(s.Env.Now())
		}
	}()
	for w := s.nextSilent(); w != nil; w = s.nextSilent() {
		announced, err := s.Announce(w.task, func() bool { return s.waiting(w) })
		switch {
		case announced:
			s.mu.Lock()
			s.announced++
			s.mu.Unlock()
		case err != nil && s.Env.Ctx.Err() == nil:
			s.Env.Log.Warn().Err(err).Str("task_id", w.task.String()).Msg("the status of a task that waits for its turn cannot be written")
		}
	}
}

// nextSilent returns a task whose status has to say that it waits, nil if there is none.
func (s *Scheduler) nextSilent() *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining || !s.impatient() {
		return nil
	}
	w := s.queues.silent.first.of
	w.silent.leave()
	return w
}

// waiting reports whether a task waits for its turn.
func (s *Scheduler) waiting(w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queues.waiters[w.task] == w
}
