package notify

import (
	"context"
	"time"

	"a2a-server/store"
	"a2a-server/task"
)

// State is the state of a message, for operators.
type State struct {
	ID       string
	Task     store.TaskID
	Approval string
	Event    string // "asked" or "resolved"
	Route    string
	State    string // "waiting", "retrying", "failed", or "damaged" if it cannot be read
	At       time.Time
	Tries    int
	Next     time.Time // of the next try; zero: it is not known, or there is none
	Error    string    // of the last try
}

// Query selects messages.
type Query struct {
	State  string // "": any
	Cursor string // next of the previous page; "": the first page
	Limit  int    // rows that are looked at. Defaults to 50; at most 1,000.
}

// List returns a page of the messages in a scope that are not sent. A page may be empty and not
// the last. next is "" with the last page.
func List(ctx context.Context, h store.Handle, scope store.Scope, q Query) (states []State, next string, err error) {
	of := store.RowQuery{Kind: task.RowNotify, Limit: q.Limit, Cursor: q.Cursor}
	if q.State == "failed" {
		of.Index = task.IndexFailed
	}
	rows, err := h.Rows(ctx, scope, of)
	if err != nil {
		return nil, "", err
	}
	for i := range rows.Rows {
		if s := stateOf(&rows.Rows[i]); q.State == "" || q.State == s.State {
			states = append(states, s)
		}
	}
	return states, rows.Next, nil
}

func stateOf(row *store.Row) State {
	s := State{ID: task.NotificationID(row.Key), Task: row.Task, State: "damaged"}
	n, err := task.ParseNotification(row)
	if err != nil {
		return s
	}
	s.Approval, s.Event, s.Route, s.At, s.Tries, s.Error = n.Approval, n.Event, n.Route, n.At.Time(), n.Tries, n.Error
	switch {
	case n.Failed > 0:
		s.State = "failed"
	case n.Tries > 0:
		s.State, s.Next = "retrying", n.Next.Time()
	default:
		s.State = "waiting"
	}
	return s
}
