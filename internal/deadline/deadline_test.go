package deadline

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// lab is a clock whose timers fire when the test says so.
type lab struct {
	time time.Time
	set  []*alarm
}

type alarm struct {
	d       time.Duration
	f       func()
	stopped bool
}

func (l *lab) clock() clock {
	return clock{
		now: func() time.Time { return l.time },
		after: func(d time.Duration, f func()) func() bool {
			a := &alarm{d: d, f: f}
			l.set = append(l.set, a)
			return func() bool {
				a.stopped = true
				return true
			}
		},
	}
}

// A timer that fires late is set once more, for a second: not again, however late that is.
func TestLateTimer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		late time.Duration
		sets int
	}{
		"in time": {0, 1}, "hardly late": {Slack, 1}, "late": {Slack + 1, 2}, "hours late": {9 * time.Hour, 2}, "set back": {-time.Hour, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, ran := &lab{time: time.Unix(1, 0)}, 0
			timer := l.clock().afterFunc(time.Minute, func() { ran++ })
			l.time = l.time.Add(time.Minute + tc.late)
			for n := 0; n < len(l.set); n++ {
				if ran != 0 {
					t.Fatalf("it ran after %d of %d timers", n, len(l.set))
				}
				l.set[n].f()
				l.time = l.time.Add(time.Hour)
			}
			if ran != 1 || len(l.set) != tc.sets || l.set[len(l.set)-1].d != []time.Duration{time.Minute, Slack}[tc.sets-1] {
				t.Errorf("it ran %d times, and was set %d times; want once, %d times", ran, len(l.set), tc.sets)
			}
			if timer.Stop() {
				t.Error("Stop() = true after it ran")
			}
		})
	}
}

// A timer that was stopped or reset while it fired late does not run for its earlier time.
func TestStopOfALateTimer(t *testing.T) {
	t.Parallel()
	for _, reset := range []bool{false, true} {
		l, ran := &lab{time: time.Unix(1, 0)}, 0
		timer := l.clock().afterFunc(time.Minute, func() { ran++ })
		l.time = l.time.Add(time.Hour)
		l.set[0].f()
		if reset {
			timer.Reset(time.Minute)
		} else if !timer.Stop() {
			t.Error("Stop() = false")
		}
		l.set[1].f()
		if ran != 0 || !l.set[1].stopped {
			t.Errorf("reset %v: it ran %d times", reset, ran)
		}
	}
}

func TestWithTimeoutCause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := errors.New("slow")
		ctx, cancel := WithTimeoutCause(t.Context(), time.Second, slow)
		defer cancel()
		begun := time.Now()
		<-ctx.Done()
		if took := time.Since(begun); took != time.Second || !errors.Is(context.Cause(ctx), slow) {
			t.Errorf("after %v it ends with %v", took, context.Cause(ctx))
		}
	})
}
