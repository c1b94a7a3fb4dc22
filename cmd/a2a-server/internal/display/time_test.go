package display

import (
	"testing"
	"time"
)

func TestAgo(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for d, want := range map[time.Duration]string{
		0: "now", 2 * time.Second: "2 s ago", 99 * time.Second: "99 s ago", 5 * time.Minute: "5 min ago", 30 * time.Hour: "30 h ago", 72 * time.Hour: "3 days ago",
		-(168*time.Hour - time.Second): "in 7 days", -90 * time.Minute: "in 90 min",
	} {
		if got := Ago(now.Add(-d), now); got != want {
			t.Errorf("Ago(%v) = %q, want %q", d, got, want)
		}
	}
	if got := Ago(time.Time{}, now); got != "" {
		t.Errorf("no time is %q", got)
	}
}
