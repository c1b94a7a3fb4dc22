package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"a2a-server/store"
	"a2a-server/task/internal/record"
)

// State is the state of a message, for operators.
type State struct {
	ID       string
	Task     store.TaskID
	Approval string
	Event    string // one of [record.Notification], or "summary"
	Route    string
	State    string // "waiting", "retrying", "failed", or "damaged" if it cannot be read
	At       time.Time
	Tries    int
	Next     time.Time // of the next try; zero: it is not known, or there is none
	Error    string    // of the last try
	Count    int       // of a summary: the messages that it stands for
}

// Query selects messages.
type Query struct {
	State  string // "": any
	Cursor string // next of the previous page; "": the first page
	Limit  int    // rows that are looked at. Defaults to 50; at most 1,000.
	// Since lists the summaries that have failed since then, too, after the messages: one for
	// a route, whatever the scope. Zero: none.
	Since time.Time
}

// inSummaries begins the cursors of summaries.
const inSummaries = "summaries:"

// List returns a page of the messages in a scope that are not sent. A page may be empty and not
// the last. next is "" with the last page.
func List(ctx context.Context, h store.Handle, scope store.Scope, q Query) (states []State, next string, err error) {
	if after, ok := strings.CutPrefix(q.Cursor, inSummaries); ok {
		return failedSummaries(ctx, h, q, after)
	}
	of := store.RowQuery{Kind: record.KindNotify, Limit: q.Limit, Cursor: q.Cursor}
	if q.State == "failed" {
		of.Index = record.IndexFailed
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
	if next = rows.Next; next == "" && !q.Since.IsZero() && (q.State == "" || q.State == "failed") {
		next = inSummaries
	}
	return states, next, nil
}

// failedSummaries returns a page of the summaries that have failed.
func failedSummaries(ctx context.Context, h store.Handle, q Query, after string) (states []State, next string, err error) {
	if q.Since.IsZero() {
		return nil, "", store.ErrCursor
	}
	rows, err := h.Rows(ctx, owner(), store.RowQuery{Kind: rowRoute, Limit: q.Limit, Cursor: after})
	if err != nil {
		return nil, "", fmt.Errorf("read the routes: %w", err)
	}
	for i := range rows.Rows {
		if of := lostSince(&rows.Rows[i], q.Since); of != nil {
			states = append(states, State{
				ID: of.ID, Event: EventSummary, Route: string(rows.Rows[i].Key), State: "failed", At: of.At.Time(), Tries: of.Tries, Error: of.Error, Count: of.Count,
			})
		}
	}
	if rows.Next != "" {
		next = inSummaries + rows.Next
	}
	return states, next, nil
}

// lostSince returns the summaries of a route's row that have failed, if one has since a time.
func lostSince(row *store.Row, since time.Time) *summary {
	var s state
	if json.Unmarshal(row.Value, &s) != nil || s.Lost == nil || s.Lost.At <= store.MillisOf(since) {
		return nil
	}
	return s.Lost
}

func stateOf(row *store.Row) State {
	s := State{ID: record.NotificationID(row.Key), Task: row.Task, State: "damaged"}
	n, err := record.ParseNotification(row)
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
