package engine

import (
	"fmt"
	"time"

	"a2a-server/auth"
	"a2a-server/store"
)

// BusyError says why no more tasks are taken right now. It is an [ErrBusy].
type BusyError struct {
	Why string // for a person
}

// Error says why, and what to do.
func (e *BusyError) Error() string { return e.Why + ": try again later" }

// Is makes every BusyError an ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// ErrBusy is returned when no more tasks can be taken right now: as many wait for a turn
// as may, or the server is shutting down. Nothing has been written then. It is never the
// answer to a decision for want of room.
var ErrBusy error = &BusyError{Why: "the server cannot accept this now"}

// Load says how much an engine has to do.
type Load struct {
	Turns     int    // tasks at work
	Long      int    // of them, those that have been for more than a second, as far as that had to be known
	Waiting   int    // tasks that wait for a turn
	Announced uint64 // tasks whose status has said that they wait, since the engine was made
}

// Load returns how much the engine has to do.
func (e *Engine) Load() Load {
	e.mu.Lock()
	defer e.mu.Unlock()
	return Load{Turns: e.lanes.used.held(), Long: e.lanes.used.long, Waiting: len(e.lanes.waiters), Announced: e.said}
}

// LoadOf returns how much of it is there for a caller; Said counts those of all.
func (e *Engine) LoadOf(by auth.Principal) Load {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := Load{Announced: e.said}
	if n := e.lanes.lanes[ScopeOf(by)]; n != nil {
		l.Turns, l.Long, l.Waiting = n.used.held(), n.used.long, n.waiting
	}
	return l
}

// admit gives a task the right to run here: a turn when there is room, else a place in
// the queue, which t.waits then is.
func (e *Engine) admit(t *turn, c class) (run bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining {
		return false, ErrBusy
	}
	// One that is there still is about to leave.
	if e.turns[t.id] == nil && e.lanes.take(&t.place, t.owner, c, e.now()) {
		e.turns[t.id] = t
		e.busy.add()
		return true, nil
	}
	w := &waiter{task: t.id, owner: t.owner, class: c}
	switch full := e.lanes.reserve(w); full {
	case nil:
		t.waits = w
		return false, nil
	case &e.lanes.each:
		return false, &BusyError{Why: fmt.Sprintf("%d tasks of this caller already wait for a turn, which is the limit", full.queue)}
	default:
		return false, &BusyError{Why: fmt.Sprintf("%d tasks already wait for a turn, which is the limit", full.queue)}
	}
}

// enqueue lets a task that is live wait for a turn.
func (e *Engine) enqueue(w *waiter) {
	e.mu.Lock()
	if !e.draining { // else it is live on disk: the next process recovers it
		e.lanes.wait(w, e.now())
	}
	e.mu.Unlock()
	e.next()
}

// leave gives the turn of t back and starts the next task that waits. A task that its
// turn could not continue is tried again, later each time.
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
		again := &waiter{task: t.id, owner: t.owner, fence: t.fence, class: resumed}
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

// next starts turns for tasks that wait, as far as there is room.
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

// settle lets a task that waits for its turn, or is about to, do so as one of which
// something has been settled, so that it waits for nothing else.
func (e *Engine) settle(id store.TaskID) {
	e.mu.Lock()
	waits := e.lanes.settle(id)
	e.mu.Unlock()
	if waits {
		e.next()
	}
}

// forget takes a task that has ended out of those that wait.
func (e *Engine) forget(id store.TaskID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lanes.forget(id)
}
