// Package push delivers push notifications: it reads the logs of tasks and posts what
// happens in them to the webhooks that clients have set.
package push

import (
	"context"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/store"
	"a2a-server/task"
)

// Opener opens the secrets of webhooks that the engine has sealed. It is safe for
// concurrent use.
type Opener interface {
	Open(sealed, bound []byte) (secret []byte, err error)
}

// Notification is one notification of one webhook.
type Notification struct {
	ID     string // unique to the event, and the same when it is sent again
	Task   store.TaskID
	Config string // id of the webhook
	URL    string
	Time   time.Time // of the event
	Body   []byte
}

// Config configures a [Deliverer].
type Config struct {
	Store   store.Handle // required; that of the engine
	Secrets Opener       // required; opens what the engine's Sealer has sealed
	// Client sends the requests. Required. It must not follow redirects, and has to bound
	// the addresses that it connects to, and what it reads of an answer; see internal/egress.
	Client *http.Client
	// Legacy encodes a task for webhooks of protocol version 0.3. Nil: those are not served,
	// and die.
	Legacy func(*task.View) ([]byte, error)
	// Sign adds headers to the request of a notification whose webhook has no
	// authentication of its own. Nil: none are added.
	Sign func(ctx context.Context, n *Notification, h http.Header) error

	Timeout time.Duration // of one request, 1 s to 30 s. Defaults to 15 s.
	Log     zerolog.Logger
	Now     func() time.Time // the engine's clock. Defaults to time.Now.
}

// Deliverer delivers push notifications. It is safe for concurrent use.
type Deliverer struct{ cfg Config }

// New returns a Deliverer. It starts nothing; call [Deliverer.Run].
func New(cfg Config) (*Deliverer, error) { return &Deliverer{cfg: cfg}, nil }

// Run delivers until ctx ends.
func (d *Deliverer) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// State is what is known about a webhook, for operators.
type State struct {
	Task   store.TaskID
	Config string      // its id
	Owner  store.Scope // of the task
	Host   string      // of its URL
	State  string      // "active", "retrying" or "dead"
	Tries  int         // that have failed in a row
	Next   time.Time   // of the next try; zero: none is due
	Error  string      // class of the last error; "": there was none
	Lag    time.Duration
}

// List returns a page of the webhooks of all tasks. cursor is next of the previous page;
// "" is the first one, and next is "" with the last one.
func (d *Deliverer) List(ctx context.Context, cursor string, limit int) (states []State, next string, err error) {
	return nil, "", nil
}
