package turn

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"a2a-server/store"
	"a2a-server/task/engine/internal/call"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/engine/internal/scheduler"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/output"
	"a2a-server/task/internal/rules"
)

// Turn is one run of a task, until it waits or ends. One goroutine owns it; fields that other
// goroutines may use say so.
//
// All writes of a turn except chunks go through step: it puts the inputs into a draft,
// advances it, appends it, and waits. If that batch conflicts with a decision or a cancel,
// step reads the log again and puts the same inputs on top of it.
//
// Its invariants, which hold whenever the loop waits, and which tests check then:
//
//   - fold is the log up to the newest batch that the turn has appended. All of it is
//     durable except the batches of inflight, which are chunks and the newest batches.
//   - fold.Header.Rev is that of the newest durable batch of a turn or an input, which
//     batches of chunks do not change. place.Fence never changes: if the task has another fence,
//     it was taken over, and all later batches of this turn are refused.
//   - A call that the fold says is running has a run in runs, or an outcome in ended
//     that has not been written; no other call has. A run is launched after the batch
//     that says so is durable.
//   - stale: another writer has changed the log since fold was read. The next step
//     reads it again first.
type Turn struct {
	call.Seat
	turns *Turns
	place scheduler.Place // place.Fence gives it the right to run the task
	fold  *fold.Fold

	runs      []*call.Run      // running, or with an outcome that has not been taken
	ended     []*call.Run      // with an outcome that is taken but not written, in order of arrival
	inflight  []*store.Commit  // batches of chunks
	asking    []*call.HeldCall // calls whose questions are not written yet
	held      []*call.HeldCall // calls with pending questions
	leaving   []*call.HeldCall // of held, whose questions are to be withdrawn
	planned   *rules.Planned   // the answer of a slow planner, not written yet; nil: none
	stale     bool             // see the invariants
	asks      bool             // uses no grants: too many batches have conflicted
	plans     int              // steps that it has asked a slow planner for
	placeless bool             // it has given its place back while it only waits
	over      bool             // its goroutine has returned normally

	left   atomic.Bool   // it has left its place for good
	pauses chan struct{} // closed when it has left, or only waits for answers for the first time

	// givenUp is why this process will not continue the task; nil: it may. Read it only
	// once it has left.
	givenUp error

	// rests says that fold is the task as the turn left it, and answers a waiting client. Read
	// it only once the turn has left.
	rests bool

	ctx    context.Context         //nolint:containedctx // for planners and tools; ends when the turn is cut off
	cancel context.CancelCauseFunc // cuts the turn off, with the cause; only for a task that was taken over or has ended, or when the engine stops
}

// maxInflight is how many batches of chunks of a turn may be in flight: one being written to
// disk, and another that fills up after it.
const maxInflight = 2

// newTurn returns a turn of a task that does not run yet.
func (ts *Turns) newTurn(id store.TaskID, owner store.Scope) *Turn {
	t := &Turn{Seat: call.Seat{Task: id, Owner: owner, Wake: make(chan struct{}, 1)}, turns: ts, pauses: make(chan struct{})}
	t.place = scheduler.Place{Task: id, Owner: owner, Turn: t}
	t.ctx, t.cancel = context.WithCancelCause(ts.Env.Ctx)
	return t
}

// Drain implements [scheduler.Turn].
func (t *Turn) Drain() { env.Signal(t.Wake) }

// End says that the turn has left, and cancels its context, so that the engine's context,
// which lives on, does not keep the turn in memory.
func (t *Turn) End() {
	t.left.Store(true)
	t.pause()
	t.cancel(call.ErrCut)
}

// pause wakes the goroutines that wait for the turn to pause.
func (t *Turn) pause() {
	if !env.Closed(t.pauses) {
		close(t.pauses)
	}
}

// Paused returns a channel that is closed when the turn has left, or only waits for answers for
// the first time.
func (t *Turn) Paused() <-chan struct{} { return t.pauses }

// Context returns the context of the turn, which ends when the turn has left or is cut off.
func (t *Turn) Context() context.Context { return t.ctx }

// at returns the time and environment for the rules. ctx is for the code that they call.
func (t *Turn) at(ctx context.Context) rules.At {
	at := t.turns.at(ctx, t.Owner)
	if t.asks {
		at.Grants = rules.Grants{}
	}
	if len(t.runs) > 0 {
		at.Running = func(call string) bool { return t.running(call) != nil }
	}
	return at
}

// take sets the fold of a turn.
func (t *Turn) take(f *fold.Fold) {
	t.fold = f
	t.measure()
}

// measure updates the size of the log and its limit.
func (t *Turn) measure() {
	size := int64(t.fold.Header.Bytes)
	for _, r := range t.runs {
		size += r.Handed()
	}
	t.Size.Store(size)
	t.Open.Store(int64(t.turns.Env.Limits.OpenRoom(t.fold.Busy())))
}

// began runs the turn of a task that a draft has created or taken over, if the draft committed. run reports
// whether the turn has a place.
func (t *Turn) began(d *rules.Draft, run bool, r store.Receipt, err error) {
	if err != nil {
		t.turns.Scheduler.Release(&t.place, run)
		return
	}
	d.Committed(r)
	t.measure()
	t.turns.Committed(d)
	switch {
	case d.Phase() != store.Live:
		t.rested()
		t.turns.Scheduler.Release(&t.place, run)
	case run:
		launch := d.Launch()
		t.turns.Env.Spawn(func() { t.runFrom(launch) })
	default:
		t.cancel(nil)
		t.turns.Scheduler.Enqueue(&t.place, t.fold.Header.Fence)
	}
}

// runQueued runs the turn of a task that is live on disk and belongs to this
// instance.
func (t *Turn) runQueued() {
	defer t.turns.Scheduler.Leave(&t.place)
	defer t.recover()
	if err := t.reload(); err != nil {
		t.lost(err)
		t.over = true
		return
	}
	if t.fold.Header.Phase == store.Live { // else it was canceled while it waited
		t.loop()
	}
	t.over = true
}

// runFrom continues the turn from a durable draft.
func (t *Turn) runFrom(launch []*rules.Execution) {
	defer t.turns.Scheduler.Leave(&t.place)
	defer t.recover()
	t.place.Fence = t.fold.Header.Fence
	t.launch(launch)
	t.loop()
	t.over = true
}

// recover keeps a bug in the engine from crashing the process, and the application's code
// from ending the turn's goroutine. The task stays live on disk, and is retried.
func (t *Turn) recover() {
	switch p := recover(); {
	case p != nil:
		t.turns.Env.Log.Error().Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Str("task_id", t.Task.String()).Msg("turn panicked")
		t.abandon(fmt.Errorf("panic: %v", p))
	case !t.over:
		t.fail(errors.New("code supplied by the application ended its goroutine"))
	}
}

// rested records the task as the turn leaves it.
func (t *Turn) rested() {
	if !t.fold.Has(fold.SnapshotParts{Fold: true, Artifacts: true}) {
		return
	}
	h := &t.fold.Header
	t.turns.Reader.Views.Put(t.Task, h.Seq, t.fold.View)
	t.rests = Rests(h)
}

// reload reads the task again. It keeps runs and their outcomes.
func (t *Turn) reload() error {
	if len(t.inflight) > 0 {
		for _, c := range t.inflight {
			_, _ = t.turns.Env.Await(c) // the next batch of its kind detects a failure
		}
		t.inflight = nil
		env.Signal(t.Wake) // collect may have left something to the runs until now
	}
	var f *fold.Fold
	err := t.turns.Env.Retry(func() (err error) {
		f, err = t.turns.Reader.LoadTurn(t.turns.Env.Ctx, store.System(), t.Task)
		return err
	})
	if err != nil {
		return err
	}
	if f.Header.Fence != t.place.Fence {
		return store.ErrFenced // another process has taken it over
	}
	t.take(f)
	for _, r := range t.runs {
		if f.Canceling(r.Entry().Call) {
			r.Stop(call.ErrCallCancel)
		}
	}
	return nil
}

// launch starts the runs of a durable draft.
func (t *Turn) launch(entries []*rules.Execution) {
	for _, entry := range entries {
		r := t.turns.Calls.New(&t.Seat, t.fold, entry)
		t.runs = append(t.runs, r)
		r.Start(t.ctx)
	}
}

// loop runs until the task pauses or ends, or the turn is cut off.
func (t *Turn) loop() {
	if t.stale || len(t.runs) == 0 {
		if t.step() {
			return
		}
	}
	for {
		if t.turns.Check != nil {
			t.turns.Check(t.Task, t.problems())
		}
		switch t.turns.Env.Wait(t.Wake, t.durable(), t.ctx.Done()) {
		case 0:
			if t.Changed.Swap(false) {
				t.stale = true
			}
		case 1:
			if !t.landed() {
				return
			}
		}
		if t.ctx.Err() != nil {
			t.drop(context.Cause(t.ctx))
			return
		}
		if !t.collect() {
			return
		}
		if t.stale || len(t.ended) > 0 || len(t.asking) > 0 || len(t.leaving) > 0 {
			if t.step() {
				return
			}
		}
	}
}

// collect takes the outputs that the runs have handed over. It returns false if the turn is
// over.
func (t *Turn) collect() bool {
	if len(t.inflight) >= maxInflight {
		return true // chunks accumulate in the meantime, up to a window
	}
	var chunks []output.RunEvent
	var keeping []*call.Checkpoint
	left := t.runs[:0]
	for _, r := range t.runs {
		more, kept, o := r.Take()
		if o == nil {
			chunks, keeping = append(chunks, more...), append(keeping, kept...)
			left = append(left, r)
			continue
		}
		o.Last = more
		t.ended = append(t.ended, r)
	}
	clear(t.runs[len(left):])
	t.runs = left
	t.collectHeld()
	return len(chunks) == 0 || t.publish(chunks, keeping)
}

// publish queues chunks, and tells the waiters for the checkpoints among them. Chunks are
// folded immediately: if they fail, so does everything after them. It returns false if the
// turn is over.
func (t *Turn) publish(chunks []output.RunEvent, keeping []*call.Checkpoint) bool {
	if chunks = t.fold.Publishable(chunks); len(chunks) == 0 {
		return true
	}
	fence := t.place.Fence
	b := &store.Batch{Scope: store.System(), Task: t.Task, Fence: &fence, Snapshot: t.snapshot(true /* chunks */), Events: make([]store.Event, len(chunks))}
	for i := range chunks {
		b.Events[i] = chunks[i].Event
	}
	t.fold.Publish(chunks)
	t.fold.View.Lighten(tasklog.MaxTurnView)
	c := t.turns.Env.Store.Append(t.turns.Env.Ctx, b)
	t.turns.Env.At(env.PointChunks)
	t.inflight = append(t.inflight, c)
	for _, k := range keeping {
		k.Queued(c)
	}
	return t.sound()
}

// sound reports whether no batch of chunks has failed so far. Chunks fail because of their
// fence, with the store, or because they were refused immediately: the fold then differs from
// the log for good, and the turn must end before anything is put on top of it.
func (t *Turn) sound() bool {
	for _, c := range t.inflight {
		if !c.Answered() {
			continue
		}
		if _, err := c.Wait(); err != nil {
			t.lost(err)
			return false
		}
	}
	return true
}

// lost ends the turn because one of its batches failed permanently.
func (t *Turn) lost(err error) {
	switch {
	case errors.Is(err, store.ErrFenced), errors.Is(err, store.ErrNotFound):
		t.drop(call.ErrCut)
	case errors.Is(err, store.ErrDataLoss):
		// A retry would fail again; a process with a restored store recovers the task.
		t.turns.Env.Log.Error().Err(err).Str("task_id", t.Task.String()).Msg("turn given up: the task stops until a backup of the store is restored")
		t.givenUp = &RecordedError{Task: t.Task, Started: t.started(), Cause: err}
		t.drop(err)
	default:
		t.abandon(err)
	}
}

// started returns the tools of the started calls without an end in the log.
func (t *Turn) started() []string {
	var names []string
	for _, r := range slices.Concat(t.ended, t.runs) {
		names = append(names, fmt.Sprintf("%s (%s)", r.Entry().Name, r.Entry().Call))
	}
	return names
}

// abandon ends the turn because the engine cannot continue it. The task stays live on
// disk; it is retried later, also by the next process.
func (t *Turn) abandon(err error) {
	if t.turns.Env.Ctx.Err() == nil {
		t.turns.Env.Log.Error().Err(err).Str("task_id", t.Task.String()).Msg("turn abandoned; the task will be retried")
	}
	t.place.Failed = true
	t.drop(err)
}

// drop abandons all runs: results that still arrive are recorded late.
func (t *Turn) drop(why error) {
	for _, r := range t.runs {
		r.Stop(why)
	}
	for _, r := range slices.Concat(t.ended, t.runs) {
		r.Abandon()
	}
	t.ended, t.runs = nil, nil
	t.dropHeld(why)
}

// running returns the run of a call, nil if there is none. It includes a run until its outcome
// is taken.
func (t *Turn) running(call string) *call.Run {
	for _, r := range t.runs {
		if r.Entry().Call == call {
			return r
		}
	}
	return nil
}
