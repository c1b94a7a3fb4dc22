package approval

import (
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", 10 * time.Second: "10s", 90 * time.Second: "1m30s", 10 * time.Minute: "10m", 30 * time.Minute: "30m",
		time.Hour: "1h", 90 * time.Minute: "1h30m", 100 * time.Minute: "1h40m", 10 * time.Hour: "10h", 24 * time.Hour: "24h",
		720 * time.Hour: "720h", time.Hour + time.Second: "1h1s", time.Hour + 10*time.Second: "1h10s", 1500 * time.Millisecond: "1.5s", -time.Hour: "-1h",
	} {
		if got := Span(d); got != want {
			t.Errorf("Span(%v) = %q, want %q", d, got, want)
		}
	}
}
