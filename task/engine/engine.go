package engine

import (
	"context"
	"runtime"
	"slices"
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
	cancels  *due.Work // rows of kind [record.DueChildCancel]: an agent that is slow must not delay deadlines
	looks    *due.Work // rows of kind [record.DueLook]; likewise
	deciders *deciders // nil: none
	reviewer *reviewer
	restored *restoration
	disk     diskWatch
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
	e.env.SetRules(cfg.rules(e.env.Report))
	e.processors = processors.New(e.env, runtime.GOMAXPROCS(0))
	e.reader = tasklog.New(e.env, e.processors)
	e.observers = observers{list: slices.Concat([]Observer{logObserver(&e.env.Log)}, cfg.Observers), log: &e.env.Log}
	e.turns = turn.New(turn.Config{
		Config:    call.Config{Env: e.env, Reader: e.reader, Presenter: cfg.Presenter, Memory: cfg.Memory, Rank: cfg.Rank, WholeText: cfg.WholeText},
		Committed: e.committed, Queued: e.observers.queued,
		Refused: func(who turn.Sender, id store.TaskID, approvalID, why string) {
			logRefused(&e.env.Log, who, id, approvalID, why)
		},
		NotCounted: e.observers.refused,
	})
	if cfg.Decider != nil || len(cfg.ToolDeciders) > 0 {
		e.deciders = newDeciders(e.env, e.turns, &Approvals{core: e.core, program: true}, cfg.Decider, cfg.ToolDeciders, cfg.ProviderErrorFails)
		e.observers.list = append(e.observers.list, e.deciders.observer())
	}
	work := &dueWork{env: e.env, reader: e.reader, logs: e.turns, tools: e.turns.Calls}
	e.due = due.New(e.env, due.Config{Workers: dueWorkers}, work.waits, work.handle)
	e.cancels = due.New(e.env, due.Config{Workers: dueWorkers}, work.waitsExcept(record.DueChildCancel), work.handle)
	e.looks = due.New(e.env, due.Config{Workers: call.Looks, Until: record.LookTime}, work.waitsExcept(record.DueLook), work.look)
	e.reviewer = &reviewer{env: e.env, pending: e.reader, logs: e.turns, audited: e.audited}
	e.restored = newRestoration(e.env, e.reader, e.turns, e.audited, e.wake, restored)
	return e, nil
}

// wake looks for due work again, of all kinds.
func (e *Engine) wake() {
	for _, work := range []*due.Work{e.due, e.cancels, e.looks} {
		work.Wake()
	}
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
		e.env.Begin(func() { e.deciders.offerPending(e.reader) })
	}
	current := e.env.Rules()
	e.env.Begin(func() { e.reviewer.review(current, false /* reloaded */) })
	e.runBeside(ctx, e.looks, "suspended calls are not looked at any more; restart the server")
	e.runBeside(ctx, e.cancels, "work of canceled calls is not canceled elsewhere any more; restart the server")
	return e.due.Run(ctx)
}

// runBeside does due work concurrently. failed is the log message if it cannot go on.
func (e *Engine) runBeside(ctx context.Context, work *due.Work, failed string) {
	e.env.Begin(func() {
		if err := work.Run(ctx); err != nil {
			e.env.Log.Error().Err(err).Msg(failed)
		}
	})
}

// LastWords is how long [Engine.Stop] waits for tools after it has told them to end.
const LastWords = time.Second

// Stop accepts no more work, closes the questions that hold calls so that these can end, lets
// running turns continue for at most grace, cuts off the rest, and waits until nothing of the
// engine runs except tools and planners that ignore cancellation. It waits for tools for
// [LastWords], or for their own grace period if that is shorter. The next process recovers the
// interrupted work. Stop may be called more than once.
func (e *Engine) Stop(grace time.Duration) {
	e.endTurns(grace)
	e.env.End()
	e.endTools()
	e.reader.Stop()
}

// endTurns begins no turn any more, and lets running turns continue for at most grace.
func (e *Engine) endTurns(grace time.Duration) {
	idle := e.turns.Scheduler.Drain()
	if grace > 0 {
		over, stop := e.env.Timer(grace)
		e.env.Wait(idle, over)
		stop()
	}
}

// endTools waits for everything but tools, and for [LastWords] for tools.
func (e *Engine) endTools() {
	over, stop := e.env.Timer(LastWords)
	e.env.Wait(e.env.Busy.None()) // then no tool is entered any more
	e.env.Wait(e.turns.Calls.None(), over)
	stop()
	e.env.Wait(e.env.Busy.None()) // including results of tools
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
	e.turns.Scheduler.UnlessDraining(func() { e.env.Begin(func() { e.reviewer.review(&next, true /* reloaded */) }) })
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
