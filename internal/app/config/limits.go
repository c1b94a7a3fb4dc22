package config

import (
	"time"

	"a2a-server/internal/setting"
)

// Limits are the limits that an operator sets. The server derives all other bounds from them.
type Limits struct {
	Memory        int64 // soft limit of Go's memory, in bytes. 0: none
	Disk          int64 // bytes that the store may use. 0: no limit
	DiskPerCaller int64 // bytes that the tasks of one caller may use. 0: no limit

	Body int64 // bytes of a request
	Task int   // bytes of a task's log

	Connections, Streams, Turns, Queue int

	PerCaller    int // one caller's share, in percent
	Rate         int // requests a second of one caller. 0: no limit
	AuthFailures int // refused credentials of one address a minute. 0: no limit

	ReadTimeout, ToolTimeout, PlanTimeout, Grace time.Duration
}

// keys returns the keys below limits.
func (l *Limits) keys() []key {
	const ms = time.Millisecond
	return []key{
		one("limits.memory", "1GiB", setting.Size(&l.Memory, 32*mib, 1<<14*gib, true /* none */), "Memory that the garbage collector tries to stay below; no hard limit. The least of this, GOMEMLIMIT and 90 % of the cgroup's limit counts. 0: only those two."),
		one("limits.disk", "0", setting.Size(&l.Disk, 1*mib, 1<<14*gib, true /* none */), "Disk that the store may use before new tasks are refused. Decisions and tasks that run are never refused, so leave room for them. 0: no limit."),
		one("limits.disk_per_caller", "0", setting.Size(&l.DiskPerCaller, 1*mib, 1<<14*gib, true /* none */), "The same for the tasks of one caller, counted as their events plus 2 KiB for each; the disk they take is up to twice as much."),
		one("limits.body", "4MiB", setting.Size(&l.Body, 1*kib, 64*mib, false), "The size of a request's body. A message, a result or a question may have a quarter of it."),
		one("limits.task", "64MiB", setting.Size(&l.Task, 128*kib, 64*mib, false), "The size of all events of one task. Before it is full, only decisions and results of running calls are accepted."),
		one("limits.connections", "16384", setting.Count(&l.Connections, 1, setting.Unlimited), "Connections open at once, and requests in progress; lowered to what the limit of open files allows. One address has at most a quarter."),
		one("limits.streams", "10000", setting.Count(&l.Streams, 1, setting.Unlimited), "Streams open at once, at most three quarters of the connections; and as many messages that wait for their tasks."),
		one("limits.turns", "2048", setting.Count(&l.Turns, 1, setting.Unlimited), "Tasks that run at once, in their first second; longer ones make room for others, up to four times as many."),
		one("limits.queue", "10000", setting.Count(&l.Queue, 1, setting.Unlimited), "Tasks that may wait to run. Beyond that new ones are refused; decisions never are."),
		one("limits.per_caller", "25", setting.Count(&l.PerCaller, 1, 100), "One caller's share of streams, turns and queue, in percent. Without authentication all callers are one, which may use all."),
		one("limits.rate", "0", setting.Count(&l.Rate, 0, 1_000_000), "Requests a second of one caller, without authentication of one address; twice as many at once. Beyond that: 429. 0: no limit."),
		one("limits.auth_failures", "60", setting.Count(&l.AuthFailures, 0, 1_000_000), "Refused credentials of one address (IPv6: /64) a minute. Beyond that its requests are refused unchecked (429). 0: no limit."),
		one("limits.read_timeout", "30s", setting.Duration(&l.ReadTimeout, ms), "How long a request may take to arrive, from its first byte to its last; its header at most 10s of that."),
		one("limits.tool_timeout", "5m", setting.Duration(&l.ToolTimeout, ms), "How long a run of a tool may take before it is canceled, unless its entry has a timeout."),
		one("limits.plan_timeout", "2m", setting.Duration(&l.PlanTimeout, ms), "How long a planner such as a language model may take for one step before its task fails."),
		one("limits.grace", "8s", setting.Duration(&l.Grace, 0), "How long running calls may continue at shutdown; then they have one second to end. Containers need 2s more."),
	}
}

// Removed returns the keys that earlier versions had, and what to do instead.
func Removed() map[string]string {
	const (
		share   = "set limits.per_caller, one caller's share of everything in percent"
		streams = "it is as many as limits.streams; set that"
		memory  = "it follows from limits.memory; set that"
		event   = "it follows from the size of an event, a quarter of limits.body; set that"
		fixed   = "remove it; the server has a fixed bound, in docs/configuration.md"
	)
	return map[string]string{
		"limits.turns_per_caller": share, "limits.queue_per_caller": share, "limits.held_per_caller": share, "limits.streams_per_caller": share, "limits.waiting_per_caller": share,
		"limits.waiting": streams, "limits.requests": "it is as many as limits.connections; set that",
		"limits.held":    "it is an eighth of limits.turns; set that",
		"limits.answers": memory, "limits.bodies": memory, "limits.page": memory, "limits.gc": memory,
		"limits.event": "it is a quarter of limits.body; set that", "limits.args": event, "limits.window": event,
		"limits.output":    "it is a quarter of limits.task; set that",
		"limits.burst":     "it is twice limits.rate; set that",
		"limits.held_time": "set deadlines.expires for a time below one hour", "limits.tool_grace": "it is 5s, or limits.tool_timeout if that is less; set that",
		"limits.write_timeout": fixed, "limits.heartbeat": fixed, "limits.read_rate": fixed, "limits.header": fixed,
		"limits.abandoned": fixed, "limits.pending": fixed, "limits.steps": fixed, "limits.calls": fixed, "limits.parked": fixed, "limits.webhooks": fixed,
	}
}
