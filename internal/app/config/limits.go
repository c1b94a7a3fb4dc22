package config

import (
	"time"
)

// Limits are the limits that an operator sets. The server derives all other bounds from them.
type Limits struct {
	Memory        int64 // soft limit of Go's memory, in bytes. 0: none
	Disk          int64 // bytes that the store may use. 0: no limit
	DiskPerCaller int64 // bytes that the tasks of a caller may use. 0: no limit

	Body int64 // bytes of a request
	Task int   // bytes of a task's log

	Connections, Streams, Turns, Queue int

	PerCaller    int // a caller's share, in percent
	Rate         int // requests a second of a caller. 0: no limit
	AuthFailures int // refused credentials of an address a minute. 0: no limit

	ReadTimeout, ToolTimeout, PlanTimeout, Grace time.Duration
}

// Removed returns the keys of earlier versions, with their replacements.
func Removed() map[string]string {
	const (
		share   = "set limits.per_caller, one caller's share of everything in percent"
		streams = "it is as many as limits.streams; set that"
		memory  = "it follows from limits.memory; set that"
		event   = "it follows from the size of an event, a quarter of limits.body; set that"
		fixed   = "remove it; the server has a fixed bound, in docs/configuration.md"
	)
	return map[string]string{
		"confirmation": "set declared_gates: required is ask, and opt-in is ignore", "limits.turns": "set limits.running_tasks",
		"limits.turns_per_caller": share, "limits.queue_per_caller": share, "limits.held_per_caller": share, "limits.streams_per_caller": share, "limits.waiting_per_caller": share,
		"limits.waiting": streams, "limits.requests": "it is as many as limits.connections; set that",
		"limits.held":    "it is an eighth of limits.running_tasks; set that",
		"limits.answers": memory, "limits.bodies": memory, "limits.page": memory, "limits.gc": memory,
		"limits.event": "it is a quarter of limits.body; set that", "limits.args": event, "limits.window": event,
		"limits.output":    "it is a quarter of limits.task; set that",
		"limits.burst":     "it is twice limits.rate; set that",
		"limits.held_time": "set deadlines.expires for a time below one hour", "limits.tool_grace": "it is 5s, or limits.tool_timeout if that is less; set that",
		"limits.write_timeout": fixed, "limits.heartbeat": fixed, "limits.read_rate": fixed, "limits.header": fixed,
		"limits.abandoned": fixed, "limits.pending": fixed, "limits.steps": fixed, "limits.calls": fixed, "limits.parked": fixed, "limits.webhooks": fixed,
	}
}
