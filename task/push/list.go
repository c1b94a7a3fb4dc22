package push

import (
	"context"
	"errors"
	"time"

	"a2a-server/store"
	"a2a-server/task"
)

// State is what is known about a webhook, for operators.
type State struct {
	Task   store.TaskID
	Config string        // its id
	Owner  store.Scope   // of the task
	Host   string        // of its URL; the rest of it may be secret
	State  string        // "active", "retrying", "dead", or "damaged" if it cannot be read
	Tries  int           // that have failed in a row
	Next   time.Time     // of the next try; zero: it has nothing to be notified of, or is dead
	Error  string        // class of the last failure; "": the last try did not fail
	Lag    time.Duration // since the first event that it has not been notified of; 0: there is none
}

// List returns a page of the webhooks of all tasks. cursor is next of the previous page,
// "" for the first one; next is "" with the last one. limit defaults to 50 and is at most
// 1,000.
func (d *Deliverer) List(ctx context.Context, cursor string, limit int) (states []State, next string, err error) {
	page, err := d.store.Rows(ctx, store.System(), store.RowQuery{Kind: task.RowPushCursor, Limit: limit, Cursor: cursor})
	if err != nil {
		return nil, "", err
	}
	for i := range page.Rows {
		s, err := d.state(ctx, &page.Rows[i])
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

// state returns the state of the webhook of a cursor.
func (d *Deliverer) state(ctx context.Context, row *store.Row) (State, error) {
	j := &job{d: d, task: row.Task, key: row.Key}
	j.id, j.n, _ = task.ParsePushKey(row.Key)
	s := State{Task: row.Task, Config: j.id, State: "damaged"}
	c, err := task.ParsePushCursor(row)
	if err != nil {
		return s, nil //nolint:nilerr // the state says so
	}
	log, err := d.store.Read(ctx, store.System(), row.Task, store.After(c.Seq), store.Limit{Events: 1})
	if errors.Is(err, store.ErrDataLoss) {
		return s, nil
	} else if err != nil {
		return s, err
	}
	w, err := j.webhook(ctx)
	switch {
	case errors.Is(err, store.ErrDataLoss):
		return s, nil
	case err != nil:
		return s, err
	case w == nil:
		return s, store.ErrNotFound
	}
	s.Owner, s.Host, s.Tries, s.Error = log.Header.Owner, hostOf(w.URL), c.Tries, c.Error
	switch {
	case c.Dead:
		s.State = "dead"
	case c.Tries > 0:
		s.State = "retrying"
	default:
		s.State = "active"
	}
	ready, err := j.row(ctx, task.RowPushReady, j.key)
	if err != nil {
		return s, err
	}
	if ready != nil && !c.Dead {
		at, _ := task.ParseReadyKey(ready.Value)
		s.Next = at.Time()
	}
	if (ready != nil || c.Dead) && len(log.Events) > 0 {
		s.Lag = max(d.cfg.Now().Sub(log.Events[0].Time.Time()), 0)
	}
	return s, nil
}
