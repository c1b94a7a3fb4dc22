// Package outbox sends the messages that wait in rows: it has the loop, workers, claims and retries
// of the webhooks of tasks (task/push) and of the routes of approvals (task/notify).
//
// A [Lane], a webhook or a route, sends one message after the other. An [Outbox] gives each lane
// that is ready a worker, if the lane's shares of the workers allow it. A worker takes steps until
// nothing is left to send, or until other lanes have their turn.
//
// A row of a lane names the epoch of the instance that sends: see [Outbox.Mine]. A step that sends
// records its outcome before the next step, with [Outbox.Write], so a crash repeats at most the
// newest message.
package outbox

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/store"
	"a2a-server/task/internal/host"
)

const (
	// MaxRest is how long a lane rests at most. Clocks jump: an outbox looks at least this often.
	MaxRest = time.Minute

	maxRun    = 16                    // steps of a worker, before another lane may have it
	skipCost  = 20 * time.Microsecond // ten times as long as reading a row takes
	lastWords = 2 * time.Second
)

// Lane is a sequence of messages.
type Lane interface {
	Name() string // unique in the outbox
	// Shares returns the shares that count a worker of the lane.
	Shares(ctx context.Context) ([]Share, error)
	// Step sends a message at most. After the last step of a worker, lanes that are ready by then
	// come first.
	Step(ctx context.Context, last bool) (Next, error)
	// Failed logs the error of a step.
	Failed(err error) Next
}

// Share limits the workers of the lanes that have it.
type Share struct {
	Name string
	Most int
}

// Next says when a lane takes its next step.
type Next struct {
	More bool          // at once
	Rest time.Duration // not before; 0: when it is offered again
	Deaf bool          // new rows do not end the rest
}

// Config configures an [Outbox].
type Config struct {
	Store store.Handle
	Kind  string // of the rows that wake the outbox
	// Scan offers the lanes that are ready at a time, until offer returns an error, and returns the
	// time of the next; zero: it is not known. Only a single scan runs at a time.
	Scan       func(ctx context.Context, now time.Time, offer func(Lane) error) (next time.Time, err error)
	Problem    string        // logged when a scan fails
	Gap        time.Duration // between two scans, so that many new rows take little of a processor
	MaxWorkers int           // 0: no limit
	Backoff    Backoff       // Random defaults to that of math/rand/v2
	Log        zerolog.Logger
	Now        func() time.Time // the engine's clock. Defaults to time.Now.
	Host       host.Host        // of a simulation
}

// Outbox sends the messages of lanes. It is safe for concurrent use.
type Outbox struct {
	Config // does not change
	host.Runner

	changed chan struct{} // a worker has ended, or there are other lanes

	mu      sync.Mutex
	busy    map[string]bool // lanes with a worker
	rests   map[string]rest
	taken   map[string]int     // workers of shares
	waiting map[string][]Share // of lanes that wait for a worker
	wakes   uint64             // how often rows have changed
	stats   map[string]Stats
}

// rest is the rest of a lane.
type rest struct {
	until time.Time
	wakes uint64 // before its last step
	deaf  bool
}

// New returns an Outbox. It starts nothing; call [Outbox.Run].
func New(c Config) *Outbox {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Backoff.Random == nil {
		c.Backoff.Random = rand.Float64
	}
	return &Outbox{
		Config: c, Runner: host.Runner{Host: c.Host}, changed: make(chan struct{}, 1), busy: map[string]bool{}, rests: map[string]rest{},
		taken: map[string]int{}, waiting: map[string][]Share{}, stats: map[string]Stats{},
	}
}

// Stats counts the work of a route, or of all webhooks, since the Outbox was made.
type Stats struct {
	Route   string // "" for webhooks
	Sent    uint64 // messages that were accepted
	Refused uint64 // attempts that failed
	Failed  uint64 // messages, or webhooks, that were given up
}

// Count adds to the counts of a route, and returns them.
func (o *Outbox) Count(route string, add Stats) Stats {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.stats[route]
	s = Stats{route, s.Sent + add.Sent, s.Refused + add.Refused, s.Failed + add.Failed}
	o.stats[route] = s
	return s
}

// CountRefused counts an attempt that failed, and whether it was the last.
func (o *Outbox) CountRefused(route string, last bool) {
	add := Stats{Refused: 1}
	if last {
		add.Failed = 1
	}
	o.Count(route, add)
}

// Stats returns the counts so far, by the names of the routes.
func (o *Outbox) Stats() []Stats {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.SortedFunc(maps.Values(o.stats), func(a, b Stats) int { return cmp.Compare(a.Route, b.Route) })
}

// Workers returns how many lanes have a worker.
func (o *Outbox) Workers() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.busy)
}

// Run sends until ctx ends. Then it starts nothing more, lets attempts in flight end for up to two
// seconds, and cuts off the rest: the next process sends them again. It may be called once.
func (o *Outbox) Run(ctx context.Context) error {
	lasting, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		unset := o.After(lastWords, cut)
		for o.Workers() > 0 {
			o.Wait(o.changed)
		}
		unset()
		cut()
	}()
	wake, stop := o.Store.WatchRows(store.System(), o.Kind)
	defer stop()
	for ctx.Err() == nil {
		wait, gap, err := o.scan(ctx, lasting)
		switch {
		case err == nil, ctx.Err() != nil:
		case errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrDamaged):
			o.Wait(ctx.Done()) // the process is ending
		default:
			o.Log.Error().Err(err).Msg(o.Problem)
			wait = time.Second
		}
		o.pause(ctx, gap, nil, nil)
		if o.pause(ctx, wait, wake, o.changed) {
			o.mu.Lock()
			o.wakes++
			o.mu.Unlock()
		}
	}
	return nil
}

// pause waits for a time, a change, or the end of ctx. woken reports whether rows have changed.
func (o *Outbox) pause(ctx context.Context, span time.Duration, wake, changed <-chan struct{}) (woken bool) {
	over := make(chan struct{})
	defer o.After(span, func() { close(over) })()
	return o.Wait(over, changed, ctx.Done(), wake) == 3
}

// Wake makes the outbox look for lanes now.
func (o *Outbox) Wake() {
	select {
	case o.changed <- struct{}{}:
	default:
	}
}

// scan gives workers to the lanes that are ready, as far as there are any, and returns when to scan
// again, and how long not to. That depends on the lanes that were offered without effect: scans
// take about a tenth of a processor.
func (o *Outbox) scan(ctx, lasting context.Context) (wait, gap time.Duration, err error) {
	now, gap := o.Now(), o.Gap
	next := o.nextRest(now)
	at, err := o.Scan(ctx, now, func(l Lane) error {
		begun, err := o.begin(ctx, lasting, l)
		if !begun {
			gap += skipCost
		}
		return err
	})
	if errors.Is(err, errFull) {
		err = nil
	}
	if !at.IsZero() && at.Before(next) {
		next = at
	}
	return max(next.Sub(o.Now()), 0), gap, err
}

// nextRest ends the rests that are over, and returns when the next may be. None is longer than
// [MaxRest]: a time that is further away is of a clock that was set back.
func (o *Outbox) nextRest(now time.Time) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	next := now.Add(MaxRest)
	for name, r := range o.rests {
		left := r.until.Sub(now)
		if left <= 0 || left > MaxRest || !r.deaf && r.wakes != o.wakes {
			delete(o.rests, name)
		} else if r.until.Before(next) {
			next = r.until
		}
	}
	return next
}
