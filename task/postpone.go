package task

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"a2a-server/approval"
	"a2a-server/internal/visible"
	"a2a-server/task/internal/event"
	"a2a-server/tool"
)

// How a call that cannot be entered is retried: with backoff; from the third try on, the
// status says so, and after a day a person is asked.
const (
	firstRetry = time.Second
	maxRetry   = 15 * time.Minute
	sayTries   = 3
	doubtAfter = 24 * time.Hour
)

// maxTrouble bounds the reason why a tool cannot be looked up, in characters.
const maxTrouble = 500

// askDoubt is the prefix of the Ask of the server's own question whether to keep waiting.
const askDoubt = "unavailable."

// The answers to it.
const (
	waitOn = "wait"
	giveUp = "give up"
)

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
func (d *Draft) postpone(c *call, why error) error {
	return d.retryAfter(c, backoff(c.Tries+1, firstRetry, maxRetry), visible.Shorten(why.Error(), maxTrouble))
}

// retryAfter retries a call after a pause.
func (d *Draft) retryAfter(c *call, pause time.Duration, why string) error {
	now := d.at.Now.Truncate(time.Millisecond)
	e := &event.CallPostponed{Call: c.ID, N: c.Tries + 1, Why: why, Since: now, Until: now.Add(pause)}
	if c.Since != nil {
		e.Since = *c.Since
	}
	// Waiting may last for days: only what is new is written and published.
	says := e.N == sayTries || e.N > sayTries && why != c.Trouble
	if why == c.Trouble {
		e.Why = ""
	}
	if c.Retry != nil {
		d.wake(*c.Retry, retryKey(c), true /* remove */)
	}
	if c.Wake != nil && !d.at.Now.Before(*c.Wake) {
		d.wake(*c.Wake, []byte(c.ID), true /* remove */) // it has fired, and the next try replaces it
	}
	if err := d.add(event.KindPostponed, e); err != nil {
		return err
	}
	d.wake(e.Until, retryKey(c), false /* remove */)
	d.troubled = d.troubled || says
	if now.Sub(e.Since) < doubtAfter || c.Doubt != "" {
		return nil
	}
	return d.doubt(c)
}

// waits reports whether a call waits for its next try.
func (d *Draft) waits(c *call) bool { return c.Retry != nil && d.at.Now.Before(*c.Retry) }

// doubt asks whether to keep waiting for the tool of a call.
func (d *Draft) doubt(c *call) error {
	n := 1
	for _, a := range d.f.Approvals {
		if a.Call == c.ID && strings.HasPrefix(a.Ask, askDoubt) {
			n++
		}
	}
	a := &approval.Approval{
		Kind: approval.KindQuestion, Args: c.Args, Ask: fmt.Sprintf("%s%d", askDoubt, n), AskKind: string(tool.AskForm),
		Schema: json.RawMessage(`{"enum":["` + waitOn + `","` + giveUp + `"],"type":"string"}`),
		Hint: fmt.Sprintf("The tool %s has been unreachable since %s (%d tries): %s. Respond %q to keep trying, or %q to end the call with an error.",
			c.Tool, c.Since.Format(time.RFC3339), c.Tries, c.Trouble, waitOn, giveUp),
		Terms: d.rules.Policy.AskTerms(),
	}
	if grant := d.f.granted(c); grant != nil {
		a.Terms.FourEyes, a.Terms.Elsewhere, a.Terms.Approvers = grant.Terms.FourEyes, grant.Terms.Elsewhere, grant.Terms.Approvers
	}
	if err := d.fill(c, nil, a); err != nil {
		return err
	}
	if err := d.fits(a); err != nil {
		return d.finish(c, OutcomeError, nil, fmt.Sprintf("the tool cannot be reached: %s; and nobody can be asked: %v", c.Trouble, err), nil)
	}
	return d.ask(a)
}

// doubted returns the call about which an approval asks whether to keep waiting, nil if
// it asks something else.
func (f *Fold) doubted(a *pendingApproval) *call {
	c := f.call(a.Call)
	if c == nil || c.Doubt != a.ID {
		return nil
	}
	return c
}

// doubtResolved ends a call if nobody wants to wait for its tool any longer.
func (d *Draft) doubtResolved(c *call, a *pendingApproval) error {
	switch a.State {
	case approval.Superseded, approval.Canceled:
		return nil
	case approval.Responded:
		if waitsOn(a.Resolution.Response) {
			return nil
		}
	case approval.Pending, approval.Approved, approval.Edited, approval.Rejected, approval.Expired:
	}
	return d.finish(c, OutcomeError, nil, d.unknownBefore(c, "the tool could not be reached, and it was given up: "+c.Trouble), nil)
}

// waitsOn reports whether the answer to a doubt is to keep waiting.
func waitsOn(response json.RawMessage) bool { return string(response) == `"`+waitOn+`"` }

// troubles returns the status text about calls that are being retried, "" if there is
// nothing to say.
func (d *Draft) troubles() string {
	s := d.f.step()
	if !d.troubled || s == nil {
		return ""
	}
	var says []string
	for _, c := range s.Progress {
		if c.Retry != nil && c.Tries >= sayTries && c.State != callDone {
			says = append(says, fmt.Sprintf("%s (%s) has been unable to continue since %s: %s. The next try is at %s; later ones follow at longer intervals.",
				c.Tool, c.ID, c.Since.Format(time.RFC3339), c.Trouble, c.Retry.Format(time.RFC3339)))
		}
	}
	return strings.Join(says, "\n")
}

// retryKey is the key of the due row that retries a call.
func retryKey(c *call) []byte { return []byte(c.ID + "/retry") }
