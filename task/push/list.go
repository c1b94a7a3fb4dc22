package push

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task/internal/record"
)

// State is the state of a webhook, for operators.
type State struct {
	Task   store.TaskID
	Config string         // its id
	Number uint64         // position among the webhooks that were set in the task
	Owner  store.Scope    // of the task; zero if that cannot be read
	By     auth.Principal // principal that has set it; zero if unreadable
	Set    time.Time      // when
	Host   string         // of its URL; the rest of it may be secret
	State  string         // "active", "retrying", "dead", or "damaged" if something of it cannot be read
	Tries  int            // that have failed in a row
	Next   time.Time      // of the next try; zero: it has nothing to be notified of, or is dead
	Error  string         // class of the last failure; "": the last try did not fail
	Lag    time.Duration  // since the first event that it has not been notified of; 0: there is none
}

// SetBy reports whether a subject has set the webhook, itself or through a chain. A webhook
// whose setter cannot be read counts as set by the owner of its task, like every webhook.
func (s *State) SetBy(subject string) bool {
	if s.By.IsZero() {
		return s.Owner.Subject() == subject
	}
	return s.By.Subject == subject || slices.Contains(s.By.Chain, subject)
}

// Query selects webhooks.
type Query struct {
	Task   store.TaskID // zero: of all tasks
	Cursor string       // next of the previous page; "": the first page
	Limit  int          // Defaults to 50; at most 1,000.
}

// List returns a page of the webhooks of the tasks in a scope as they are now, whether they are
// notified or not. next is "" with the last page.
func List(ctx context.Context, h store.Handle, scope store.Scope, now time.Time, q Query) (states []State, next string, err error) {
	page, err := h.Rows(ctx, scope, store.RowQuery{Kind: record.KindPushCursor, Task: q.Task, Limit: q.Limit, Cursor: q.Cursor})
	if err != nil {
		return nil, "", err
	}
	for i := range page.Rows {
		s, err := stateOf(ctx, h, &page.Rows[i], now)
		switch {
		case errors.Is(err, store.ErrNotFound):
			continue // deleted meanwhile
		case err != nil:
			return nil, "", err
		}
		states = append(states, s)
	}
	return states, page.Next, nil
}

// stateOf returns the state of the webhook of a cursor. A damaged part of it hides nothing
// else of it.
func stateOf(ctx context.Context, h store.Handle, row *store.Row, now time.Time) (State, error) {
	p, _ := placeOf(h, row)
	s := State{Task: row.Task, Config: p.id, Number: p.n, State: "active"}
	lost := func(err error) bool {
		if !errors.Is(err, store.ErrDataLoss) {
			return false
		}
		s.State = "damaged"
		return true
	}
	w, err := p.webhook(ctx)
	switch {
	case lost(err):
	case err != nil:
		return s, err
	case w == nil:
		return s, store.ErrNotFound
	default:
		s.By, s.Set, s.Host = w.By, w.Set, hostOf(w.URL)
	}
	c, err := record.ParsePushCursor(row)
	from := c.Seq
	if lost(err) {
		from = math.MaxInt64 // only the owner of the task
	} else if err != nil {
		return s, err
	}
	s.Tries, s.Error = c.Tries, c.Error
	log, err := h.Read(ctx, store.System(), row.Task, store.After(from), store.Limit{Events: 1})
	if lost(err) && from != math.MaxInt64 {
		log, err = h.Read(ctx, store.System(), row.Task, store.After(math.MaxInt64), store.Limit{Events: 1})
	}
	if err != nil && !lost(err) {
		return s, err
	}
	s.Owner = log.Header.Owner
	switch {
	case s.State == "damaged":
		return s, nil
	case c.Dead:
		s.State = "dead"
	case c.Tries > 0:
		s.State = "retrying"
	}
	ready, err := p.row(ctx, record.KindPushReady, p.key)
	if lost(err) {
		return s, nil
	} else if err != nil {
		return s, err
	}
	if ready != nil && !c.Dead {
		at, _ := record.ParseReadyKey(ready.Value)
		s.Next = at.Time()
	}
	if (ready != nil || c.Dead) && len(log.Events) > 0 {
		s.Lag = max(now.Sub(log.Events[0].Time.Time()), 0)
	}
	return s, nil
}
