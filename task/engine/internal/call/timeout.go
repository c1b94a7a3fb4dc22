package call

import (
	"time"

	"a2a-server/tool"
)

// timeout returns how long a run may take: the limit of a [tool.Timed] tool, else the limit
// for all. A tool that panics counts as not Timed.
func (r *Run) timeout() (limit time.Duration) {
	limit = r.runs.Env.Limits.ToolTimeout
	defer func() { _ = recover() }() // it is the tool's own code
	if timed, ok := tool.As[tool.Timed](r.entry.Tool); ok {
		if own := timed.Timeout(); own > 0 {
			limit = own
		}
	}
	return limit
}

// clock is how long a run may still take, not counting the time for which it is held.
// run.mu guards it.
type clock struct {
	left  time.Duration
	since time.Time   // it runs
	unset func() bool // nil: it is stopped
}

// startClock makes the run end when its time is over. r.mu must be held.
func (r *Run) startClock() {
	if r.ended || r.stopped || r.clock.unset != nil {
		return
	}
	r.clock.since = r.runs.Env.Now()
	r.clock.unset = r.runs.Env.Timeout(r.clock.left, func() { r.Stop(errToolTimeout) })
}

// stopClock stops the clock. r.mu must be held.
func (r *Run) stopClock() {
	if r.clock.unset == nil {
		return
	}
	r.clock.unset()
	r.clock.unset = nil
	// The time may have been set in between.
	took := min(max(r.runs.Env.Now().Sub(r.clock.since), 0), r.clock.left)
	r.clock.left = max(r.clock.left-took, time.Millisecond)
}
