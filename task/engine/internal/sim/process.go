package sim

import (
	"container/heap"
	"slices"
	"time"
)

// Process is a group of routines that live and die together, and their host: it has the
// methods of an engine's Host. The world outside is a process, too.
type Process struct {
	s      *Scheduler
	name   string
	dead   bool
	paused bool     // as by SIGSTOP; its timers still count, and it continues when nothing else is left to do
	end    []func() // when it dies
}

// Process returns a new process without any routine.
func (s *Scheduler) Process(name string) *Process { return &Process{s: s, name: name} }

// Now is the time of the run.
func (p *Process) Now() time.Time { return p.s.now }

// Go starts f. In a dead process it starts nothing.
func (p *Process) Go(f func()) {
	if !p.dead {
		p.s.start(p, f)
	}
}

// Wait blocks the routine that calls it until one of the channels can be received
// from, or is closed; it receives from it and returns its index. A nil channel is
// never ready. In a dead process it ends the routine. Only routines of p may call it.
func (p *Process) Wait(ch ...<-chan struct{}) int {
	r := p.routine()
	r.waits = ch
	if r.waits == nil {
		r.waits = []<-chan struct{}{} // nothing will ever come
	}
	return r.wait()
}

// Yield lets other routines continue first.
func (p *Process) Yield() { p.Wait(always) }

var always = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Idle blocks the routine that calls it until nothing else can continue but by a timer.
func (p *Process) Idle() {
	r := p.routine()
	r.idle = true
	r.waits = []<-chan struct{}{always}
	r.wait()
	r.idle = false
}

// Sleep blocks the routine that calls it for d of the run's time.
func (p *Process) Sleep(d time.Duration) {
	c := make(chan struct{})
	p.After(d, func() { close(c) })
	p.Wait(c)
}

func (p *Process) routine() *routine {
	r := p.s.current
	if r == nil || r.p != p {
		panic("sim: only a routine of process " + p.name + " can wait in it")
	}
	return r
}

// within reports whether a routine of p runs, so that it can wait.
func (p *Process) within() bool { return p.s.current != nil && p.s.current.p == p && !p.dead }

// After starts f after d. stop reports whether it kept f from being started.
func (p *Process) After(d time.Duration, f func()) (stop func() bool) {
	s := p.s
	if p.dead {
		return func() bool { return false }
	}
	s.serial++
	t := &timer{p: p, at: s.now.Add(max(d, 0)), serial: s.serial, f: f}
	heap.Push(&s.timers, t)
	return func() bool {
		if t.index < 0 {
			return false
		}
		heap.Remove(&s.timers, t.index)
		return true
	}
}

// AtDeath has f called when the process is killed, before its routines end.
func (p *Process) AtDeath(f func()) { p.end = append(p.end, f) }

// Kill ends the process, as SIGKILL does: its routines end where they wait, its timers are
// never started, its uncommitted batches are lost. The deferred calls of its routines run, but
// cannot wait, start anything or write. Any routine may call it; for a routine of p it does
// not return.
func (p *Process) Kill() {
	if p.dead {
		return
	}
	p.s.Note("%s is killed", p.name)
	p.die()
	if r := p.s.current; r != nil && r.p == p {
		r.wait()
	}
}

func (p *Process) die() {
	if p.dead {
		return
	}
	p.dead = true
	s := p.s
	s.dying = true
	s.timers = slices.DeleteFunc(s.timers, func(t *timer) bool {
		if t.p == p {
			t.index = -1
		}
		return t.p == p
	})
	for i, t := range s.timers {
		t.index = i
	}
	heap.Init(&s.timers)
	for _, f := range p.end {
		f()
	}
}

// timer starts f at a time.
type timer struct {
	p      *Process
	at     time.Time
	serial int
	f      func()
	index  int // in the heap; -1: not in it
}

// timers is a heap: the next timer is first, at the same time the older.
type timers []*timer

func (t timers) Len() int { return len(t) }

func (t timers) Less(i, j int) bool {
	if t[i].at.Equal(t[j].at) {
		return t[i].serial < t[j].serial
	}
	return t[i].at.Before(t[j].at)
}

func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].index, t[j].index = i, j
}

// Push is of heap.Interface.
func (t *timers) Push(x any) {
	v, _ := x.(*timer)
	v.index = len(*t)
	*t = append(*t, v)
}

// Pop is of heap.Interface.
func (t *timers) Pop() any {
	old := *t
	v := old[len(old)-1]
	old[len(old)-1] = nil
	*t = old[:len(old)-1]
	v.index = -1
	return v
}
