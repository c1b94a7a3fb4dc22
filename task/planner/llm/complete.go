package llm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"a2a-server/internal/deadline"
	"a2a-server/internal/visible"
	"a2a-server/task"
	"a2a-server/task/planner/llm/internal/chat"
)

// Bounds of repeats.
const (
	maxTries = 5  // of a request within a plan
	maxWaits = 24 // durable waits in a row, some five hours
)

// complete asks the model, and says its text as it comes. A request that may succeed later is
// repeated, as the server asks for, as long as the plan has time; the text of an earlier try is
// replaced. All tries end before the engine ends the plan, so that there is time to plan a wait.
// lost are the tokens of the tries that spoke and failed, by their bytes: no usage came.
func (p *Planner) complete(ctx context.Context, at *task.Progress, body []byte) (answer *chat.Answer, lost int, err error) {
	limit := p.config.Timeout * 9 / 10
	over := p.config.Now().Add(limit)
	slow := &chat.Error{Reason: fmt.Sprintf("the model did not complete its answer within %v; limits.plan_timeout allows no more", limit), Temporary: true}
	within, cancel := deadline.WithTimeoutCause(ctx, limit, slow)
	defer cancel()
	said := false // by an earlier try
	for try := 1; ; try++ {
		spoke, bytes := false, len(body) // of this try
		answer, err = p.client.Complete(within, body, func(text string) error {
			err := at.Say(text, said && !spoke)
			spoke, bytes = true, bytes+len(text)
			return err
		})
		if err == nil && said && !spoke {
			err = at.Say("", true)
		}
		if err == nil {
			return answer, lost, nil
		}
		if try == 1 && spoke && errors.Is(err, slow) {
			slow.Temporary = false // the next answer would take as long
		}
		if spoke {
			said, lost = true, lost+bytes/bytesPerToken
		}
		failed, is := errors.AsType[*chat.Error](err)
		if is {
			p.config.Log.Warn().Str("task_id", at.Task).Int("try", try).Str("detail", visible.ClipText(failed.Detail, 1000)).Bool("temporary", failed.Temporary).Msg(failed.Reason)
		}
		pause := p.config.Pause << (try - 1)
		if is {
			pause = max(pause, failed.RetryAfter)
		}
		if !is || !failed.Temporary || try == maxTries || p.config.Now().Add(pause).After(over) {
			if said && ctx.Err() == nil {
				err = errors.Join(err, at.Say("", true))
			}
			return nil, lost, err
		}
		select {
		case <-ctx.Done():
			return nil, lost, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// failed returns a durable wait for a model that may answer later, and gives any other up.
func (p *Planner) failed(ctx context.Context, at *task.Progress, err error, lost int) (*task.Step, error) {
	e, is := errors.AsType[*chat.Error](err)
	switch {
	case ctx.Err() != nil || !is:
		return nil, err
	case !e.Temporary:
		return p.giveUp(at, e, lost)
	}
	n := 1 // waits in a row
	if steps := len(at.Steps); steps > 0 {
		n += stateOf(&at.Steps[steps-1]).Waits
	}
	if n > maxWaits {
		return p.giveUp(at, fmt.Errorf("%w, after %d waits", e, maxWaits), lost)
	}
	wait := max(p.config.Wait<<min(n-1, 5), min(e.RetryAfter, time.Hour)).Round(time.Millisecond)
	return &task.Step{
		Output: []task.Output{{Status: message(at, fmt.Sprintf("%s; the next try is in %v: wait, or cancel the task.", e.Reason, wait))}},
		Wait:   wait,
		State:  encode(state{Version: stateVersion, Waits: n, Tokens: lost}),
		Tokens: lost,
	}, nil
}

// giveUp returns the error or, if there are tokens to count, which an error cannot, the end of the
// task.
func (p *Planner) giveUp(at *task.Progress, err error, lost int) (*task.Step, error) {
	if lost == 0 {
		return nil, err
	}
	return p.end(at, &task.Step{Tokens: lost}, "The task failed: "+err.Error())
}

// clean returns a short text of another side as it may be shown.
func clean(text string) string { return visible.Clip(text, 100) }
