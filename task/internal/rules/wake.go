package rules

import (
	"errors"
	"time"

	"a2a-server/store"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
)

// ErrNotYet means that a due row cannot be processed now, and stays: another instance has to
// process it, or the clock was set back.
var ErrNotYet = errors.New("it is not due yet")

// Wake is the [Input] of a due row of kind [task.DueWake]: the end of a planner's wait, of a
// suspension, or of the pause before a call is retried. While a restored store waits for its operator,
// only calls continue that need a person's decision to run, those that were planned before.
type Wake struct{ Row store.Due }

func (in Wake) put(d *Draft) error {
	key := string(in.Row.Key)
	s := d.f.Step()
	if s == nil {
		d.drop(in.Row)
		return nil
	}
	if s.Until != nil && !s.Done && key == string(stepKey(s.Step)) {
		d.drop(in.Row)
		d.add(event.KindElapsed, &event.WaitElapsed{Step: s.Step})
		return nil
	}
	for _, c := range s.Progress {
		mine := key == c.ID && c.State == fold.CallWaiting && at(c.Wake, in.Row.Time) ||
			key == string(retryKey(c)) && c.State != fold.CallDone && at(c.Retry, in.Row.Time)
		if !mine {
			continue
		}
		if d.at.Now.Before(in.Row.Time.Time()) || !d.at.Held.IsZero() && !c.Restored {
			return ErrNotYet
		}
		if waits(d.basis, c) {
			d.drop(in.Row)
			return nil // the next try of a call that cannot be entered checks it
		}
		if d.f.Header.Phase == store.Live {
			return ErrNotYet // its turn continues, and removes the row in the same batch
		}
		d.force = true
		return nil
	}
	d.drop(in.Row)
	return nil // its purpose is gone
}

// at reports whether a time is that of a due row.
func at(t *time.Time, row store.Millis) bool { return t != nil && store.MillisOf(*t) == row }
