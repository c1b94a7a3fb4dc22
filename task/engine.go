package task

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/tool"
)

// Config is what an Engine is made of.
type Config struct {
	Store     store.Handle     // required; the engine does not close it
	Tools     *tool.Registry   // required
	Planner   Planner          // required
	Presenter Presenter        // required
	Policy    *approval.Policy // nil: only the tools' own gates ask

	// Hooks run before the policy, in order, on each planned call.
	Hooks []Hook

	// Provider, when set, is asked for every pending approval of kind call, beside
	// everybody else who may answer it, at most 64 at a time. What it returns is a
	// decision. After a restart it is asked again about what is still pending. Its
	// context ends when the engine stops, which waits for it.
	Provider tool.ConfirmationProvider

	Agent         string // name of this agent, part of every digest. Defaults to "a2a-server".
	HoldSiblings  bool   // calls of a step start only when all of them are decided
	NoIdempotency bool   // the same message sent twice makes two tasks
	Limits        Limits

	Log   zerolog.Logger
	Now   func() time.Time    // Defaults to time.Now.
	NewID func() store.TaskID // Defaults to store.NewTaskID.
	Hook  func(point string)  // called at named points, for tests that kill the process
}

// Limits bound what one engine takes. Zero fields mean the defaults.
type Limits struct {
	Turns       int           // running at once. Defaults to 256.
	Queue       int           // tasks that wait for a turn. Defaults to 10,000.
	Abandoned   int           // runs that do not end though they were told to. Defaults to 64.
	ToolTimeout time.Duration // of one run of a tool. Defaults to 5 min.
	ToolGrace   time.Duration // to end after being told to. Defaults to 5 s.
	Window      int           // bytes that a tool may be ahead of the disk. Defaults to 256 KiB.
	Event       int           // bytes of a public event. Defaults to 1 MiB.
	Task        int           // bytes of a task's log. Defaults to 64 MiB.
	Pending     int           // approvals that a task may wait for. Defaults to 64.
	Args        int           // bytes of the arguments of a call. Defaults to 128 KiB.
	Steps       int           // steps of one task. Defaults to 1,000.
	Calls       int           // calls of one step. Defaults to 64.
	Parked      int           // tasks of one context that wait for input or authorisation. Defaults to 1,000.
}

func (l Limits) withDefaults() Limits {
	def := func(n *int, to int) {
		if *n <= 0 {
			*n = to
		}
	}
	def(&l.Turns, 256)
	def(&l.Queue, 10_000)
	def(&l.Abandoned, 64)
	def(&l.Window, 256<<10)
	def(&l.Event, 1<<20)
	def(&l.Task, 64<<20)
	def(&l.Pending, 64)
	def(&l.Args, 128<<10)
	def(&l.Steps, 1000)
	def(&l.Calls, 64)
	def(&l.Parked, 1000)
	if l.ToolTimeout <= 0 {
		l.ToolTimeout = 5 * time.Minute
	}
	if l.ToolGrace <= 0 {
		l.ToolGrace = 5 * time.Second
	}
	return l
}

// Engine runs tasks. It is safe for concurrent use. [Engine.Run] must be running
// while it is used.
type Engine struct {
	cfg       Config
	store     store.Handle
	planner   Planner
	presenter Presenter
	policy    *approval.Policy
	log       zerolog.Logger
	views     viewCache
	providing providing
	crew      crew

	ctx    context.Context //nolint:containedctx // of everything that outlives a request; ended by Run
	cancel context.CancelCauseFunc
	due    chan struct{}  // wakes the scheduler
	busy   sync.WaitGroup // turns and runs of tools
	whole  chan struct{}  // holds a token while a turn has read back a large task

	mu        sync.Mutex
	turns     map[store.TaskID]*turn // running here
	queue     []store.TaskID         // live, waiting for a turn
	draining  bool
	idle      chan struct{} // closed when draining and no turn runs
	abandoned int
}

var errShutdown = errors.New("the server is shutting down")

// New returns an Engine. It starts nothing.
func New(cfg Config) (*Engine, error) {
	if cfg.Store == nil || cfg.Tools == nil || cfg.Planner == nil || cfg.Presenter == nil {
		return nil, errors.New("task: an engine needs a store, tools, a planner and a presenter")
	}
	if cfg.Policy == nil {
		var err error
		if cfg.Policy, err = approval.NewPolicy(approval.PolicyConfig{}); err != nil {
			return nil, fmt.Errorf("task: default policy: %w", err)
		}
	}
	if cfg.Agent == "" {
		cfg.Agent = "a2a-server"
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = store.NewTaskID
	}
	cfg.Limits = cfg.Limits.withDefaults()
	e := &Engine{
		cfg: cfg, store: cfg.Store, planner: cfg.Planner, presenter: cfg.Presenter, policy: cfg.Policy, log: cfg.Log,
		due: make(chan struct{}, 1), whole: make(chan struct{}, 1), turns: map[store.TaskID]*turn{}, idle: make(chan struct{}),
	}
	e.views.init()
	e.providing.init()
	e.ctx, e.cancel = context.WithCancelCause(context.Background())
	e.crew = crew{jobs: make(chan func()), stop: e.ctx.Done()}
	return e, nil
}

func (e *Engine) now() time.Time { return e.cfg.Now().UTC() }

// at calls the hook of tests at a named point.
func (e *Engine) at(point string) {
	if e.cfg.Hook != nil {
		e.cfg.Hook(point)
	}
}

// Run recovers what an earlier process left, does due work and runs turns until
// ctx ends or the engine is stopped; then it stops the rest as [Engine.Stop] does,
// without a grace. It returns nil when it was ended so, else what made going on
// impossible.
func (e *Engine) Run(ctx context.Context) error {
	err := e.work(ctx)
	e.Stop(0)
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// work does what Run does until it has to stop. The engine is busy as long as it
// goes on, because it starts what Stop waits for.
func (e *Engine) work(ctx context.Context) error {
	e.mu.Lock()
	if e.draining {
		e.mu.Unlock()
		return nil
	}
	e.busy.Add(1)
	e.mu.Unlock()
	defer e.busy.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	if err := e.recoverTasks(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if e.cfg.Provider != nil {
		e.busy.Go(e.provideAgain)
	}
	return e.schedule(ctx)
}

// Stop takes no more work, lets running turns go on for at most grace, cuts off
// the rest and waits until nothing of the engine runs but tools that ignore being
// canceled. What was cut off is recovered by the next process. It may be called
// more than once.
func (e *Engine) Stop(grace time.Duration) {
	e.mu.Lock()
	if !e.draining {
		e.draining = true
		e.queue = nil
		if len(e.turns) == 0 {
			close(e.idle)
		}
	}
	e.mu.Unlock()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-e.idle:
	case <-timer.C:
	}
	e.cancel(errShutdown)
	e.busy.Wait()
}

// admit gives a task the right to run here: a turn when there is room, else a
// place in the queue. ok is false when neither can be had.
func (e *Engine) admit(t *turn) (run, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.draining:
		return false, false
	case e.turns[t.id] != nil:
		return false, true // the last one is about to leave
	case len(e.turns) < e.cfg.Limits.Turns && len(e.queue) == 0:
		e.turns[t.id] = t
		e.busy.Add(1)
		return true, true
	case len(e.queue) < e.cfg.Limits.Queue:
		return false, true
	}
	return false, false
}

// enqueue lets a task that is live wait for a turn.
func (e *Engine) enqueue(id store.TaskID) {
	e.mu.Lock()
	if e.draining {
		e.mu.Unlock()
		return // live on disk: the next process recovers it
	}
	e.queue = append(e.queue, id)
	e.mu.Unlock()
	e.next()
}

// leave gives the turn of t back and starts the next task that waits.
func (e *Engine) leave(t *turn) {
	e.mu.Lock()
	if e.turns[t.id] == t {
		delete(e.turns, t.id)
	}
	if t.requeue && !e.draining {
		e.queue = append(e.queue, t.id)
	}
	if e.draining && len(e.turns) == 0 {
		select {
		case <-e.idle:
		default:
			close(e.idle)
		}
	}
	e.mu.Unlock()
	t.end()
	e.busy.Done()
	e.next()
}

// next starts turns for tasks that wait, as far as there is room.
func (e *Engine) next() {
	for {
		e.mu.Lock()
		if e.draining || len(e.queue) == 0 || len(e.turns) >= e.cfg.Limits.Turns {
			e.mu.Unlock()
			return
		}
		id := e.queue[0]
		e.queue = e.queue[1:]
		if last := e.turns[id]; last != nil {
			last.requeue = true // it is about to leave, and will be followed
			e.mu.Unlock()
			continue
		}
		t := e.newTurn(id)
		e.turns[id] = t
		e.busy.Add(1)
		e.mu.Unlock()
		e.crew.run(t.runQueued)
	}
}

// running returns the turn of a task, if it runs here.
func (e *Engine) running(id store.TaskID) *turn {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.turns[id]
}
