package a2aservertest

import (
	"testing"
	"time"
)

// A clock does not go back, even if it is moved while it moves.
func TestSleepDuringAdvance(t *testing.T) {
	begun := time.Now()
	c := &clock{now: begun}
	c.timers = []*timer{{at: begun.Add(time.Second), run: func() { c.sleep(24 * time.Hour) }}}
	c.advance(time.Minute)
	if passed := c.Now().Sub(begun); passed < 24*time.Hour {
		t.Errorf("%v have passed, want at least 24h", passed)
	}
}
