package notify

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// The events of messages.
const (
	EventAsked    = "approval.asked"
	EventResolved = "approval.resolved"
	EventSummary  = "summary"
)

// Message is what a route sends.
type Message struct {
	ID    string // stable for approval, event and route: the same in every attempt
	Event string // an Event constant
	Route string
	At    time.Time // of the event

	Task, Context, Approval, Tool, Hint, Risk, Requester string

	Args    json.RawMessage // masked; nil unless the route shows arguments
	Digest  string
	Expires time.Time // zero: never

	State, By, Reason string // of a resolved approval

	// Link is the page of the approval, or for a summary the inbox; "": there is no public_url.
	// It decides nothing by itself.
	Link  string
	Count int // of a summary: how many messages it stands for
}

// Sender sends the messages of a route. An error that wraps [ErrPermanent] is not tried again.
// Errors are shown to operators: they have no secrets. A Sender is safe for concurrent use.
type Sender interface {
	Send(ctx context.Context, m *Message) error
}

// ErrPermanent means that sending a message again would fail again.
var ErrPermanent = errors.New("the receiver refuses the message")

// retryAfter is an error of a receiver that wants to be left alone for a time.
type retryAfter struct {
	error
	span time.Duration
}

func (r retryAfter) Unwrap() error { return r.error }

// After returns err with the time for which the receiver wants to be left alone.
func After(err error, span time.Duration) error { return retryAfter{err, span} }

// RetryAfter returns how long to wait at least before the next attempt; 0: err does not say.
func RetryAfter(err error) time.Duration {
	if wait, is := errors.AsType[retryAfter](err); is {
		return wait.span
	}
	return 0
}
