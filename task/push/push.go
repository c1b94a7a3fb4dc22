// Package push delivers push notifications: it reads the logs of tasks and posts their events
// to the webhooks that clients have set.
//
// # Rows
//
// Waiting is rows, not goroutines. The batch that makes an event for a webhook puts a row
// push.ready (see [task.RowPushReady]), whose index is the time from which the webhook has to
// be looked at. A [Deliverer] reads that index, sends the events after the webhook's cursor in
// the log, and removes the row when nothing is left. A webhook that fails is looked at again
// later: its row gets another time. All of it is in asides, which conflict with no turn.
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
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/store"
	"a2a-server/task"
)

// The limits of a [Deliverer].
const (
	maxWorkers = 64
	maxPerHost = 4
	maxRetries = 32 // workers of webhooks whose last try has failed
	perCaller  = maxWorkers / 4
	maxRun     = 16          // notifications of a webhook, before another may have its worker
	maxSleep   = time.Minute // clocks jump; look at least this often
	minGap     = time.Millisecond
	skipCost   = 20 * time.Microsecond // ten times as long as reading a row takes
	aside      = time.Minute           // how long a webhook of a younger instance, or that cannot be read, is left alone
	page       = 256                   // rows
	lastWords  = 2 * time.Second
)

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
	Host       Host               // for a simulation, whose Client keeps the time itself
	Random     func() float64     // from 0 to below 1, by which pauses differ. Defaults to that of math/rand/v2.
}

// PointSent is where a crash leaves something half done: a webhook has been notified, but
// that is not recorded.
const PointSent = "push.sent"

// Deliverer delivers push notifications. It is safe for concurrent use.
type Deliverer struct {
	cfg     Config
	store   store.Handle
	host    Host // its clock runs, which that of Config.Now need not
	backoff backoff

	ended chan struct{} // a worker has ended
	views chan struct{} // holds a token for each view that may be made now

	from   string    // cursor of the page of rows where the last pass has stopped
	rested time.Time // when the next whole pass may begin

	newest       time.Time // the last reading of the clock
	clockChecked bool      // no webhook waits for a time that is too far away

	delivered, failed, died atomic.Uint64

	mu      sync.Mutex
	busy    map[string]bool      // webhooks with a worker
	later   map[string]time.Time // webhooks that are left alone until then
	hosts   map[string]int       // workers of each host
	callers map[store.Scope]int  // workers of the webhooks of each caller
	retries int                  // workers of webhooks whose last try has failed
	names   map[string]share     // webhooks that wait for a worker
}

// share limits the workers that a webhook may take.
type share struct {
	host   string // "" if it cannot be read, which its worker handles
	caller store.Scope
	retry  bool // its last try has failed
}

// New returns a Deliverer. It starts nothing; call [Deliverer.Run].
func New(cfg Config) (*Deliverer, error) {
	if cfg.Store == nil || cfg.Secrets == nil || cfg.Client == nil {
		return nil, errors.New("task/push: a deliverer needs a store, secrets and a client")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Host == nil {
		cfg.Host = process{}
	}
	cfg.Timeout = min(max(cmp.Or(cfg.Timeout, 15*time.Second), time.Second), 30*time.Second)
	// A redirect is an answer like any other that is no success.
	client := *cfg.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	cfg.Client = &client
	d := &Deliverer{
		cfg: cfg, store: cfg.Store, host: cfg.Host, backoff: defaultBackoff(),
		ended: make(chan struct{}, 1), views: make(chan struct{}, maxViews),
		busy: map[string]bool{}, later: map[string]time.Time{}, hosts: map[string]int{}, callers: map[store.Scope]int{}, names: map[string]share{},
	}
	for range maxViews {
		d.views <- struct{}{}
	}
	if cfg.Random != nil {
		d.backoff.random = cfg.Random
	}
	return d, nil
}

// Stats counts the work of a Deliverer since it was made.
type Stats struct {
	Workers   int    // that deliver now
	Delivered uint64 // notifications that were accepted
	Failed    uint64 // tries that were not
	Died      uint64 // webhooks that were given up
}

// Stats returns the counts so far.
func (d *Deliverer) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Stats{Workers: len(d.busy), Delivered: d.delivered.Load(), Failed: d.failed.Load(), Died: d.died.Load()}
}

// Run delivers until ctx ends. Then it starts nothing more, lets requests in flight end for up
// to two seconds, and cuts off the rest: unrecorded notifications are sent again by the next
// process. It may be called once.
func (d *Deliverer) Run(ctx context.Context) error {
	lasting, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		unset := d.host.After(lastWords, cut)
		for d.Stats().Workers > 0 {
			d.host.Wait(d.ended)
		}
		unset()
		cut()
	}()
	wake, stop := d.store.WatchRows(store.System(), task.RowPushReady)
	defer stop()
	again := true // look at all rows, including rows before the skipped ones
	for ctx.Err() == nil {
		whole := again && !d.host.Now().Before(d.rested)
		if whole {
			again, d.from = false, ""
		}
		var next time.Time
		err := d.checkClock(ctx)
		if err == nil {
			next, err = d.pass(ctx, lasting, whole)
		}
		wait := next.Sub(d.cfg.Now())
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrDamaged):
			d.host.Wait(ctx.Done()) // the process is ending
			return nil
		default:
			d.cfg.Log.Error().Err(err).Msg("push notifications cannot be read; retrying")
			again, wait = true, time.Second
		}
		if again {
			wait = min(wait, max(d.rested.Sub(d.host.Now()), time.Second/10))
		}
		if d.pause(ctx, minGap, nil, nil) == pauseOver {
			return nil
		}
		switch d.pause(ctx, max(wait, 0), wake, d.ended) {
		case pauseOver:
			return nil
		case pauseWoken: // new rows come last
		case pauseEnded:
			again = true
		}
	}
	return nil
}

// paused is why a pause has ended.
type paused int

const (
	pauseOver  paused = iota // the context has ended
	pauseWoken               // a row has changed
	pauseEnded               // its time is over, or a worker has ended
)

// pause waits for a time, or either of two channels.
func (d *Deliverer) pause(ctx context.Context, span time.Duration, wake, ended <-chan struct{}) paused {
	over := make(chan struct{})
	defer d.host.After(span, func() { close(over) })()
	switch d.host.Wait(over, wake, ended, ctx.Done()) {
	case 1:
		return pauseWoken
	case 3:
		return pauseOver
	}
	return pauseEnded
}

// pass gives workers to the webhooks that are ready, as far as there are any, and returns when
// the next will be. It begins with the page of rows where the last pass has stopped. whole
// says that this is the first page: then the next whole pass has to wait for a time that
// depends on the rows that were read without effect, because their hosts have no worker left;
// such passes take about a tenth of a processor.
func (d *Deliverer) pass(ctx, lasting context.Context, whole bool) (next time.Time, err error) {
	now, waiting := d.cfg.Now(), 0
	defer func() {
		if whole {
			d.rested = d.host.Now().Add(time.Duration(waiting) * skipCost)
		}
	}()
	next = d.nextLater(now)
	for q := (store.RowQuery{Kind: task.RowPushReady, Index: task.IndexReady, Limit: page, Cursor: d.from}); ; {
		rows, err := d.store.Rows(ctx, store.System(), q)
		if err != nil {
			return next, err
		}
		for i := range rows.Rows {
			row := &rows.Rows[i]
			at, ok := task.ParseReadyKey(row.Value)
			if row.Damaged || !ok {
				continue
			}
			if t := at.Time(); t.After(now) {
				if t.Before(next) {
					next = t
				}
				return next, nil
			}
			begun, err := d.begin(ctx, lasting, row, now)
			switch {
			case errors.Is(err, errFull):
				return next, nil
			case err != nil:
				return next, err
			case !begun:
				waiting++
			}
		}
		if rows.Next == "" {
			return next, nil
		}
		q.Cursor, d.from = rows.Next, rows.Next
	}
}

// nextLater forgets webhooks that need not be left alone any more, and returns when the next
// webhook may be forgotten.
func (d *Deliverer) nextLater(now time.Time) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := now.Add(maxSleep)
	for key, at := range d.later {
		if !at.After(now) {
			delete(d.later, key)
		} else if at.Before(next) {
			next = at
		}
	}
	return next
}

// errFull means that no worker is free.
var errFull = errors.New("all workers are busy")

// begin gives a worker to the webhook of a row, if it has none and its share allows another.
// Otherwise it returns false, or errFull.
func (d *Deliverer) begin(ctx, lasting context.Context, row *store.Row, now time.Time) (begun bool, err error) {
	at, ok := placeOf(d.store, row)
	if !ok {
		return false, nil
	}
	j := &job{place: at, d: d}
	name := j.name()
	d.mu.Lock()
	skip, full := d.busy[name] || now.Before(d.later[name]), len(d.busy) >= maxWorkers
	of, known := d.names[name]
	d.mu.Unlock()
	switch {
	case skip:
		return false, nil
	case full:
		return false, errFull
	case !known:
		if of, err = d.shareOf(ctx, j); err != nil {
			return false, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hosts[of.host] >= maxPerHost || of.retry && d.retries >= maxRetries || !d.cfg.Unshared && d.callers[of.caller] >= perCaller {
		if len(d.names) > 10_000 {
			clear(d.names)
		}
		d.names[name] = of
		return false, nil
	}
	delete(d.names, name)
	d.busy[name] = true
	d.take(of, 1)
	d.host.Go(func() {
		var later time.Duration
		defer func() { d.end(name, of, later) }()
		later = j.run(ctx, lasting)
	})
	return true, nil
}

// take counts workers of a share. The caller holds the lock.
func (d *Deliverer) take(of share, workers int) {
	if d.hosts[of.host] += workers; d.hosts[of.host] == 0 {
		delete(d.hosts, of.host)
	}
	if d.callers[of.caller] += workers; d.callers[of.caller] == 0 {
		delete(d.callers, of.caller)
	}
	if of.retry {
		d.retries += workers
	}
}

// end releases a worker. A webhook is left alone for a while, if later is not 0.
func (d *Deliverer) end(name string, of share, later time.Duration) {
	d.mu.Lock()
	delete(d.busy, name)
	d.take(of, -1)
	if later > 0 {
		d.later[name] = d.cfg.Now().Add(later)
	}
	d.mu.Unlock()
	select {
	case d.ended <- struct{}{}:
	default:
	}
}

// shareOf returns the share of a webhook.
func (d *Deliverer) shareOf(ctx context.Context, j *job) (of share, err error) {
	w, err := j.webhook(ctx)
	if err == nil && w != nil {
		of.host, of.caller = hostOf(w.URL), store.Owner(w.By.Tenant, w.By.Subject)
		var c task.PushCursor
		if c, _, err = j.cursor(ctx); err == nil {
			of.retry = c.Tries > 0
		}
	}
	if errors.Is(err, store.ErrDataLoss) || errors.Is(err, errOver) {
		err = nil
	}
	return of, err
}
