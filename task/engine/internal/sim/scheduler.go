package sim

import (
	"container/heap"
	"fmt"
	"hash/fnv"
	"iter"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
)

// Scheduler runs routines one at a time, in the goroutine that calls it. Each step chooses a
// routine that can continue, or the disk commits, or time passes until the next timer. It is
// not safe for concurrent use: a run happens in its routines, or between two steps.
type Scheduler struct {
	choices *Choices
	trace   func(line string) // nil: not recorded
	sum     interface {
		Write(p []byte) (int, error)
		Sum64() uint64
	}

	now      time.Time
	routines []*routine // started and not over; the longest waiting is first
	timers   timers
	disk     *Disk // nil: none
	current  *routine
	dying    bool // a process was killed and has routines left
	serial   int  // of routines and timers
	steps    int
	failure  *Failure

	ready []*routine // of step, kept for its memory
}

// Epoch is when every run begins.
var Epoch = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// NewScheduler returns a scheduler without any routine. Close it.
func NewScheduler(c *Choices) *Scheduler {
	return &Scheduler{choices: c, sum: fnv.New64a(), now: Epoch}
}

// Trace has each step written to f, as a line.
func (s *Scheduler) Trace(f func(line string)) { s.trace = f }

// Fail ends the run, if it has not failed before. Any routine may call it.
func (s *Scheduler) Fail(rule, format string, args ...any) {
	if s.failure == nil {
		s.failure = &Failure{Rule: rule, Detail: fmt.Sprintf(format, args...), Step: s.steps}
		s.Note("FAILED %s", s.failure.Detail)
	}
}

// Note adds a line to the trace and to the sum.
func (s *Scheduler) Note(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	_, _ = s.sum.Write([]byte(line))
	if s.trace != nil {
		s.trace(fmt.Sprintf("%5d %8s %s", s.steps, s.now.Sub(Epoch), line))
	}
}

// mark adds a step to the sum, and to the trace if there is one: formatting every step takes
// longer than the step.
func (s *Scheduler) mark(kind byte, n, m int, line func() string) {
	_, _ = s.sum.Write([]byte{kind, byte(n), byte(n >> 8), byte(n >> 16), byte(m), byte(m >> 8)})
	if s.trace != nil {
		s.trace(fmt.Sprintf("%5d %8s %s", s.steps, s.now.Sub(Epoch), line()))
	}
}

// Run takes steps until done, until there is nothing left to do, or until the run has
// failed. It reports whether done.
func (s *Scheduler) Run(done func() bool) bool {
	for s.failure == nil {
		if done() {
			return true
		}
		if !s.step() {
			return false
		}
	}
	return false
}

// Settle takes steps until nothing can continue but by a timer that is later than d from
// now: no routine, no batch, no earlier timer.
func (s *Scheduler) Settle(d time.Duration) {
	until := s.now.Add(d)
	s.Run(func() bool {
		s.reap()
		return len(s.runnable()) == 0 && s.disk.queued() == 0 && (len(s.timers) == 0 || s.timers[0].at.After(until))
	})
}

// step runs a step, and reports whether there was any.
func (s *Scheduler) step() bool {
	s.reap()
	s.steps++
	ready, queued := s.runnable(), s.disk.queued()
	switch {
	case len(ready) > 0:
		// A slow machine: time passes, or the disk is done, while routines could continue.
		if queued > 0 {
			if i := s.choices.Choose(Schedule, len(ready)+1); i < len(ready) {
				s.resume(ready[i])
				return true
			}
			s.commit(queued)
			return true
		}
		if len(s.timers) > 0 && s.timers[0].at.Sub(s.now) <= slowest && s.choices.Rarely(Schedule, 64) {
			s.pass()
			return true
		}
		s.resume(ready[s.choices.Choose(Schedule, len(ready))])
	case queued > 0:
		if len(s.timers) > 0 && s.timers[0].at.Sub(s.now) <= slowest && s.choices.Rarely(Schedule, 16) {
			s.pass()
			return true
		}
		s.commit(queued)
	case len(s.timers) > 0:
		s.pass()
	default:
		return s.idle()
	}
	return true
}

// commitTakes is how long a commit takes.
const commitTakes = time.Millisecond

func (s *Scheduler) commit(queued int) {
	s.now = s.now.Add(commitTakes)
	s.disk.Commit(queued - s.choices.Choose(Commits, queued))
}

// runnable returns the routines that can continue, the routines of Idle only when there is
// nothing else to do.
func (s *Scheduler) runnable() []*routine {
	s.ready = s.ready[:0]
	for _, r := range s.routines {
		if !r.idle && !r.p.paused && r.canGoOn() {
			s.ready = append(s.ready, r)
		}
	}
	late := len(s.timers) > 0 && !s.timers[0].at.After(s.now) // by the jitter, or by a commit
	if len(s.ready) == 0 && s.disk.queued() == 0 && !late {
		for _, r := range s.routines {
			if r.idle {
				s.ready = append(s.ready, r)
			}
		}
	}
	return s.ready
}

// idle lets paused processes continue when no routine can.
func (s *Scheduler) idle() bool {
	some := false
	for _, r := range s.routines {
		some = some || r.p.paused
		r.p.paused = false
	}
	return some
}

// slowest is how much time may pass at once while a routine could continue.
const slowest = time.Second

// jitter is how much too late a timer may be.
const jitter = 2 * time.Millisecond

// pass lets time pass until the next timer and starts it, or rarely a timer that should have
// come a little later.
func (s *Scheduler) pass() {
	t := s.timers[0]
	if len(s.timers) > 1 && s.choices.Rarely(Schedule, 8) {
		if o := s.timers[s.choices.Choose(Schedule, len(s.timers))]; o.at.Sub(t.at) <= jitter {
			t = o
		}
	}
	heap.Remove(&s.timers, t.index)
	if t.at.After(s.now) {
		s.now = t.at
	}
	s.mark('t', t.serial, 0, func() string { return fmt.Sprintf("%s timer %d", t.p.name, t.serial) })
	t.p.Go(t.f)
}

// resume lets a routine continue until it waits again, or is over.
func (s *Scheduler) resume(r *routine) {
	i := slices.Index(s.routines, r)
	s.routines = append(slices.Delete(s.routines, i, i+1), r)
	at := r.receive()
	s.mark('r', r.serial, at, func() string { return fmt.Sprintf("%s routine %d continues (%d)", r.p.name, r.serial, at) })
	s.current = r
	_, more := r.next()
	s.current = nil
	if !more {
		s.forget(r)
	}
}

func (s *Scheduler) forget(r *routine) {
	s.routines = slices.DeleteFunc(s.routines, func(o *routine) bool { return o == r })
}

// start makes a routine of f.
func (s *Scheduler) start(p *Process, f func()) {
	s.serial++
	r := &routine{s: s, p: p, serial: s.serial, f: f, got: -1}
	r.next, r.stop = iter.Pull(func(yield func(struct{}) bool) {
		r.yield = yield
		defer func() {
			if v := recover(); v != nil && !p.dead { // a routine that dies by Goexit may break on the way
				s.Fail("panic", "%v\n%s", v, debug.Stack())
			}
		}()
		f()
	})
	s.routines = append(s.routines, r)
}

// reap ends the routines of processes that were killed, wherever they wait: their
// deferred calls run, and no more.
func (s *Scheduler) reap() {
	for s.dying {
		s.dying = false
		for _, r := range slices.Clone(s.routines) {
			if r.p.dead {
				s.end(r)
			}
		}
	}
}

// end ends a routine. Its Goexit would end the waiting goroutine too, so stop runs in its own.
func (s *Scheduler) end(r *routine) {
	s.forget(r)
	s.current = r
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.stop()
	}()
	<-over
	s.current = nil
}

// Close ends all that still runs. The scheduler cannot be used afterwards.
func (s *Scheduler) Close() {
	for _, r := range slices.Clone(s.routines) {
		r.p.die()
	}
	s.reap()
	s.timers = nil
}

// routine is a function that runs until it waits.
type routine struct {
	s      *Scheduler
	p      *Process
	serial int
	f      func()
	next   func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool

	idle  bool // waits until there is nothing else to do
	waits []<-chan struct{}
	got   int // of waits: received while it was looked at; -1: none
}

// name is that of the function.
func (r *routine) name() string { return runtime.FuncForPC(reflect.ValueOf(r.f).Pointer()).Name() }

// wait lets other routines continue until r can receive from a channel of r.waits, and returns
// its index. It never returns when the process has died.
func (r *routine) wait() int {
	if !r.yield(struct{}{}) {
		runtime.Goexit()
	}
	at := r.got
	r.waits, r.got = nil, -1
	return at
}

// canGoOn reports whether r has not begun, or can receive from a channel that it waits for.
func (r *routine) canGoOn() bool {
	if r.waits == nil || r.got >= 0 {
		return true
	}
	for i, c := range r.waits {
		if r.peek(i, c) {
			return true
		}
	}
	return false
}

// peek reports whether c can be received from. For an unbuffered channel it has to receive to
// find out: it can be closed, or else it is received already.
func (r *routine) peek(i int, c <-chan struct{}) bool {
	if len(c) > 0 {
		return true
	}
	select {
	case _, open := <-c:
		if open {
			r.got = i
		}
		return true
	default:
		return false
	}
}

// receive chooses a channel that can be received from, and receives from it.
func (r *routine) receive() int {
	if r.waits == nil {
		return 0
	}
	if r.got < 0 {
		var can [16]int
		list := can[:0]
		for i, c := range r.waits {
			if r.peek(i, c) {
				list = append(list, i)
			}
			if r.got >= 0 {
				return r.got
			}
		}
		r.got = list[r.s.choices.Choose(Schedule, len(list))]
		select {
		case <-r.waits[r.got]:
		default:
		}
	}
	return r.got
}
