package egress

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

// RetryAfter returns the time in the value of a header Retry-After, 0 if it has none. It may be
// too long.
func RetryAfter(value string, now time.Time) time.Duration {
	n, err := strconv.ParseUint(value, 10, 31)
	if err == nil || errors.Is(err, strconv.ErrRange) { // then n is the most that fits
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
