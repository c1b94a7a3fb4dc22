package rules

import (
	"fmt"
	"strings"
	"time"

	"a2a-server/internal/visible"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
)

// Retries of a call that cannot be entered: with backoff, until it is canceled. From try
// sayTries on, the status names the missing tool.
const (
	firstRetry = time.Second
	maxRetry   = 15 * time.Minute
	sayTries   = 3
)

// maxApproved is how old the approval of a call may be when the call starts or goes on after its tool could not be
// reached: an older one is asked for again.
const maxApproved = 24 * time.Hour

// maxTrouble bounds the reason why a tool cannot be looked up, in characters.
const maxTrouble = 500

// backoff returns the pause after n tries: first, and twice as long each time, up
// to limit.
func backoff(n int, first, limit time.Duration) time.Duration {
	for ; n > 1 && first < limit; n-- {
		first *= 2
	}
	return min(first, limit)
}

// postpone leaves a call as it is because its tool cannot be looked up now, which says
// nothing about the tool. A durable timer triggers the next try.
func postpone(add additions, b basis, c *fold.Call, why error) additions {
	return retryAfter(add, b, c, backoff(c.Tries+1, firstRetry, maxRetry), visible.Shorten(why.Error(), maxTrouble))
}

// retryAfter retries a call after a pause.
func retryAfter(add additions, b basis, c *fold.Call, pause time.Duration, why string) additions {
	now := b.Now.Truncate(time.Millisecond)
	e := &event.CallPostponed{Call: c.ID, N: c.Tries + 1, Why: why, Since: now, Until: now.Add(pause)}
	if c.Since != nil {
		e.Since = *c.Since
	}
	// A wait may last for days: only changes are written and published.
	says := e.N == sayTries || e.N > sayTries && why != c.Trouble
	if why == c.Trouble {
		e.Why = ""
	}
	add.unretry(c)
	if c.Wake != nil && !b.Now.Before(*c.Wake) {
		add.unwake(c) // it has fired, and the next try replaces it
	}
	add.event(b, event.KindPostponed, e)
	add.due = append(add.due, wakeup(e.Until, retryKey(c)))
	add.troubled = add.troubled || says
	return add
}

// troubles returns the status text about calls of a step that are being retried, "" if there is
// nothing to say.
func troubles(s *fold.Step) string {
	var says []string
	for _, c := range s.Progress {
		if c.Retry != nil && c.Tries >= sayTries && c.State != fold.CallDone {
			says = append(says, fmt.Sprintf("%s (%s) has been unable to continue since %s: %s. The next try is at %s; later ones follow at longer intervals.",
				c.Tool, c.ID, c.Since.Format(time.RFC3339), c.Trouble, c.Retry.Format(time.RFC3339)))
		}
	}
	return strings.Join(says, "\n")
}
