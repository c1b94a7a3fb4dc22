package engine

import (
	"time"

	"a2a-server/tool"
)

// timeout returns how long a run may take: the limit of a [tool.Timed] tool, else the limit
// for all. A tool that panics counts as not Timed.
func (r *run) timeout() (limit time.Duration) {
	limit = r.e.cfg.Limits.ToolTimeout
	defer func() { _ = recover() }() // it is the tool's own code
	if timed, ok := tool.As[tool.Timed](r.entry.Tool); ok {
		if own := timed.Timeout(); own > 0 {
			limit = own
		}
	}
	return limit
}
