package tool

import "time"

// Timed is a tool with a time limit of its own, in place of the server's limit for every
// tool. It is looked up with [As].
type Timed interface {
	// Timeout is the time limit of a run. 0 or less: the server's limit.
	Timeout() time.Duration
}
