package engine

import (
	"time"

	"a2a-server/auth"
	"a2a-server/store"
)

// BusyError says why no more tasks are accepted right now. It is an [ErrBusy].
type BusyError struct {
	Why string // for a person
}

// Error returns the reason and the next step.
func (e *BusyError) Error() string { return e.Why + ": try again later" }

// Is makes every BusyError an ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// ErrBusy means that no more tasks are accepted right now: the queue for turns is full,
// or the server is shutting down. Nothing has been written. A decision is never refused
// because the queue is full.
var ErrBusy error = &BusyError{Why: "the server cannot accept this now"}

// Load is the current load of an engine.
type Load struct {
	Turns     int    // tasks that have a turn
	Long      int    // of Turns, the turns older than a second; may lag until a turn is needed
	Waiting   int    // tasks that wait for a turn
	Announced uint64 // tasks whose status has said that they wait for a turn, since the engine was created
}

// Load returns the load of the engine.
func (e *Engine) Load() Load {
	e.mu.Lock()
	defer e.mu.Unlock()
	return Load{Turns: e.lanes.used.held(), Long: e.lanes.used.long, Waiting: len(e.lanes.waiters), Announced: e.said}
}

// LoadOf returns a caller's share of the load; Announced counts the tasks of all callers.
func (e *Engine) LoadOf(by auth.Principal) Load {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := Load{Announced: e.said}
	if n := e.lanes.lanes[ownerOf(by)]; n != nil {
		l.Turns, l.Long, l.Waiting = n.used.held(), n.used.long, n.waiting
	}
	return l
}

// admit gives a task the right to run here: a turn if there is room, else a place in the
// queue, in t.waits.
func (e *Engine) admit(t *turn, c class) (run bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining {
		return false, ErrBusy
	}
	// A turn that the task still has is about to leave.
	if e.turns[t.id] == nil && e.lanes.take(&t.place, t.owner, c, e.now()) {
		e.turns[t.id] = t
		e.busy.add()
		return true, nil
	}
	w := &waiter{task: t.id, owner: t.owner, class: c}
	if full := e.lanes.reserve(w); full != nil {
		return false, &BusyError{Why: tooMany(full, "tasks", "a turn")}
	}
	t.waits = w
	return false, nil
}

// enqueue makes a live task wait for a turn.
func (e *Engine) enqueue(w *waiter) {
	e.mu.Lock()
	if !e.draining { // else it is live on disk: the next process recovers it
		e.lanes.wait(w, e.now())
	}
	e.mu.Unlock()
	e.next()
}

// leave releases the turn of t and starts the next waiting task. A task that its turn
// could not continue is retried with backoff.
func (e *Engine) leave(t *turn) {
	e.mu.Lock()
	if e.turns[t.id] == t {
		delete(e.turns, t.id)
	}
	e.lanes.free(&t.place)
	switch {
	case t.follows != nil && !e.draining:
		e.lanes.wait(t.follows, e.now())
	case t.failed && !e.draining:
		e.failures[t.id]++
		again := &waiter{task: t.id, owner: t.owner, fence: t.fence, class: other}
		e.after(retryPause(e.failures[t.id]), func() { e.enqueue(again) })
	case !t.failed:
		delete(e.failures, t.id)
	}
	if e.draining && len(e.turns) == 0 && !closed(e.idle) {
		close(e.idle)
	}
	waiting := len(e.lanes.waiters) > 0
	e.mu.Unlock()
	t.end()
	e.busy.done()
	if waiting {
		e.next()
	}
}

// retryPause is how long a task waits after n turns in a row could not continue it.
func retryPause(n int) time.Duration {
	return min(100*time.Millisecond<<min(n, 10), time.Minute)
}

// next starts turns for waiting tasks, as far as there is room.
func (e *Engine) next() {
	for {
		e.mu.Lock()
		if e.draining {
			e.mu.Unlock()
			return
		}
		now := e.now()
		w := e.lanes.next(now)
		if w == nil {
			e.setAlarm(now)
			e.mu.Unlock()
			return
		}
		if last := e.turns[w.task]; last != nil { // it is about to leave
			if f := last.follows; f == nil || f.fence < w.fence {
				if f != nil {
					e.lanes.came(f)
				}
				last.follows = w
				e.lanes.comes(w)
			}
			e.mu.Unlock()
			continue
		}
		t := e.newTurn(w.task, w.owner)
		t.fence = w.fence
		e.lanes.hold(&t.place, w.owner, w.class, now)
		e.turns[w.task] = t
		e.busy.add()
		e.mu.Unlock()
		e.spawn(t.runQueued)
	}
}

// settle moves a task that waits for its turn, or is about to wait, to the class settled,
// so that other classes do not delay it.
func (e *Engine) settle(id store.TaskID) {
	e.mu.Lock()
	waits := e.lanes.settle(id)
	e.mu.Unlock()
	if waits {
		e.next()
	}
}

// forget removes a task that has ended from the queue.
func (e *Engine) forget(id store.TaskID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lanes.forget(id)
}
