package rules

import (
	"time"

	"a2a-server/store"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
)

// Wake is the [Input] of a due row of kind [record.DueWake]: the end of a planner's wait, of a
// suspension, or of the pause before a call is retried. While a restored store waits for its operator,
// only calls continue that need a person's decision to run, those that were planned before.
type Wake struct{ Row store.Due }

func (in Wake) put(add additions, b basis) (additions, error) {
	key := string(in.Row.Key)
	s := b.Step()
	if s == nil {
		return drop(add, in.Row), nil
	}
	if s.Until != nil && !s.Done && key == string(stepKey(s.Step)) {
		add = drop(add, in.Row)
		add.event(b, event.KindElapsed, &event.WaitElapsed{Step: s.Step})
		return add, nil
	}
	for _, c := range s.Progress {
		mine := key == c.ID && c.State == fold.CallWaiting && at(c.Wake, in.Row.Time) ||
			key == string(retryKey(c)) && c.State != fold.CallDone && at(c.Retry, in.Row.Time)
		if !mine {
			continue
		}
		if b.Now.Before(in.Row.Time.Time()) || !b.Held.IsZero() && !c.Restored {
			return add, ErrNotYet
		}
		if waits(b, c) {
			return drop(add, in.Row), nil // the next try of a call that cannot be entered checks it
		}
		if b.Header.Phase == store.Live {
			return add, ErrNotYet // its turn continues, and removes the row in the same batch
		}
		add.force = true
		return add, nil
	}
	return drop(add, in.Row), nil // its purpose is gone
}

// at reports whether a time is that of a due row.
func at(t *time.Time, row store.Millis) bool { return t != nil && store.MillisOf(*t) == row }
