package notify

import (
	"context"
	"encoding/json"
	"time"
)

// Message is what a route sends. Its JSON is the data of a webhook, which names things as the approvals API does.
type Message struct {
	ID        string          `json:"-"` // of letters, digits, _ and -, stable for approval, event and route: the same in every attempt
	Event     string          `json:"-"` // an Event constant
	Route     string          `json:"route"`
	At        time.Time       `json:"-"`
	Task      string          `json:"task,omitempty"`
	Context   string          `json:"context,omitempty"`
	Approval  string          `json:"approval,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Hint      string          `json:"hint,omitempty"`
	Risk      string          `json:"risk,omitempty"`
	Requester string          `json:"requester,omitempty"`
	Args      json.RawMessage `json:"arguments,omitempty"` // masked; nil unless the route shows arguments
	Digest    string          `json:"digest,omitempty"`    // "" without Args, and with a mask: it would confirm guesses
	Expires   time.Time       `json:"deadline,omitzero"`   // zero: never
	Roles     []string        `json:"roles,omitempty"`     // of an escalated one: who may decide, too
	State     string          `json:"state,omitempty"`     // of a resolved one, as By and Reason
	By        string          `json:"by,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Link      string          `json:"link,omitempty"`  // public_url + the page of the approval; "": no public_url. It decides nothing by itself.
	To        string          `json:"-"`               // mail address of the requester, who alone gets it; "": the receivers of the route. It is not part of the text.
	Count     int             `json:"count,omitempty"` // of a summary: how many messages it stands for
}

// Sender sends the messages of a route. An error that wraps ErrPermanent is not tried again.
// A [DelayError] says how long to wait at least.
type Sender interface {
	Send(ctx context.Context, m *Message) error
}
