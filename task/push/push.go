// Package push delivers push notifications: it reads the logs of tasks and posts their events
// to the webhooks that clients have set.
//
// # Rows
//
// Waiting is rows, not goroutines. The batch that makes an event for a webhook puts a row
// push.ready (see [record.KindPushReady]), whose index is the time from which the webhook has to
// be looked at. A [Deliverer] reads that index, sends the events after the webhook's cursor in
// the log, and removes the row when nothing is left. A webhook that fails is looked at again
// later: its row gets another time. All of it is in asides, which conflict with no turn. The
// workers are those of package task/internal/outbox.
//
// # Guarantees
//
//   - Each event is delivered at least once, and the events of a webhook in their order: the
//     next event is not sent before the cursor is durable after its predecessor. A crash repeats
//     the newest event, and a process that is taken over cannot call back the request in
//     flight. Each notification has an id that is the same when it is repeated.
//   - No event is lost: a row push.ready is removed only together with the cursor, and only
//     if it is unchanged since its read, which came before the read of the log.
//   - A webhook belongs to the youngest instance that has delivered to it. An older instance
//     finds another epoch in the cursor, and leaves it alone. A younger instance takes it over
//     when nobody holds the epoch in the cursor any more.
//   - A webhook that fails is retried with backoff, and given up after a day or 20 failures
//     in a row, or at once if it answers 410 Gone. A webhook that hangs holds a worker until the
//     timeout. A host holds at most four workers, the webhooks of a caller at most a quarter of
//     all, and webhooks that have failed before at most half. After 16 notifications, a webhook
//     with a backlog gives way to webhooks that are ready by then.
//
// Logs and lists have only the class of a failure: answers and secrets are never repeated.
package push

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/host"
	"a2a-server/task/internal/outbox"
	"a2a-server/task/internal/record"
)

// The limits of a [Deliverer].
const (
	maxWorkers = 64
	maxPerHost = 4
	maxRetries = 32 // workers of webhooks whose last try has failed
	perCaller  = maxWorkers / 4
	page       = 256 // rows
	maxViews   = 4   // tasks that are built at once for webhooks of version 0.3
)

func backoff() outbox.Backoff {
	return outbox.Backoff{First: time.Second, Most: time.Hour, Tries: 20, Span: 24 * time.Hour}
}

// Opener opens the secrets of webhooks that the engine has sealed. It is safe for
// concurrent use.
type Opener interface {
	Open(sealed, bound []byte) (secret []byte, err error)
}

// Notification is a notification of a webhook.
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
	Secrets Opener       // required; opens secrets sealed by the engine's Sealer
	// Client sends the requests. Required. It must not follow redirects, and has to limit the
	// addresses that it connects to, and the bytes that it reads of an answer; see
	// internal/egress.
	Client *http.Client
	// Legacy encodes a task for webhooks of protocol version 0.3, in any goroutine. Nil: their
	// notifications fail.
	Legacy func(*task.View) ([]byte, error)
	// View returns a task as it was after an event, without parts that would make it too large.
	// Required with Legacy.
	View func(ctx context.Context, id store.TaskID, seq uint64) (*task.View, error)
	// Sign adds headers to the request of a notification whose webhook has no
	// authentication of its own. Nil: none are added.
	Sign func(ctx context.Context, n *Notification, h http.Header) error

	Timeout time.Duration // of a request with its answer, 1 s to 30 s. Defaults to 15 s.
	// Unshared lets the webhooks of a single caller have all workers, instead of a quarter:
	// for a server that cannot tell its callers apart.
	Unshared bool
	Log      zerolog.Logger
	Now      func() time.Time // the engine's clock. Defaults to time.Now.

	CrashPoint func(point string) // called at [PointSent], for tests that kill the process
	Host       host.Host          // for a simulation, whose Client keeps the time itself
	Random     func() float64     // from 0 to below 1, by which pauses differ. Defaults to that of math/rand/v2.
}

// PointSent is where a crash leaves something half done: a webhook has been notified, but
// that is not recorded.
const PointSent = "push.sent"

// Deliverer delivers push notifications. It is safe for concurrent use.
type Deliverer struct {
	cfg   Config
	box   *outbox.Outbox
	views chan struct{} // holds a token for each view that may be made now
	read  time.Time     // when a scan has read all rows
}

// New returns a Deliverer. It starts nothing; call [Deliverer.Run].
func New(cfg Config) *Deliverer {
	cfg.Timeout = min(max(cmp.Or(cfg.Timeout, 15*time.Second), time.Second), 30*time.Second)
	// A redirect is an answer like any other that is no success.
	client := *cfg.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	cfg.Client = &client
	d := &Deliverer{cfg: cfg, views: make(chan struct{}, maxViews)}
	for range maxViews {
		d.views <- struct{}{}
	}
	pauses := backoff()
	pauses.Random = cfg.Random
	d.box = outbox.New(outbox.Config{
		Store: cfg.Store, Kind: record.KindPushReady, Scan: d.scan, Problem: "push notifications cannot be read; retrying",
		Gap: time.Millisecond, MaxWorkers: maxWorkers, Backoff: pauses, Log: cfg.Log, Now: cfg.Now, Host: cfg.Host,
	})
	return d
}

// Stats counts the work of all webhooks.
type Stats = outbox.Stats

// Stats returns the counts so far.
func (d *Deliverer) Stats() Stats { return d.box.Count("", Stats{}) }

// Run delivers until ctx ends. It may be called once. See [outbox.Outbox.Run].
func (d *Deliverer) Run(ctx context.Context) error { return d.box.Run(ctx) }

// scan offers the webhooks that are ready. Once in [outbox.MaxRest], and after the clock was set
// back, it reads the times of all others too: see [outbox.Backoff.Waits].
func (d *Deliverer) scan(ctx context.Context, now time.Time, offer func(outbox.Lane) error) (next time.Time, err error) {
	all := now.Before(d.read) || now.Sub(d.read) >= outbox.MaxRest
	for row, err := range store.AllRows(ctx, d.cfg.Store, store.System(), store.RowQuery{Kind: record.KindPushReady, Index: record.IndexReady, Limit: page}) {
		if err != nil {
			return next, err
		}
		at, ok := record.ParseReadyKey(row.Value)
		if row.Damaged || !ok {
			continue
		}
		if t := at.Time(); d.box.Backoff.Waits(t, now) {
			if next.IsZero() {
				next = t
			}
			if !all {
				return next, nil
			}
		} else if p, ok := placeOf(d.cfg.Store, row); ok {
			if err := offer(&job{place: p, d: d}); err != nil {
				return next, err
			}
		}
	}
	if all {
		d.read = now
	}
	return next, nil
}
