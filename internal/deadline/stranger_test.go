package deadline

import (
	"testing"
	"time"
)

// still is a clock whose timers fire by hand.
type still struct {
	now time.Time
	set []time.Duration
	f   []func()
}

func (s *still) clock() clock {
	return clock{
		now: func() time.Time { return s.now },
		after: func(d time.Duration, f func()) func() bool {
			s.set, s.f = append(s.set, d), append(s.f, f)
			return func() bool { return true }
		},
	}
}

// The process stands still again while the timer is set for Slack: what happened meanwhile is read first.
func TestStrangerStandsStillTwice(t *testing.T) {
	s := &still{now: time.Unix(0, 0)}
	ran := false
	s.clock().afterFunc(time.Minute, func() { ran = true })
	s.now = s.now.Add(time.Hour)
	s.f[0]()
	if ran {
		t.Fatal("it ran, late")
	}
	s.now = s.now.Add(time.Hour) // again
	s.f[1]()
	if ran {
		t.Error("it ran at once, although the process stood still for an hour: nothing was read since")
	}
}

// The process stands still over the time of the timer, and continues less than Slack after it.
func TestStrangerStandsStillShortly(t *testing.T) {
	s := &still{now: time.Unix(0, 0)}
	ran := false
	s.clock().afterFunc(time.Minute, func() { ran = true })
	s.now = s.now.Add(time.Minute + Slack) // it was stopped for the last 59 s
	s.f[0]()
	if ran {
		t.Error("it ran at once, although the process stood still until now: nothing was read since")
	}
}

// Reset, Stop and a firing in flight.
func TestStrangerResetInFlight(t *testing.T) {
	s := &still{now: time.Unix(0, 0)}
	ran := 0
	tm := s.clock().afterFunc(time.Minute, func() { ran++ })
	tm.Reset(time.Hour)
	s.f[0]() // fired before, waits for the lock
	if ran != 0 {
		t.Error("the old setting fired after Reset")
	}
	s.now = s.now.Add(3 * time.Hour)
	s.f[1]()
	if !tm.Stop() || tm.Stop() {
		t.Error("Stop during the slack")
	}
	s.f[2]()
	if ran != 0 {
		t.Error("it ran after Stop")
	}
	tm.Reset(0)
	s.f[3]()
	if ran != 1 || tm.Stop() {
		t.Errorf("ran %d times", ran)
	}
}
