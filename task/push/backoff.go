package push

import (
	"math/rand/v2"
	"time"

	"a2a-server/store"
	"a2a-server/task"
)

// backoff says when a webhook that fails is tried again, and when it is given up.
type backoff struct {
	first, most time.Duration // the first and the longest pause
	tries       int           // failures in a row
	span        time.Duration // from the first of them
	random      func() float64
}

func defaultBackoff() backoff {
	return backoff{first: time.Second, most: time.Hour, tries: 20, span: 24 * time.Hour, random: rand.Float64}
}

// failure is why a notification was not accepted.
type failure struct {
	class string        // for people: no secrets, nothing that the webhook chooses
	after time.Duration // the webhook asks not to be tried before; 0: it does not
	gone  bool          // it does not want any more
}

// failed returns the cursor of a webhook after a failure.
func (b *backoff) failed(c task.PushCursor, f *failure, now time.Time) task.PushCursor {
	at := store.MillisOf(now)
	if c.Tries++; c.Tries == 1 || c.Since > at {
		c.Since = at
	}
	c.Error = f.class
	if f.gone || c.Tries >= b.tries || now.Sub(c.Since.Time()) >= b.span {
		c.Dead, c.Next = true, 0
		return c
	}
	pause := b.most
	if n := c.Tries - 1; n < 32 && b.first<<n < b.most {
		pause = b.first << n
	}
	pause += time.Duration((b.random()*0.4 - 0.2) * float64(pause))
	c.Next = store.MillisOf(now.Add(min(max(pause, f.after), b.most)))
	return c
}

// delivered returns the cursor of a webhook that has been notified up to a seq.
func delivered(c task.PushCursor, seq uint64) task.PushCursor {
	return task.PushCursor{Seq: seq, Epoch: c.Epoch}
}
