package deadline

import (
	"context"
	"errors"
	"slices"
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

// A timer that fires late, also when it looks before its time, is set once more, for a second: a few times, because
// an overloaded process is always late.
func TestLateTimer(t *testing.T) {
	t.Parallel()
	const (
		first = time.Minute - lead
		again = Slack - lead
	)
	for name, tc := range map[string]struct {
		late []time.Duration // for each time that it is set
		want []time.Duration // for which it is set
	}{
		"in time":                        {[]time.Duration{0, 0}, []time.Duration{first, lead}},
		"hardly late":                    {[]time.Duration{Slack / 20, Slack / 20}, []time.Duration{first, lead - Slack/20}},
		"stopped until its time":         {[]time.Duration{lead, 0, 0}, []time.Duration{first, again, lead}},
		"stopped until a moment after":   {[]time.Duration{lead + Slack/2, 0, 0}, []time.Duration{first, again, lead}},
		"stopped for the last moment":    {[]time.Duration{0, Slack/20 + 1, 0, 0}, []time.Duration{first, lead, again, lead}},
		"stopped for hours":              {[]time.Duration{9 * time.Hour, 0, 0}, []time.Duration{first, again, lead}},
		"stopped twice":                  {[]time.Duration{time.Hour, time.Hour, 0, 0}, []time.Duration{first, again, again, lead}},
		"stopped again at its last time": {[]time.Duration{time.Hour, 0, time.Hour, 0, 0}, []time.Duration{first, again, lead, again, lead}},
		"always late":                    {[]time.Duration{Slack, Slack, Slack, Slack, Slack, Slack}, []time.Duration{first, again, again, again, again, again}},
		"set back":                       {[]time.Duration{-time.Hour, -time.Hour}, []time.Duration{first, lead}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, ran := &lab{time: time.Unix(1, 0)}, 0
			timer := l.clock().afterFunc(time.Minute, func() { ran++ })
			var set []time.Duration
			for n := 0; n < len(l.set) && n < len(tc.late); n++ {
				if ran != 0 {
					t.Fatalf("it ran after %d of %d timers", n, len(tc.late))
				}
				set = append(set, l.set[n].d)
				l.time = l.time.Add(l.set[n].d + tc.late[n])
				l.set[n].f()
			}
			if ran != 1 || !slices.Equal(set, tc.want) {
				t.Errorf("it ran %d times, and was set for %v; want once, for %v", ran, set, tc.want)
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
