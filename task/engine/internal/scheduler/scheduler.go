// Package scheduler shares a bounded number of turns fairly between the owners of tasks: it says
// which tasks may have a turn, and in which order. It knows no task but its id, and starts turns
// through a function.
package scheduler

import (
	"sync"
	"time"

	"a2a-server/internal/failure"
	"a2a-server/store"
	"a2a-server/task/engine/internal/env"
)

// BusyError says why no more tasks are accepted right now. It is an [ErrBusy].
type BusyError struct {
	Why string // for a person
}

// Error returns the reason and the next step.
func (e *BusyError) Error() string { return e.Why + ": try again later" }

// Is makes every BusyError an ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// Kind says that the server is at a limit.
func (*BusyError) Kind() failure.Kind { return failure.Busy }

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

// Turn is a turn as the scheduler knows it.
type Turn interface {
	// Drain tells the turn that the engine stops: it closes the questions that hold its calls.
	Drain()
	// End is called when the turn has left its place for good.
	End()
}

// Place is the place of a turn among the turns: a right to run if it was admitted, or a place in
// the queue.
type Place struct {
	Task   store.TaskID
	Owner  store.Scope
	Fence  uint64 // gives the turn the right to run the task
	Failed bool   // the turn could not continue; the task is live on disk, and retried
	Turn   Turn

	// Guarded by Scheduler.mu.
	queue   *callerQueue // nil: no place
	class   Class
	since   time.Time
	young   link[*Place]
	waits   *waiter // of a turn that was not admitted: queued instead, once durable
	follows *waiter // not nil: runs the task next, as soon as this turn has left
}

// Config configures a Scheduler.
type Config struct {
	Env *env.Env

	// Start returns the turn of a task that has waited, and the function that runs it. It is
	// called with a lock held, and must not block.
	Start func(id store.TaskID, owner store.Scope, fence uint64) (p *Place, run func())

	// Announce writes a status that says that a task waits for its turn, unless waits reports
	// that it does not any more. It reports whether it has written that.
	Announce func(id store.TaskID, waits func() bool) (announced bool, err error)
}

// Scheduler decides which tasks have a turn. It is safe for concurrent use.
type Scheduler struct {
	Config

	mu         sync.Mutex
	turns      map[store.TaskID]*Place // running here
	queues     callerQueues            // the tasks that have a turn, and the live tasks that wait for one
	alarm      time.Time               // when the alarm rings; zero: it is not set
	unset      func() bool             // keeps it from ringing
	announcing bool                    // announceAll runs
	announced  uint64                  // tasks that have said that they wait
	failures   map[store.TaskID]int    // turns in a row that could not continue
	draining   bool
	idle       chan struct{} // closed when draining and no turn runs
}

// New returns a Scheduler.
func New(cfg Config) *Scheduler {
	return &Scheduler{
		Config: cfg, idle: make(chan struct{}),
		turns: map[store.TaskID]*Place{}, queues: newCallerQueues(&cfg.Env.Limits), failures: map[store.TaskID]int{},
	}
}

// Load returns the load of the engine.
func (s *Scheduler) Load() Load {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Load{Turns: s.queues.used.held(), Long: s.queues.used.long, Waiting: len(s.queues.waiters), Announced: s.announced}
}

// LoadOf returns an owner's share of the load; Announced counts the tasks of all owners.
func (s *Scheduler) LoadOf(owner store.Scope) Load {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := Load{Announced: s.announced}
	if n := s.queues.callers[owner]; n != nil {
		l.Turns, l.Long, l.Waiting = n.used.held(), n.used.long, n.waiting
	}
	return l
}

// Callers returns how many callers have a queue.
func (s *Scheduler) Callers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queues.callers)
}

// Running returns the turn of a task, if it runs here.
func (s *Scheduler) Running(id store.TaskID) Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.turns[id]; p != nil {
		return p.Turn
	}
	return nil
}

// Drain accepts no more turns, forgets the tasks that wait, and returns a channel that is closed
// when no turn runs any more. It may be called more than once.
func (s *Scheduler) Drain() (idle <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.draining {
		s.draining = true
		s.queues.clear()
		s.alarmOff()
		if len(s.turns) == 0 {
			close(s.idle)
		}
		for _, p := range s.turns {
			p.Turn.Drain()
		}
	}
	return s.idle
}

// Draining reports whether Drain was called.
func (s *Scheduler) Draining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// UnlessDraining calls f, which must not block, unless Drain was called. It reports whether it
// has called it.
func (s *Scheduler) UnlessDraining(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return false
	}
	f()
	return true
}

// Admit gives a task the right to run here: a turn if there is room, else a place in the
// queue, which Enqueue or Release ends.
func (s *Scheduler) Admit(p *Place, c Class) (run bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return false, ErrBusy
	}
	// A turn that the task still has is about to leave.
	if s.turns[p.Task] == nil && s.queues.take(p, p.Owner, c, s.Env.Now()) {
		s.turns[p.Task] = p
		s.Env.Busy.Add()
		return true, nil
	}
	w := &waiter{task: p.Task, owner: p.Owner, class: c}
	if full := s.queues.reserve(w); full != nil {
		return false, &BusyError{Why: env.TooMany(full, "tasks", "a turn")}
	}
	p.waits = w
	return false, nil
}

// Release gives back a place that never became a turn; run is what Admit has returned.
func (s *Scheduler) Release(p *Place, run bool) {
	if run {
		s.Leave(p)
		return
	}
	s.mu.Lock()
	s.queues.release(p.waits)
	s.mu.Unlock()
	p.Turn.End()
}

// Enqueue makes the live task of a place that was not admitted wait for a turn.
func (s *Scheduler) Enqueue(p *Place, fence uint64) {
	p.waits.fence = fence
	s.enqueue(p.waits)
}

// Recover makes a live task wait for a turn.
func (s *Scheduler) Recover(id store.TaskID, owner store.Scope, fence uint64) {
	s.enqueue(&waiter{task: id, owner: owner, fence: fence, class: Other})
}

func (s *Scheduler) enqueue(w *waiter) {
	s.mu.Lock()
	if !s.draining { // else it is live on disk: the next process recovers it
		s.queues.wait(w, s.Env.Now())
	}
	s.mu.Unlock()
	s.Next()
}

// Leave releases a turn and starts the next waiting task. A task that its turn could not
// continue is retried with backoff.
func (s *Scheduler) Leave(p *Place) {
	s.mu.Lock()
	if s.turns[p.Task] == p {
		delete(s.turns, p.Task)
	}
	s.queues.free(p)
	switch {
	case p.follows != nil && !s.draining:
		s.queues.wait(p.follows, s.Env.Now())
	case p.Failed && !s.draining:
		s.failures[p.Task]++
		again := &waiter{task: p.Task, owner: p.Owner, fence: p.Fence, class: Other}
		s.Env.After(env.RetryPause(s.failures[p.Task]), func() { s.enqueue(again) })
	case !p.Failed:
		delete(s.failures, p.Task)
	}
	if s.draining && len(s.turns) == 0 && !env.Closed(s.idle) {
		close(s.idle)
	}
	waiting := len(s.queues.waiters) > 0
	s.mu.Unlock()
	p.Turn.End()
	s.Env.Busy.Done()
	if waiting {
		s.Next()
	}
}

// Next starts turns for waiting tasks, as far as there is room.
func (s *Scheduler) Next() {
	for {
		s.mu.Lock()
		if s.draining {
			s.mu.Unlock()
			return
		}
		now := s.Env.Now()
		w := s.queues.next(now)
		if w == nil {
			s.setAlarm(now)
			s.mu.Unlock()
			return
		}
		if last := s.turns[w.task]; last != nil { // it is about to leave
			if f := last.follows; f == nil || f.fence < w.fence {
				if f != nil {
					s.queues.came(f)
				}
				last.follows = w
				s.queues.comes(w)
			}
			s.mu.Unlock()
			continue
		}
		p, run := s.Start(w.task, w.owner, w.fence)
		s.queues.hold(p, w.owner, w.class, now)
		s.turns[w.task] = p
		s.Env.Busy.Add()
		s.mu.Unlock()
		s.Env.Spawn(run)
	}
}

// Yield gives the place of a turn back while the turn keeps running; call [Scheduler.Next] then,
// and Resume when the turn needs its place again.
func (s *Scheduler) Yield(p *Place) {
	s.mu.Lock()
	s.queues.free(p)
	s.mu.Unlock()
}

// Resume gives a turn that has yielded a place again: there is room, or for a moment there is
// one turn too many.
func (s *Scheduler) Resume(p *Place) {
	s.mu.Lock()
	s.queues.hold(p, p.Owner, Settled, s.Env.Now())
	s.mu.Unlock()
}

// Settle moves a task that waits for its turn, or is about to wait, to the class Settled,
// so that other classes do not delay it.
func (s *Scheduler) Settle(id store.TaskID) {
	s.mu.Lock()
	waits := s.queues.settle(id)
	s.mu.Unlock()
	if waits {
		s.Next()
	}
}

// Forget removes a task that has ended from the queue.
func (s *Scheduler) Forget(id store.TaskID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues.forget(id)
}
