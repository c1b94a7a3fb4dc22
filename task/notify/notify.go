// Package notify tells people and programs of approvals: it sends the messages of routes, as the
// configuration's key notify names them.
//
// # Rows
//
// The batch that asks or resolves an approval puts a row for each route that takes it
// ([task.RowNotify]), so that a crash neither loses nor invents a message. A [Pump] has a worker
// for each route, which sends one message at a time: a dead route holds up no other. The state
// of a route (its hour, its summary) is a row, too.
//
// # Guarantees
//
//   - A message is sent at least once, always with the same id. A crash between sending and
//     recording repeats it. A message that an approval waits is not sent after the approval has
//     ended or its deadline has passed.
//   - A route sends at most [PerHour] messages in an hour, which begins with its first message.
//     The rest is counted and replaced by a summary when the hour is over. Each message is sent,
//     failed, or counted in exactly one summary, whatever crashes. Repeating a message of the
//     hour counts once. A route for requesters has no summary: each requester gets at most
//     [PerHour], and the rest is dropped.
//   - A message that fails is retried with backoff for a day, then kept as failed, at most
//     [MaxFailed] for [FailedAge]. A refusal fails it at once.
//   - The youngest instance sends for a route. It takes over from an older instance when nobody
//     holds the older epoch any more.
package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/store"
	"a2a-server/task"
)

// The limits of a [Pump].
const (
	PerHour   = 20 // messages of a route
	MaxFailed = 1000
	FailedAge = 30 * 24 * time.Hour

	hour       = time.Hour
	firstPause = 5 * time.Second
	mostPause  = time.Hour // and what a receiver may ask for
	giveUp     = 24 * time.Hour
	maxSleep   = time.Minute // clocks jump; look at least this often
	minGap     = 5 * time.Millisecond
	sweepEvery = 10 * time.Minute
	page       = 200 // rows
	lastWords  = 2 * time.Second
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
	Timeout    time.Duration // of an attempt. Defaults to 30 s.
	Log        zerolog.Logger
	Now        func() time.Time   // the engine's clock. Defaults to time.Now.
	CrashPoint func(point string) // called at the points, for tests that kill the process
	Random     func() float64     // from 0 to below 1, by which pauses differ. Defaults to that of math/rand/v2.
}

// Pump sends the messages of routes. It is safe for concurrent use.
type Pump struct {
	cfg     Config
	changed chan struct{} // the routes, or the workers

	mu      sync.Mutex
	routes  map[string]*Route
	workers map[string]chan struct{} // wakes the worker of a route
	stats   map[string]*Stats
}

// New returns a Pump. It starts nothing; call [Pump.Run].
func New(cfg Config, routes []Route) (*Pump, error) {
	if cfg.Store == nil {
		return nil, errors.New("task/notify: a pump needs a store")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Random == nil {
		cfg.Random = rand.Float64
	}
	cfg.Timeout = cmp.Or(max(cfg.Timeout, 0), 30*time.Second)
	p := &Pump{cfg: cfg, changed: make(chan struct{}, 1), workers: map[string]chan struct{}{}, stats: map[string]*Stats{}}
	p.SetRoutes(routes)
	return p, nil
}

// SetRoutes replaces all routes. Messages of a route of the same name go on with its new sender;
// messages of a route that is gone are dropped. A route without a sender panics.
func (p *Pump) SetRoutes(routes []Route) {
	next := map[string]*Route{}
	for _, r := range routes {
		if r.Sender == nil {
			panic("task/notify: route " + r.Name + " has no sender")
		}
		next[r.Name] = &r
	}
	p.mu.Lock()
	p.routes = next
	for _, wake := range p.workers {
		signal(wake)
	}
	p.mu.Unlock()
	signal(p.changed)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// route returns a route, or nil if it is gone, which ends its worker.
func (p *Pump) route(name string) *Route {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.routes[name]
	if r == nil {
		delete(p.workers, name)
	}
	return r
}

// Stats counts the work for a route since the process began.
type Stats struct {
	Route   string
	Sent    uint64 // messages that were accepted, with summaries
	Refused uint64 // attempts that failed
	Failed  uint64 // messages that were given up
	Counted uint64 // messages that are part of a summary
}

// Stats returns the counts so far, by the names of the routes.
func (p *Pump) Stats() (all []Stats) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.stats {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Stats) int { return cmp.Compare(a.Route, b.Route) })
	return all
}

func (p *Pump) count(route string, add func(*Stats)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stats[route] == nil {
		p.stats[route] = &Stats{Route: route}
	}
	add(p.stats[route])
}

// Run sends until ctx ends. Then it starts nothing more, lets attempts in flight end for up to
// two seconds, and cuts off the rest: the next process sends them again. It may be called once.
func (p *Pump) Run(ctx context.Context) error {
	lasting, cut := context.WithCancel(context.WithoutCancel(ctx))
	var working sync.WaitGroup
	defer func() {
		defer time.AfterFunc(lastWords, cut).Stop()
		working.Wait()
		cut()
	}()
	for ctx.Err() == nil {
		p.mu.Lock()
		for name := range p.routes {
			if p.workers[name] != nil {
				continue
			}
			w := &worker{p: p, name: name, poke: make(chan struct{}, 1)}
			p.workers[name] = w.poke
			working.Go(func() {
				w.run(ctx, lasting)
				signal(p.changed) // the route may be there again
			})
		}
		p.mu.Unlock()
		wait := sweepEvery
		if err := p.sweep(ctx); err != nil && ctx.Err() == nil {
			p.cfg.Log.Error().Err(err).Msg("notifications that are out of date cannot be removed; retrying")
			wait = maxSleep
		}
		select {
		case <-ctx.Done():
		case <-p.changed:
		case <-time.After(wait):
		}
	}
	return nil
}

// sweep drops the messages of routes that are gone, and messages that failed long ago.
func (p *Pump) sweep(ctx context.Context) error {
	for _, index := range []string{task.IndexNew, task.IndexRetry} {
		err := p.each(ctx, index, nil, func(row *store.Row, n *task.Notification) error {
			p.mu.Lock()
			gone := p.routes[n.Route] == nil
			p.mu.Unlock()
			if !gone {
				return nil
			}
			err := p.remove(ctx, row)
			if errors.Is(err, store.ErrDataLoss) {
				return nil // its task is damaged; it does not keep the others
			}
			if err == nil {
				p.cfg.Log.Warn().Str("task_id", row.Task.String()).Str("approval_id", n.Approval).Str("route", n.Route).
					Msg("a notification is dropped, because its route is gone")
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	failed, err := p.failed(ctx)
	if err != nil {
		return err
	}
	old := store.MillisOf(p.Kept())
	return p.each(ctx, task.IndexFailed, nil, func(row *store.Row, n *task.Notification) error {
		if failed <= MaxFailed && n.Failed > old {
			return errStop
		}
		failed--
		if err := p.remove(ctx, row); !errors.Is(err, store.ErrDataLoss) {
			return err
		}
		return nil
	})
}

// Kept returns the time since which failed messages are kept.
func (p *Pump) Kept() time.Time { return p.cfg.Now().Add(-FailedAge) }

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
	err = p.each(ctx, task.IndexFailed, nil, func(*store.Row, *task.Notification) error {
		n++
		return nil
	})
	return n, err
}

// errStop ends [Pump.each].
var errStop = errors.New("enough")

// each calls f with the notifications in an index whose keys have a prefix, in their order, until f
// returns an error. It skips damaged rows.
func (p *Pump) each(ctx context.Context, index string, prefix []byte, f func(*store.Row, *task.Notification) error) error {
	q := store.RowQuery{Kind: task.RowNotify, Index: index, Prefix: prefix, Limit: page}
	for {
		rows, err := p.cfg.Store.Rows(ctx, store.System(), q)
		if err != nil {
			return fmt.Errorf("read notifications: %w", err)
		}
		for i := range rows.Rows {
			n, err := task.ParseNotification(&rows.Rows[i])
			if err != nil {
				continue
			}
			switch err := f(&rows.Rows[i], &n); {
			case errors.Is(err, errStop):
				return nil
			case err != nil:
				return err
			}
		}
		if q.Cursor = rows.Next; q.Cursor == "" {
			return nil
		}
	}
}

// remove removes a row, unless it has changed.
func (p *Pump) remove(ctx context.Context, row *store.Row) error {
	return settled(p.write(ctx, row.Task, store.RowChange{Kind: task.RowNotify, Key: row.Key, IfRev: row.Rev, Delete: true}))
}

// settled returns err without those that say that a row has changed or is gone, which then needs
// no change.
func settled(err error) error {
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// write puts rows of a task aside, or of the pump itself without a task. While the disk cannot be
// written it keeps trying: a sent message must not be sent again and again.
func (p *Pump) write(ctx context.Context, id store.TaskID, rows ...store.RowChange) error {
	b := &store.Batch{Scope: store.System(), Task: id, Rows: rows}
	if id.IsZero() {
		b.Scope = owner()
	}
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		_, err := p.cfg.Store.Append(ctx, b).Wait()
		if !errors.Is(err, store.ErrUnavailable) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// owner is the scope of the rows of routes. No caller has its subject, which is no name.
func owner() store.Scope { return store.Owner("", "\x00task/notify") }
