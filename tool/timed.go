package tool

import "time"

// Timed is a tool with a time limit of its own, in place of the server's limit for every
// tool. It is looked up with [As].
type Timed interface {
	// Timeout is how long one run may take before it is canceled. 0 or less: the server's
	// limit.
	Timeout() time.Duration
}
