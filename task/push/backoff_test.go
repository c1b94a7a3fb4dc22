package push_test

import (
	"testing"
	"time"

	"a2a-server/store"
	"a2a-server/task/internal/record"
	"a2a-server/task/push"
)

// The pauses double from a second to an hour, give or take a fifth. After 20 failures, or a
// day of them, a webhook is given up.
func TestBackoff(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	for _, random := range []float64{0, 0.5, 0.999} {
		c, now := record.PushCursor{Seq: 7, Epoch: 3}, began
		for n := 1; ; n++ {
			c = push.Fails(c, 0, false, now, random)
			if c.Tries != n || c.Seq != 7 || c.Epoch != 3 || c.Error != "test" || c.Since != store.MillisOf(began) {
				t.Fatalf("after %d failures: %+v", n, c)
			}
			if c.Dead {
				if n != 20 || c.Next != 0 {
					t.Errorf("given up after %d failures, next at %d", n, c.Next)
				}
				break
			}
			want := min(time.Second<<(n-1), time.Hour)
			got := c.Next.Time().Sub(now)
			if got < want*8/10-time.Millisecond || got > min(want*12/10, time.Hour) {
				t.Errorf("pause %d is %v, want %v ± 20 %%", n, got, want)
			}
			now = c.Next.Time()
		}
	}
	// What the webhook asks for counts, up to an hour.
	for asked, want := range map[time.Duration]time.Duration{0: time.Second, 90 * time.Second: 90 * time.Second, 100 * time.Hour: time.Hour} {
		c := push.Fails(record.PushCursor{}, asked, false, began, 0.5)
		if got := c.Next.Time().Sub(began); got != want {
			t.Errorf("a webhook that asks for %v is tried after %v, want %v", asked, got, want)
		}
	}
	if c := push.Fails(record.PushCursor{Attempts: record.Attempts{Tries: 3, Since: store.MillisOf(began)}}, 0, false, began.Add(24*time.Hour), 0.5); !c.Dead {
		t.Error("a day of failures, and it is not given up")
	}
	if c := push.Fails(record.PushCursor{}, 0, true, began, 0.5); !c.Dead || c.Tries != 1 {
		t.Errorf("one that is gone: %+v", c)
	}
	// A clock that was set back does not make a webhook older than it is.
	if c := push.Fails(record.PushCursor{Attempts: record.Attempts{Tries: 1, Since: store.MillisOf(began.Add(time.Hour))}}, 0, false, began, 0.5); c.Dead || c.Since != store.MillisOf(began) {
		t.Errorf("after the clock was set back: %+v", c)
	}
}
