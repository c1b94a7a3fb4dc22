package push

import (
	"time"

	"a2a-server/task"
)

// SetBackoff makes d retry after other pauses, without chance.
func (d *Deliverer) SetBackoff(first, most time.Duration) {
	d.backoff.first, d.backoff.most, d.backoff.random = first, most, func() float64 { return 0.5 }
}

// Fails returns what becomes of a cursor when a try fails. random is in [0, 1).
func Fails(c task.PushCursor, after time.Duration, gone bool, now time.Time, random float64) task.PushCursor {
	b := defaultBackoff()
	b.random = func() float64 { return random }
	return b.failed(c, &failure{class: "test", after: after, gone: gone}, now)
}
