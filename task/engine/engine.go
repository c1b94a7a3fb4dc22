package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/approval"
	"a2a-server/internal/keyring"
	"a2a-server/internal/share"
	"a2a-server/internal/visible"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Config configures an Engine.
type Config struct {
	Store     store.Handle     // required; the engine does not close it
	Tools     *tool.Registry   // required
	Planner   task.Planner     // required
	Presenter task.Presenter   // required
	Policy    *approval.Policy // nil: only the tools' own gates ask

	// Hooks run before the policy, in order, on each planned call.
	Hooks []task.Hook
	// AfterHooks see the result of each call of a tool that has run, before it is written, and
	// ErrorHooks each failure: see [task.AfterHook].
	AfterHooks, ErrorHooks []task.AfterHook

	// Provider, if set, is called for every new approval of kind call that the A2A client
	// could answer, at most 64 at a time. Its result is a decision. Other approvers can decide
	// in the meantime; its context then ends. If it returns an error, or has not answered
	// after ProviderWait, the client is asked (input-required). After a restart it is called
	// again for approvals still pending. Stop ends its contexts and waits for it.
	Provider tool.ConfirmationProvider
	// ProviderWait is how long the provider may take before the client is asked. Defaults
	// to 30 s.
	ProviderWait time.Duration

	// DelegatedDecisions lets services and their delegates decide. Otherwise only persons may,
	// directly: see [auth.Principal.Direct].
	DelegatedDecisions bool

	Memory agent.Memory // the memories that SearchMemory searches; nil: it fails

	Agent         string // name of this agent, part of every digest. Defaults to "a2a-server".
	HoldSiblings  bool   // calls of a step start only when all of them are decided
	NoIdempotency bool   // the same message sent twice creates two tasks
	WholeText     bool   // a stream of text ends with the whole text in place of its pieces, if it fits into an event
	Limits        task.Limits
	Answers       int64 // bytes of memory that answers to clients may take; see [Answer]. Defaults to 256 MiB.
	Page          int64 // bytes of logs that a page of a list is built from; see [TaskPage]. Defaults to 16 MiB.

	// PageTokens authenticates the tokens of pages. Defaults to a key that ends with the
	// engine, so that lists begin again after a restart.
	PageTokens PageTokens

	// Push seals the secrets of webhooks. Nil: there are no push notifications, and the
	// methods for them return [ErrNoPush].
	Push Sealer

	Log zerolog.Logger
	Now func() time.Time // Defaults to time.Now.
	// NewID returns ids of tasks, contexts and messages. They must be unguessable: the codes
	// that approve destructive calls by text are made from them. Defaults to store.NewTaskID.
	NewID      func() store.TaskID
	Host       Host               // Defaults to goroutines and timers.
	CrashPoint func(point string) // called at named points, for tests that kill the process
}

// Engine runs tasks. It is safe for concurrent use. [Engine.Run] must be running
// while it is used.
type Engine struct {
	cfg       Config
	ruling    atomic.Pointer[rules.Rules] // see [Engine.Reload]
	store     store.Handle
	log       zerolog.Logger
	views     viewCache
	answers   *share.Shares[store.Scope] // bytes of memory of answers, from before they read their data until they have been sent
	abandoned *share.Shares[string]      // runs that do not end after they were told to, by tool
	providing providing
	holding   holding
	heavy     heavy
	sessions  sessions
	disk      diskWatch
	audits    store.Watchers[struct{}]

	ctx    context.Context //nolint:containedctx // for everything that outlives a request; ended by Stop
	cancel context.CancelCauseFunc
	due    chan struct{} // wakes the scheduler
	busy   group         // turns and other work that Stop waits for
	tools  group         // runs of tools that were not given up, for which Stop waits for a bounded time
	whole  chan struct{} // holds a token unless a turn has read back a large task

	asserts func(*turn) // for tests: checks each turn that is about to wait; nil: no check

	mu       sync.Mutex
	turns    map[store.TaskID]*turn // running here
	lanes    lanes                  // the tasks that have a turn, and the live tasks that wait for one
	alarm    time.Time              // when the alarm rings; zero: it is not set
	unset    func() bool            // keeps it from ringing
	saying   bool                   // sayWhoWaits runs
	said     uint64                 // tasks that have said that they wait
	failures map[store.TaskID]int   // turns in a row that could not continue
	draining bool
	idle     chan struct{} // closed when draining and no turn runs
}

var errShutdown = errors.New("the server is shutting down")

// New returns an Engine. It starts nothing; call [Engine.Run].
func New(cfg Config) (*Engine, error) {
	if cfg.Store == nil || cfg.Tools == nil || cfg.Planner == nil || cfg.Presenter == nil {
		return nil, errors.New("task/engine: an engine needs a store, tools, a planner and a presenter")
	}
	if cfg.Policy == nil {
		var err error
		if cfg.Policy, err = approval.NewPolicy(approval.PolicyConfig{}); err != nil {
			return nil, fmt.Errorf("task/engine: default policy: %w", err)
		}
	}
	cfg.Agent = cmp.Or(cfg.Agent, "a2a-server")
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = store.NewTaskID
	}
	if cfg.ProviderWait = cmp.Or(max(cfg.ProviderWait, 0), 30*time.Second); cfg.Provider == nil {
		cfg.ProviderWait = 0
	}
	if cfg.PageTokens == nil {
		keys, err := keyring.Open(keyring.Config{Now: cfg.Now})
		if err != nil {
			return nil, fmt.Errorf("task/engine: %w", err)
		}
		cfg.PageTokens = keys.MAC(keyring.PageTokens)
	}
	cfg.Limits = cfg.Limits.WithDefaults()
	cfg.Answers = cmp.Or(max(cfg.Answers, 0), 256<<20)
	cfg.Page = cmp.Or(max(cfg.Page, 0), 16<<20)
	e := &Engine{
		cfg: cfg, store: cfg.Store, log: cfg.Log,
		due: make(chan struct{}, 1), whole: make(chan struct{}, 1), idle: make(chan struct{}),
		turns: map[store.TaskID]*turn{}, lanes: newLanes(&cfg.Limits), failures: map[store.TaskID]int{},
	}
	e.ruling.Store(&rules.Rules{
		Tools: cfg.Tools, Policy: cfg.Policy, Presenter: cfg.Presenter, Planner: cfg.Planner, Hooks: cfg.Hooks, AfterHooks: cfg.AfterHooks, ErrorHooks: cfg.ErrorHooks, Limits: cfg.Limits,
		Agent: cfg.Agent, HoldSiblings: cfg.HoldSiblings, NoIdempotency: cfg.NoIdempotency, ProviderWait: cfg.ProviderWait, Delegated: cfg.DelegatedDecisions, EachCall: func() bool { return cfg.Log.Debug().Enabled() }, //nolint:zerologlint // nothing is logged here
		NewID: func() string { return cfg.NewID().String() }, Report: e.report,
	})
	e.whole <- struct{}{}
	e.answers = share.New[store.Scope](cfg.Answers, cfg.Answers/2)
	e.abandoned = share.New[string](math.MaxInt64, math.MaxInt64)
	e.providing.init()
	e.holding.init(&cfg.Limits)
	e.sessions.init(e.store)
	e.heavy.init(runtime.GOMAXPROCS(0))
	e.ctx, e.cancel = context.WithCancelCause(context.Background())
	return e, nil
}

func (e *Engine) now() time.Time { return e.cfg.Now().UTC() }

// report logs a problem that the rules report.
func (e *Engine) report(t rules.Problem) {
	l := e.log.Warn()
	if t.Wrong {
		l = e.log.Error()
	}
	if t.Err != nil {
		l = l.Str(zerolog.ErrorFieldName, visible.ClipText(t.Err.Error(), maxLogged))
	}
	if t.Panic != nil {
		l = e.log.Error().Str("panic", fmt.Sprint(t.Panic)).Bytes("stack", t.Stack)
	}
	if t.Task != "" {
		l = l.Str("task_id", t.Task)
	}
	l.Msg(t.What)
}

// at calls Config.CrashPoint at a named point.
func (e *Engine) at(point string) {
	if e.cfg.CrashPoint != nil && point != "" {
		e.cfg.CrashPoint(point)
	}
}

// await waits for a batch that was queued.
func (e *Engine) await(c *store.Commit) (store.Receipt, error) {
	e.wait(c.Done())
	return c.Wait()
}

// append queues a batch for a caller and waits for it, then calls then with its outcome.
// If the caller stops waiting, then is still called, later.
func (e *Engine) append(ctx context.Context, b *store.Batch, point string, then func(store.Receipt, error)) (store.Receipt, error) {
	c := e.store.Append(ctx, b)
	e.at(point)
	if e.wait(c.Done(), ctx.Done()) == 0 || c.Answered() {
		r, err := c.Wait()
		then(r, err)
		return r, err
	}
	e.begin(func() { then(e.await(c)) })
	return store.Receipt{}, fmt.Errorf("wait for the disk: %w; %w", context.Cause(ctx), ErrUncertain)
}

// Run recovers the tasks of an earlier process, does due work and runs turns until ctx
// ends or the engine is stopped; then it stops everything else as [Engine.Stop] does,
// without a grace period. It returns nil if it was stopped that way, else the error that
// made it impossible to continue.
func (e *Engine) Run(ctx context.Context) error {
	err := e.work(ctx)
	e.Stop(0)
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// work is the main part of Run. The engine is busy until it returns, because it starts work
// that Stop waits for.
func (e *Engine) work(ctx context.Context) error {
	e.mu.Lock()
	if e.draining {
		e.mu.Unlock()
		e.wait(e.ctx.Done(), ctx.Done()) // Stop may be giving turns time to end
		return nil
	}
	e.busy.add()
	e.mu.Unlock()
	defer e.busy.done()
	if err := e.recoverTasks(ctx); err != nil {
		if ctx.Err() != nil || e.ctx.Err() != nil {
			return nil
		}
		return err
	}
	if e.cfg.Provider != nil {
		e.begin(e.provideAgain)
	}
	return e.schedule(ctx)
}

// LastWords is how long [Engine.Stop] waits for tools after it has told them to end.
const LastWords = time.Second

// Stop accepts no more work, closes the questions that hold calls so that these can end, lets
// running turns continue for at most grace, cuts off the rest, and waits until nothing of the
// engine runs except tools and planners that ignore cancellation. It waits for tools for
// [LastWords], or for their own grace period if that is shorter. The next process recovers the
// interrupted work. Stop may be called more than once.
func (e *Engine) Stop(grace time.Duration) {
	e.mu.Lock()
	if !e.draining {
		e.draining = true
		e.lanes.clear()
		e.alarmOff()
		if len(e.turns) == 0 {
			close(e.idle)
		}
		for _, t := range e.turns {
			signal(t.wake) // it closes the questions that hold its calls
		}
	}
	e.mu.Unlock()
	if !closed(e.idle) && grace > 0 {
		over := make(chan struct{})
		stop := e.after(grace, func() { close(over) })
		e.wait(e.idle, over)
		stop()
	}
	e.cancel(errShutdown)
	over := make(chan struct{})
	stop := e.after(LastWords, func() { close(over) })
	e.wait(e.busy.none()) // then no tool is entered any more
	e.wait(e.tools.none(), over)
	stop()
	e.wait(e.busy.none()) // including results of tools
	e.sessions.stop()
}

// running returns the turn of a task, if it runs here.
func (e *Engine) running(id store.TaskID) *turn {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.turns[id]
}
