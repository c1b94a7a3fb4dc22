// Package notify tells people and programs of approvals: it sends the messages of routes, as the
// configuration's key notify names them.
//
// # Rows
//
// The batch that asks or resolves an approval puts a row for each route that takes it
// ([record.KindNotify]), so that a crash neither loses nor invents a message. Each route is a lane of
// package task/internal/outbox, which sends one message at a time: a dead route holds up no other. The state
// of a route (its hour, its summary) is a row, too.
//
// # Guarantees
//
//   - A message is sent at least once, always with the same id. A crash between sending and
//     recording repeats it. A message that an approval waits is not sent after the approval has
//     ended or its deadline has passed.
//   - A route sends at most 20 messages in an hour, which begins with its first message.
//     The rest is counted and replaced by a summary when the hour is over. Each message is sent,
//     failed, or counted in exactly one summary, whatever crashes. Repeating a message of the
//     hour counts once. A route for requesters has no summary: each requester gets at most
//     20, and the rest is dropped.
//   - A message that fails is retried with backoff for a day, then kept as failed, at most
//     1,000 for [FailedAge]. A refusal fails it at once.
//   - The youngest instance sends for a route. It takes over from an older instance when nobody
//     holds the older epoch any more.
package notify

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/outbox"
	"a2a-server/task/internal/record"
)

// The limits of a [Pump].
const (
	perHour   = 20 // messages of a route
	maxFailed = 1000
	FailedAge = 30 * 24 * time.Hour

	hour       = time.Hour
	sweepEvery = 10 * time.Minute
	page       = 200              // rows
	timeout    = 30 * time.Second // of an attempt
)

// The events of messages.
const (
	EventAsked     = "approval.asked"
	EventReminded  = "approval.reminded"
	EventEscalated = "approval.escalated"
	EventResolved  = "approval.resolved"
	EventSummary   = "summary"
)

// Points at which a crash leaves something half done.
const (
	// PointSent is after sending a message, which is not recorded.
	PointSent = "notify.sent"
	// PointCounted is after counting messages in a summary, before their rows are removed.
	PointCounted = "notify.counted"
)

// Route is a route with its sender.
type Route struct {
	task.Route
	Arguments bool // messages have the masked arguments of the call
	Sender    Sender
}

// Config configures a [Pump].
type Config struct {
	Store store.Handle // required; that of the engine
	// Link returns the URL of the page of an approval, and for "" that of the inbox. Nil: there
	// are no pages that people reach.
	Link       func(approval string) string
	Log        zerolog.Logger
	Now        func() time.Time   // the engine's clock. Defaults to time.Now.
	CrashPoint func(point string) // called at the points, for tests that kill the process
}

// Pump sends the messages of routes. It is safe for concurrent use.
type Pump struct {
	cfg Config
	box *outbox.Outbox

	mu      sync.Mutex
	routes  map[string]*worker
	sweepAt time.Time
}

// New returns a Pump. It starts nothing; call [Pump.Run].
func New(cfg Config, routes []Route) *Pump {
	p := &Pump{cfg: cfg}
	p.box = outbox.New(outbox.Config{
		Store: cfg.Store, Kind: record.KindNotify, Scan: p.scan, Gap: 5 * time.Millisecond, Log: cfg.Log, Now: cfg.Now,
		Backoff: outbox.Backoff{First: 5 * time.Second, Most: time.Hour, Span: 24 * time.Hour},
	})
	p.SetRoutes(routes)
	return p
}

// SetRoutes replaces all routes. Messages of a route of the same name go on with its new sender;
// messages of a route that is gone are dropped. A route without a sender panics.
func (p *Pump) SetRoutes(routes []Route) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := maps.Clone(p.routes)
	p.routes, p.sweepAt = map[string]*worker{}, time.Time{}
	for _, r := range routes {
		if r.Sender == nil {
			panic("task/notify: route " + r.Name + " has no sender")
		}
		w := was[r.Name]
		if w == nil {
			w = &worker{p: p, name: r.Name}
		}
		w.route.Store(&r)
		p.routes[r.Name] = w
		delete(was, r.Name)
	}
	for _, w := range was {
		w.route.Store(nil)
	}
	p.box.Wake()
}

// Stats counts the work of a route.
type Stats = outbox.Stats

// Stats returns the counts so far, by the names of the routes.
func (p *Pump) Stats() []Stats { return p.box.Stats() }

// Run sends until ctx ends. It may be called once. See [outbox.Outbox.Run].
func (p *Pump) Run(ctx context.Context) error { return p.box.Run(ctx) }

// scan offers all routes, and sweeps now and then.
func (p *Pump) scan(ctx context.Context, now time.Time, offer func(outbox.Lane) error) (next time.Time, err error) {
	p.mu.Lock()
	routes := slices.Collect(maps.Values(p.routes))
	left := p.sweepAt.Sub(now)
	sweeps := left <= 0 || left > sweepEvery
	if sweeps {
		p.sweepAt = now.Add(sweepEvery)
	}
	p.mu.Unlock()
	for _, w := range routes {
		if err := offer(w); err != nil {
			return next, err
		}
	}
	if !sweeps {
		return next, nil
	}
	if err := p.sweep(ctx); err != nil && ctx.Err() == nil {
		p.cfg.Log.Error().Err(err).Msg("notifications that are out of date cannot be removed; retrying")
		p.mu.Lock()
		p.sweepAt = now.Add(outbox.MaxRest)
		p.mu.Unlock()
	}
	return next, nil
}

// sweep drops the messages of routes that are gone, and messages that failed long ago.
func (p *Pump) sweep(ctx context.Context) error {
	for _, index := range []string{record.IndexNew, record.IndexRetry} {
		for j, err := range p.all(ctx, index, nil) {
			if err != nil {
				return err
			}
			p.mu.Lock()
			gone := p.routes[j.n.Route] == nil
			p.mu.Unlock()
			if !gone {
				continue
			}
			switch err := p.remove(ctx, j.row); {
			case err == nil:
				p.cfg.Log.Warn().Str("task_id", j.row.Task.String()).Str("approval_id", j.n.Approval).Str("route", j.n.Route).
					Msg("a notification is dropped, because its route is gone")
			case !errors.Is(err, store.ErrDataLoss):
				return err
			}
		}
	}
	failed, err := p.failed(ctx)
	if err != nil {
		return err
	}
	old := store.MillisOf(p.Kept())
	for j, err := range p.all(ctx, record.IndexFailed, nil) {
		if err != nil {
			return err
		}
		if failed <= maxFailed && j.n.Failed > old {
			break
		}
		failed--
		if err := p.remove(ctx, j.row); err != nil && !errors.Is(err, store.ErrDataLoss) {
			return err
		}
	}
	return nil
}

// Kept returns the time since which failed messages are kept.
func (p *Pump) Kept() time.Time { return p.box.Now().Add(-FailedAge) }

// Failed returns how many messages are kept as failed, and how many summaries of routes have.
func (p *Pump) Failed(ctx context.Context) (messages, summaries int, err error) {
	rows, err := p.cfg.Store.Rows(ctx, owner(), store.RowQuery{Kind: rowRoute, Limit: 1000})
	if err != nil {
		return 0, 0, fmt.Errorf("read the routes: %w", err)
	}
	for i := range rows.Rows {
		if lostSince(&rows.Rows[i], p.Kept()) != nil {
			summaries++
		}
	}
	messages, err = p.failed(ctx)
	return messages, summaries, err
}

func (p *Pump) failed(ctx context.Context) (n int, err error) {
	for _, err := range p.all(ctx, record.IndexFailed, nil) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// all yields the notifications in an index whose keys have a prefix, in their order, without damaged
// rows.
func (p *Pump) all(ctx context.Context, index string, prefix []byte) iter.Seq2[*job, error] {
	q := store.RowQuery{Kind: record.KindNotify, Index: index, Prefix: prefix, Limit: page}
	return func(yield func(*job, error) bool) {
		for row, err := range store.AllRows(ctx, p.cfg.Store, store.System(), q) {
			if err != nil {
				yield(nil, fmt.Errorf("read notifications: %w", err))
				return
			}
			if n, err := record.ParseNotification(row); err == nil && !yield(&job{row, n}, nil) {
				return
			}
		}
	}
}

// remove removes a row, unless it has changed.
func (p *Pump) remove(ctx context.Context, row *store.Row) error {
	return settled(p.write(ctx, row.Task, store.RowChange{Kind: record.KindNotify, Key: row.Key, IfRev: row.Rev, Delete: true}))
}

// settled returns err without those that say that a row has changed or is gone, which then needs
// no change.
func settled(err error) error {
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// write puts a row of a task aside, or of the pump itself without a task.
func (p *Pump) write(ctx context.Context, id store.TaskID, row store.RowChange) error {
	b := &store.Batch{Scope: store.System(), Task: id, Rows: []store.RowChange{row}}
	if id.IsZero() {
		b.Scope = owner()
	}
	return p.box.Write(ctx, b)
}

// owner is the scope of the rows of routes. No caller has its subject, which is no name.
func owner() store.Scope { return store.Owner("", "\x00task/notify") }
