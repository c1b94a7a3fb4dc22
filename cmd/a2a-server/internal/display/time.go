package display

import (
	"fmt"
	"math"
	"time"
)

// Exactly returns the exact time, and how far from now it is; "" for none.
func Exactly(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format("2006-01-02 15:04:05 -07:00") + " (" + Ago(at, now) + ")"
}

// Ago returns a time as its distance from now; "" for none.
func Ago(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	d := now.Sub(at)
	future := d < 0
	if future {
		d = -d
	}
	of := func(unit time.Duration) int { return int(math.Round(float64(d) / float64(unit))) }
	var text string
	switch {
	case d < time.Second:
		return "now"
	case d < 100*time.Second:
		text = fmt.Sprintf("%d s", of(time.Second))
	case d < 100*time.Minute:
		text = fmt.Sprintf("%d min", of(time.Minute))
	case d < 48*time.Hour:
		text = fmt.Sprintf("%d h", of(time.Hour))
	default:
		text = fmt.Sprintf("%d days", of(24*time.Hour))
	}
	if future {
		return "in " + text
	}
	return text + " ago"
}
