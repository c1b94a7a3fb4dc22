package engine

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/share"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/call"
	"a2a-server/task/engine/internal/due"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/engine/internal/processors"
	"a2a-server/task/engine/internal/scheduler"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/engine/internal/turn"
	"a2a-server/task/internal/host"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// Engine runs tasks. It is safe for concurrent use. [Engine.Run] must be running
// while it is used.
type Engine struct {
	*core
	deciders *deciders // nil: none
	disk     diskWatch

	restored restoration
}

// New returns an Engine. It reads whether the store was restored from a backup, and starts nothing;
// call [Engine.Run].
func New(cfg Config) (*Engine, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	mark, restored, err := readRestored(cfg.Store)
	if err != nil {
		return nil, err
	}
	e := &Engine{core: &core{cfg: cfg, reserved: share.New[store.Scope](cfg.Answers, cfg.Answers/2)}}
	e.env = env.New(env.Config{Store: cfg.Store, Log: cfg.Log, Limits: cfg.Limits, Now: cfg.Now, Runner: host.Runner{Host: cfg.Host}, CrashPoint: cfg.CrashPoint, Accepted: cfg.Accepted, Current: cfg.Current, Held: mark.held()})
	e.observers = observers{list: slices.Concat([]Observer{logObserver(&e.env.Log)}, cfg.Observers), log: &e.env.Log}
	if cfg.Decider != nil || len(cfg.ToolDeciders) > 0 {
		e.deciders = newDeciders(e.core)
		e.observers.list = append(e.observers.list, e.deciders.observer())
	}
	e.env.SetRules(cfg.rules(e.env.Report))
	e.processors = processors.New(e.env, runtime.GOMAXPROCS(0))
	e.reader = tasklog.New(e.env, e.processors)
	e.restored = restoration{core: e.core, tasks: restored, settled: make(chan struct{})}
	e.restored.settle = sync.OnceFunc(func() { close(e.restored.settled) })
	for i := range restored {
		e.reader.Unsettled.Store(restored[i].id, restored[i].restorations())
	}
	e.due = due.New(e.env, due.Config{Workers: dueWorkers}, e.dueWaits, e.handleDue)
	e.cancels = due.New(e.env, due.Config{Workers: dueWorkers}, e.waitsExcept(record.DueChildCancel), e.handleDue)
	e.looks = due.New(e.env, due.Config{Workers: call.Looks, Until: record.LookTime}, e.waitsExcept(record.DueLook), e.look)
	e.turns = turn.New(turn.Config{
		Config:    call.Config{Env: e.env, Reader: e.reader, Presenter: cfg.Presenter, Memory: cfg.Memory, Rank: cfg.Rank, WholeText: cfg.WholeText},
		Committed: e.committed, Queued: e.observers.queued,
		Refused: func(who turn.Sender, id store.TaskID, approvalID, why string) {
			logRefused(&e.env.Log, who, id, approvalID, why)
		},
		NotCounted: e.observers.refused,
	})
	return e, nil
}

// committed applies the consequences of a durable draft.
func (e *Engine) committed(d *rules.Draft) {
	e.observers.committed(d.Fold().Header.Task, d.Audited())
	if d.Audits() {
		e.audited()
	}
	if d.HasDue() {
		e.due.Wake()
		e.cancels.Wake()
	}
	if d.HasLooks() {
		e.looks.Wake()
	}
}

// Run brings the tasks of a restored store up to date, recovers the tasks of an earlier process, does due work and runs turns until ctx
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
	if !e.turns.Scheduler.UnlessDraining(e.env.Busy.Add) {
		e.env.Wait(e.env.Ctx.Done(), ctx.Done()) // Stop may be giving turns time to end
		return nil
	}
	defer e.env.Busy.Done()
	if !e.restored.settleTasks(ctx) {
		return nil
	}
	if !e.env.Held().IsZero() {
		e.env.Begin(e.restored.awaitOperator)
	}
	if err := e.recoverTasks(ctx); err != nil {
		if ctx.Err() != nil || e.env.Ctx.Err() != nil {
			return nil
		}
		return err
	}
	if e.deciders != nil {
		e.env.Begin(e.deciders.offerPending)
	}
	current := e.env.Rules()
	e.env.Begin(func() { e.review(current, false /* reloaded */) })
	e.env.Begin(func() {
		if err := e.looks.Run(ctx); err != nil {
			e.env.Log.Error().Err(err).Msg("suspended calls are not looked at any more; restart the server")
		}
	})
	e.env.Begin(func() {
		if err := e.cancels.Run(ctx); err != nil {
			e.env.Log.Error().Err(err).Msg("work of canceled calls is not canceled elsewhere any more; restart the server")
		}
	})
	return e.due.Run(ctx)
}

// LastWords is how long [Engine.Stop] waits for tools after it has told them to end.
const LastWords = time.Second

// Stop accepts no more work, closes the questions that hold calls so that these can end, lets
// running turns continue for at most grace, cuts off the rest, and waits until nothing of the
// engine runs except tools and planners that ignore cancellation. It waits for tools for
// [LastWords], or for their own grace period if that is shorter. The next process recovers the
// interrupted work. Stop may be called more than once.
func (e *Engine) Stop(grace time.Duration) {
	idle := e.turns.Scheduler.Drain()
	if !env.Closed(idle) && grace > 0 {
		over := make(chan struct{})
		stop := e.env.After(grace, func() { close(over) })
		e.env.Wait(idle, over)
		stop()
	}
	e.env.End()
	over := make(chan struct{})
	stop := e.env.After(LastWords, func() { close(over) })
	e.env.Wait(e.env.Busy.None()) // then no tool is entered any more
	e.env.Wait(e.turns.Calls.None(), over)
	stop()
	e.env.Wait(e.env.Busy.None()) // including results of tools
	e.reader.Stop()
}

// Reload replaces the tools, the policy and the routes, together: all later decisions of the
// engine use all of them. A running call keeps the tool that it was started with. A call that waits for a
// decision is asked about again, in the background, if its tool has another definition now; an
// approved call is checked against the new policy before it starts. A call that waits for a decision ends
// if a gate denies it now that did not before. Starts and questions that wait to be written are judged again;
// a start that is being written to the disk when Reload is called still happens.
func (e *Engine) Reload(tools *tool.Registry, policy *approval.Policy, routes []task.Route) {
	if tools == nil || policy == nil {
		panic("task/engine: Reload without tools or without a policy")
	}
	next := *e.env.Rules()
	next.Tools, next.Policy, next.Routes = tools, policy, routes
	e.env.SetRules(&next)
	e.turns.Scheduler.UnlessDraining(func() { e.env.Begin(func() { e.review(&next, true /* reloaded */) }) })
}

// Load is the current load of an engine.
type Load = scheduler.Load

// Load returns the load of the engine.
func (e *Engine) Load() Load { return e.turns.Scheduler.Load() }

// LoadOf returns a caller's share of the load; Announced counts the tasks of all callers.
func (e *Engine) LoadOf(by auth.Principal) Load { return e.turns.Scheduler.LoadOf(ownerOf(by)) }

// Process calls work, which processes so many bytes of a caller's request. If these are
// many, it first waits for a processor as [Engine.Processor] does. If they are few, it waits
// only for the long computations of the same caller, so that a caller that is busy with
// these does not take a second processor for many small requests. Callers without names do
// not wait for each other. The error is that of work, or the cause if ctx ends first.
func (e *Engine) Process(ctx context.Context, by auth.Principal, bytes int, work func() error) error {
	return e.processors.Process(ctx, ownerOf(by), by.IsAnonymous(), bytes, work)
}

// ReserveRead returns a reservation of by, without any memory yet.
func (e *Engine) ReserveRead(by auth.Principal) *ReadReservation {
	return &ReadReservation{core: e.core, by: by}
}

// Taken returns how many bytes of memory are reserved.
func (e *Engine) Taken() uint64 {
	bytes, _ := e.reserved.Total()
	return uint64(bytes)
}

// Approvals returns the approvals of the engine's tasks.
func (e *Engine) Approvals() *Approvals { return &Approvals{core: e.core} }

// Tasks returns the engine's tasks.
func (e *Engine) Tasks() *Tasks { return &Tasks{core: e.core} }

// Settled returns a channel that is closed when the tasks of a restored store are up to date:
// serve nothing but probes before. Without a restoration it is closed soon after [Engine.Run] begins.
func (e *Engine) Settled() <-chan struct{} { return e.restored.settled }

// Settling returns how many tasks of a restored store are up to date, out of all that were not when
// the Engine was made. A task that cannot be brought up to date counts only in total.
func (e *Engine) Settling() (current, total int) {
	return int(e.restored.current.Load()), len(e.restored.tasks)
}

// Held returns the moment of the backup from which the store was restored, while it waits for
// [Engine.Resume]: until then no planner is asked, no timer wakes a call or a plan, and no work
// elsewhere is canceled.
func (e *Engine) Held() (moment time.Time, held bool) {
	moment = e.env.Held()
	return moment, !moment.IsZero()
}

// Resumed returns a channel that is closed when the store does not wait for its operator, or does
// so no longer.
func (e *Engine) Resumed() <-chan struct{} { return e.env.Resumed() }

// Resume lets a restored store continue, durably. by needs [auth.Admin], else the error is an
// [*auth.DeniedError]. was is false if the store did not wait. moment is that of the backup, zero
// if the store was never restored.
func (e *Engine) Resume(ctx context.Context, by auth.Principal) (moment time.Time, was bool, err error) {
	return e.restored.resume(ctx, by)
}
