package config

import "time"

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
