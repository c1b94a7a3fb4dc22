package notify

import (
	"context"
	"encoding/json"
	"time"
)

// Message is what a route sends.
type Message struct {
	ID                                                   string // stable for approval, event and route: the same in every attempt
	Event                                                string // an Event constant
	Route                                                string
	At                                                   time.Time
	Task, Context, Approval, Tool, Hint, Risk, Requester string
	Args                                                 json.RawMessage // masked; nil unless the route shows arguments
	Digest                                               string          // "" without Args, and with a mask: it would confirm guesses
	Expires                                              time.Time       // zero: never
	Roles                                                []string        // of an escalated one: who may decide, too
	State, By, Reason                                    string          // of a resolved one
	Link                                                 string          // public_url + the page of the approval; "": no public_url. It decides nothing by itself.
	To                                                   string          // mail address of the requester, who alone gets it; "": the receivers of the route. It is not part of the text.
	Count                                                int             // of a summary: how many messages it stands for
}

// Sender sends the messages of a route. An error that wraps ErrPermanent is not tried again.
// RetryAfter(err) says how long to wait at least.
type Sender interface {
	Send(ctx context.Context, m *Message) error
}
