package task

import (
	"iter"
	"time"

	"a2a-server/store"
)

// Limits bound what one engine takes. Zero fields mean the defaults.
type Limits struct {
	// Turns is how many tasks may be at work at once, in the first second of their
	// turns: one that has been at work for longer makes room for another, until four
	// times as many have. An eighth more is for new tasks, and once more an eighth, at
	// least one, for what somebody has decided. Defaults to 2,048.
	Turns int
	// TurnsPerCaller is what one caller may have of Turns, and so of what follows from
	// it. Defaults to a quarter of Turns; see [Limits.Unshared].
	TurnsPerCaller int
	// Queue is how many tasks may wait for a turn, besides those of which somebody has
	// decided something. Defaults to 10,000.
	Queue int
	// QueuePerCaller is what one caller may have of Queue. Defaults to a quarter of it.
	QueuePerCaller int

	Abandoned   int           // runs of one tool that do not end though they were told to. Defaults to 8.
	ToolTimeout time.Duration // of one run of a tool. Defaults to 5 min.
	ToolGrace   time.Duration // to end after being told to. Defaults to 5 s.
	PlanTimeout time.Duration // of one plan of a planner that is not inline. Defaults to 2 min.
	Window      int           // bytes that a tool may be ahead of the disk. Defaults to 256 KiB.
	Event       int           // bytes of a public event. Defaults to 1 MiB.
	Task        int           // bytes of a task's log. Defaults to 64 MiB.
	Output      int           // bytes of what one call publishes, in chunks and artifacts. Defaults to 16 MiB.
	Pending     int           // approvals that a task may wait for. Defaults to 64.
	Args        int           // bytes of the arguments of a call. Defaults to 128 KiB.
	Steps       int           // steps of one task. Defaults to 1,000.
	Calls       int           // calls of one step. Defaults to 64.
	Parked      int           // tasks of one context that have not ended: each may wait for somebody. Defaults to 1,000.

	// Bytes of the disk beyond which no task is made: what the tasks of one caller use,
	// by their events and 2 KiB for each, and what the store occupies as a whole. 0: none.
	DiskPerCaller int64
	Disk          int64
}

// WithDefaults returns l with its zero fields set.
func (l Limits) WithDefaults() Limits {
	count := func(n *int, to int) {
		if *n <= 0 {
			*n = to
		}
	}
	span := func(t *time.Duration, to time.Duration) {
		if *t <= 0 {
			*t = to
		}
	}
	count(&l.Turns, 2048)
	count(&l.TurnsPerCaller, Share(l.Turns))
	count(&l.Queue, 10_000)
	count(&l.QueuePerCaller, Share(l.Queue))
	count(&l.Abandoned, 8)
	span(&l.ToolTimeout, 5*time.Minute)
	span(&l.ToolGrace, 5*time.Second)
	span(&l.PlanTimeout, 2*time.Minute)
	count(&l.Window, 256<<10)
	count(&l.Event, 1<<20)
	count(&l.Task, 64<<20)
	count(&l.Output, 16<<20)
	count(&l.Pending, 64)
	count(&l.Args, 128<<10)
	count(&l.Steps, 1000)
	count(&l.Calls, 64)
	count(&l.Parked, 1000)
	return l
}

// DiskBounds returns the limits of the disk as a store takes them.
func (l *Limits) DiskBounds() store.Disk {
	return store.Disk{Owner: uint64(max(0, l.DiskPerCaller)), All: uint64(max(0, l.Disk))}
}

// Share returns how much of n one caller may have unless something else is said: a
// quarter, and at least 1.
func Share(n int) int { return max(n/4, 1) }

// Unshared returns l for a server that cannot tell its callers apart: what is not set
// for one caller is what there is for all.
func (l Limits) Unshared() Limits {
	all := l.WithDefaults()
	if l.TurnsPerCaller <= 0 {
		l.TurnsPerCaller = all.Turns
	}
	if l.QueuePerCaller <= 0 {
		l.QueuePerCaller = all.Queue
	}
	return l
}

// eventOverhead is how much of an event's limit is left for what stands around its
// content.
const eventOverhead = 64 << 10

// Content returns how many bytes of content fit into one public event.
func (l *Limits) Content() int { return l.Event - eventOverhead }

// decisionRoom is what of a task's log is kept for decisions, and for what follows
// from them, whatever else.
func (l *Limits) decisionRoom() int { return min(64<<10, l.Task/16) }

// outcomeRoom is what is kept for each call that runs, so that what comes of it can be
// written: its result stands in the log, and is published.
func (l *Limits) outcomeRoom() int { return min(2*l.Event, l.Task/2) }

// result is how large a call's result may be: it has to fit into an event, and twice
// into the room that is kept for it.
func (l *Limits) result() int { return min(l.Content(), l.outcomeRoom()/2) }

// OpenRoom returns how many bytes a task's log may have, while calls are running,
// before only decisions and what comes of calls are still taken. Room for one call is
// kept when none runs.
func (l *Limits) OpenRoom(running int) int {
	return l.Task - l.decisionRoom() - max(running, 1)*l.outcomeRoom()
}

// room returns how many bytes the log may still grow by.
func (d *Draft) room() int { return d.rules.Limits.Task - int(d.f.Header.Bytes) }

// openRoom returns how many bytes the log may still grow by with what is neither a
// decision nor comes of a call.
func (d *Draft) openRoom() int {
	return d.rules.Limits.OpenRoom(d.f.Busy()) - int(d.f.Header.Bytes)
}

// roomToRun reports whether one more call may run, so that whatever comes of it fits
// into the log.
func (d *Draft) roomToRun(running int) bool {
	l := &d.rules.Limits
	return int(d.f.Header.Bytes)+(running+1)*l.outcomeRoom()+l.decisionRoom() <= l.Task
}

// Busy returns how many calls have been started and have to say yet what came of
// them.
func (f *Fold) Busy() int {
	n := 0
	for range f.Running() {
		n++
	}
	return n
}

// Running returns the ids of the calls that have been started and have to say yet what
// came of them.
func (f *Fold) Running() iter.Seq[string] {
	return func(yield func(string) bool) {
		s := f.step()
		if s == nil {
			return
		}
		for _, c := range s.Progress {
			if c.State == callRunning && !yield(c.ID) {
				return
			}
		}
	}
}
