package push

import (
	"time"

	"a2a-server/task/internal/outbox"
	"a2a-server/task/internal/record"
)

// Workers returns how many webhooks are served now.
func (d *Deliverer) Workers() int { return d.box.Workers() }

// SetBackoff makes d retry after other pauses, without chance.
func (d *Deliverer) SetBackoff(first, most time.Duration) {
	b := &d.box.Backoff
	b.First, b.Most, b.Random = first, most, func() float64 { return 0.5 }
}

// Fails returns what becomes of a cursor when a try fails. random is in [0, 1).
func Fails(c record.PushCursor, after time.Duration, gone bool, now time.Time, random float64) record.PushCursor {
	b := backoff()
	b.Random = func() float64 { return random }
	c.Dead = b.Fail(&c.Attempts, outbox.Failure{Text: "test", After: after, Final: gone}, now)
	return c
}
