package outbox

import (
	"context"
	"errors"
	"time"

	"a2a-server/store"
	"a2a-server/task/internal/record"
)

// Mine reports whether this instance may send for a lane whose row has an epoch: its own, or that
// of an older instance that is gone. Then the row has to get the epoch of this instance before it
// sends. 0: no instance has sent.
func (o *Outbox) Mine(ctx context.Context, epoch uint64) (bool, error) {
	own := o.Store.Epoch()
	if epoch >= own || epoch == 0 {
		return epoch <= own, nil
	}
	lease, err := o.Store.Lease(ctx, epoch)
	return err == nil && !lease.Held, err
}

// Write commits a batch. While the disk cannot be written it keeps trying: a sent message must not
// be sent again and again.
func (o *Outbox) Write(ctx context.Context, b *store.Batch) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		c := o.Store.Append(ctx, b)
		o.Wait(c.Done())
		if _, err := c.Wait(); !errors.Is(err, store.ErrUnavailable) {
			return err
		}
		if o.pause(ctx, pause, nil, nil); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// Failure is why a message was not accepted.
type Failure struct {
	Text  string        // for people: no secrets
	After time.Duration // the receiver asks not to be tried before; 0: it does not
	Final bool          // no further attempt can deliver it
}

// Backoff says when a message that fails is tried again, and when it is given up.
type Backoff struct {
	First, Most time.Duration // the first pause, and the longest, also if the receiver asks for more
	Tries       int           // failures in a row; 0: no limit
	Span        time.Duration // from the first of them
	Random      func() float64
}

// Fail records a failure in a, and reports whether that was the last attempt.
func (b *Backoff) Fail(a *record.Attempts, f Failure, now time.Time) (over bool) {
	at := store.MillisOf(now)
	if a.Tries++; a.Tries == 1 || a.Since > at {
		a.Since = at
	}
	a.Error = f.Text
	if f.Final || b.Tries > 0 && a.Tries >= b.Tries || now.Sub(a.Since.Time()) >= b.Span {
		a.Next = 0
		return true
	}
	pause := b.Most
	if n := a.Tries - 1; n < 16 && b.First<<n < b.Most {
		pause = b.First << n
	}
	pause += time.Duration((b.Random()*0.4 - 0.2) * float64(pause))
	a.Next = store.MillisOf(now.Add(min(max(pause, f.After), b.Most)))
	return false
}

// Waits reports whether a message has to wait until a time. None waits longer than the longest
// pause: a time that is further away was written before the clock was set back.
func (b *Backoff) Waits(until, now time.Time) bool {
	pause := until.Sub(now)
	return pause > 0 && pause <= b.Most
}
