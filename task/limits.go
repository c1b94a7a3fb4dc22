package task

import (
	"time"

	"a2a-server/store"
)

// Limits bound the resources of an engine. Zero fields mean the defaults.
type Limits struct {
	// Turns is how many tasks may have a turn at the same time, counting only turns in
	// their first second: a longer turn makes room for another, up to four times as many
	// long turns. There may be an eighth more, and another eighth, at least one, for tasks
	// with a decision. Defaults to 2,048.
	Turns int
	// TurnsPerCaller bounds the share of a caller in Turns; long and reserved turns scale with
	// it. Defaults to a quarter of Turns.
	TurnsPerCaller int
	// Queue is how many tasks may wait for a turn, not counting tasks with a decision.
	// Defaults to 10,000.
	Queue int
	// QueuePerCaller bounds the share of a caller in Queue. Defaults to a quarter of Queue.
	QueuePerCaller int

	// Held is the maximum number of calls held at the same time: each keeps its goroutine and
	// all other resources of its tool. Defaults to 256.
	Held int
	// HeldPerCaller bounds the share of a caller in Held. Defaults to a quarter of Held.
	HeldPerCaller int
	// HeldTime is how long a call is held at most. Defaults to 1 h.
	HeldTime time.Duration

	Abandoned   int           // runs of a tool that continue after they were told to end. Defaults to 8.
	ToolTimeout time.Duration // of a run of a tool that is not a [tool.Timed]. Defaults to 5 min.
	ToolGrace   time.Duration // to end after being told to. Defaults to 5 s.
	PlanTimeout time.Duration // of a plan of a planner that is not inline. Defaults to 2 min.
	Window      int           // bytes that a tool may publish ahead of the disk. Defaults to 256 KiB.
	Event       int           // bytes of a public event. Defaults to 1 MiB.
	Task        int           // bytes of a task's log. Defaults to 64 MiB.
	Output      int           // bytes that a call publishes, in chunks and artifacts. Defaults to 16 MiB.
	Pending     int           // approvals that a task may wait for. Defaults to 64.
	Args        int           // bytes of the arguments of a call. Defaults to 128 KiB.
	Steps       int           // steps of a task. Defaults to 1,000.
	Calls       int           // calls of a step. Defaults to 64.
	Parked      int           // unfinished tasks of a context. Defaults to 1,000.
	Webhooks    int           // of a task. Defaults to 10.

	// Bytes of disk above which no new tasks are accepted: for the tasks of a caller, counted
	// as their events plus 2 KiB per task, and for the whole store. 0 means no limit.
	DiskPerCaller int64
	Disk          int64
}

// WithDefaults returns l with its zero fields set.
func (l Limits) WithDefaults() Limits {
	defaults(&l.Turns, 2048)
	defaults(&l.TurnsPerCaller, share(l.Turns))
	defaults(&l.Queue, 10_000)
	defaults(&l.QueuePerCaller, share(l.Queue))
	defaults(&l.Held, 256)
	defaults(&l.HeldPerCaller, share(l.Held))
	defaults(&l.HeldTime, time.Hour)
	defaults(&l.Abandoned, 8)
	defaults(&l.ToolTimeout, 5*time.Minute)
	defaults(&l.ToolGrace, 5*time.Second)
	defaults(&l.PlanTimeout, 2*time.Minute)
	defaults(&l.Window, 256<<10)
	defaults(&l.Event, 1<<20)
	defaults(&l.Task, 64<<20)
	defaults(&l.Output, 16<<20)
	defaults(&l.Pending, 64)
	defaults(&l.Args, 128<<10)
	defaults(&l.Steps, 1000)
	defaults(&l.Calls, 64)
	defaults(&l.Parked, 1000)
	defaults(&l.Webhooks, 10)
	return l
}

// defaults sets a value that is not positive.
func defaults[T int | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

// DiskBounds returns the disk limits in the form that a store takes.
func (l *Limits) DiskBounds() store.Disk {
	return store.Disk{Owner: uint64(max(0, l.DiskPerCaller)), All: uint64(max(0, l.Disk))}
}

// share returns how much of n one caller may use by default: a quarter, at least 1.
func share(n int) int { return max(n/4, 1) }

// eventOverhead is the part of an event's limit that is reserved for the envelope of its
// content.
const eventOverhead = 64 << 10

// Content returns the maximum bytes of content in a public event.
func (l *Limits) Content() int { return l.Event - eventOverhead }

// DecisionRoom is the number of bytes of a task's log that is always reserved for decisions
// and their consequences.
func (l *Limits) DecisionRoom() int { return min(64<<10, l.Task/16) }

// OutcomeRoom is how much is reserved for each running call, so that its outcome can be
// written: its result is stored in the log, and published.
func (l *Limits) OutcomeRoom() int { return min(2*l.Event, l.Task/2) }

// Result is the maximum size of a call's result: it has to fit into an event, and twice
// into the room that is reserved for it.
func (l *Limits) Result() int { return min(l.Content(), l.OutcomeRoom()/2) }

// OpenRoom returns the maximum size of a task's log with so many running calls. Beyond it the
// log accepts only decisions and outcomes of calls. Room for a call is reserved even if none
// is running.
func (l *Limits) OpenRoom(running int) int {
	return l.Task - l.DecisionRoom() - max(running, 1)*l.OutcomeRoom()
}
