package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"a2a-server/store"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/output"
	"a2a-server/task/internal/rules"
)

// turn is one run of a task, until it waits or ends. One goroutine owns it; fields that other
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
//     batches of chunks do not change. fence never changes: if the task has another fence,
//     it was taken over, and all later batches of this turn are refused.
//   - A call that the fold says is running has a run in runs, or an outcome in ended
//     that has not been written; no other call has. A run is launched after the batch
//     that says so is durable.
//   - told: another writer has changed the log since fold was read. The next step
//     reads it again first.
type turn struct {
	e     *Engine
	id    store.TaskID
	owner store.Scope
	fence uint64 // gives it the right to run the task
	fold  *fold.Fold

	runs      []*run          // running, or with an outcome that has not been taken
	ended     []*run          // with an outcome that is taken but not written, in order of arrival
	inflight  []*store.Commit // batches of chunks
	asking    []*hold         // questions that hold calls, not written yet
	holds     []*hold         // the pending questions
	leaving   []*hold         // of holds, that are to be withdrawn
	planned   *rules.Planned  // the answer of a slow planner, not written yet; nil: none
	told      bool
	placeless bool // it has given its place back while it only waits
	over      bool // its goroutine has returned normally
	failed    bool // it could not continue; the task is live on disk

	place   place   // in the lanes; guarded by Engine.mu
	waits   *waiter // of a turn that was not admitted: queued instead, once durable
	follows *waiter // not nil: runs the task next, as soon as this turn has left; guarded by Engine.mu

	changed atomic.Bool   // another writer has changed the log
	left    atomic.Bool   // it has left its place for good
	wake    chan struct{} // signaled when changed is set, or when a run has chunks or an outcome
	pauses  chan struct{} // closed when it has left, or only waits for answers for the first time
	size    atomic.Int64  // bytes of the log, including chunks handed over by runs
	open    atomic.Int64  // size of the log up to which runs may hand over more

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

func (e *Engine) newTurn(id store.TaskID, owner store.Scope) *turn {
	t := &turn{e: e, id: id, owner: owner, wake: make(chan struct{}, 1), pauses: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancelCause(e.ctx)
	return t
}

// tell notifies the turn that another writer has changed the log. It is safe for concurrent
// use.
func (t *turn) tell() {
	t.changed.Store(true)
	signal(t.wake)
}

// end says that the turn has left, and cancels its context, so that the engine's context,
// which lives on, does not keep the turn in memory.
func (t *turn) end() {
	t.left.Store(true)
	t.pause()
	t.cancel(errCut)
}

// pause wakes the goroutines that wait for the turn to pause.
func (t *turn) pause() {
	if !closed(t.pauses) {
		close(t.pauses)
	}
}

// at returns the time and environment for the rules. ctx is for the code that they call.
func (t *turn) at(ctx context.Context) rules.At {
	at := rules.At{Ctx: ctx, Now: t.e.now()}
	if len(t.runs) > 0 {
		at.Running = func(call string) bool { return t.running(call) != nil }
	}
	return at
}

// take sets the fold of a turn.
func (t *turn) take(f *fold.Fold) {
	t.fold = f
	t.measure()
}

// measure updates the size of the log and its limit.
func (t *turn) measure() {
	size := int64(t.fold.Header.Bytes)
	for _, r := range t.runs {
		r.mu.Lock()
		size += int64(r.bytes) // handed over, and not taken
		r.mu.Unlock()
	}
	t.size.Store(size)
	t.open.Store(int64(t.e.cfg.Limits.OpenRoom(t.fold.Busy())))
}

// runQueued runs the turn of a task that is live on disk and belongs to this
// instance.
func (t *turn) runQueued() {
	defer t.e.leave(t)
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
func (t *turn) runFrom(launch []*rules.Execution) {
	defer t.e.leave(t)
	defer t.recover()
	t.fence = t.fold.Header.Fence
	t.launch(launch)
	t.loop()
	t.over = true
}

// recover keeps a bug in the engine from crashing the process, and the application's code
// from ending the turn's goroutine. The task stays live on disk, and is retried.
func (t *turn) recover() {
	switch p := recover(); {
	case p != nil:
		t.e.log.Error().Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Str("task_id", t.id.String()).Msg("turn panicked")
		t.abandon(fmt.Errorf("panic: %v", p))
	case !t.over:
		t.fail(errors.New("code supplied by the application ended its goroutine"))
	}
}

// rested records the task as the turn leaves it.
func (t *turn) rested() {
	if !t.fold.Has(fold.SnapshotParts{Fold: true, Artifacts: true}) {
		return
	}
	h := &t.fold.Header
	t.e.views.put(t.id, h.Seq, t.fold.View)
	t.rests = rests(h)
}

// reload reads the task again. It keeps runs and their outcomes.
func (t *turn) reload() error {
	if len(t.inflight) > 0 {
		for _, c := range t.inflight {
			_, _ = t.e.await(c) // the next batch of its kind detects a failure
		}
		t.inflight = nil
		signal(t.wake) // collect may have left something to the runs until now
	}
	f, err := t.e.loadTurn(t.e.ctx, store.System(), t.id)
	for n := 1; errors.Is(err, store.ErrUnavailable) && t.e.pause(retryPause(n)); n++ {
		f, err = t.e.loadTurn(t.e.ctx, store.System(), t.id)
	}
	if err != nil {
		return err
	}
	if f.Header.Fence != t.fence {
		return store.ErrFenced // another process has taken it over
	}
	t.take(f)
	for _, r := range t.runs {
		if f.Canceling(r.entry.Call) {
			r.stop(errCallCancel)
		}
	}
	return nil
}

// loop runs until the task pauses or ends, or the turn is cut off.
func (t *turn) loop() {
	if t.told || len(t.runs) == 0 {
		if t.step() {
			return
		}
	}
	for {
		if t.e.asserts != nil {
			t.e.asserts(t)
		}
		var durable <-chan struct{}
		if len(t.inflight) > 0 {
			durable = t.inflight[0].Done()
		}
		switch t.e.wait(t.wake, durable, t.ctx.Done()) {
		case 0:
			if t.changed.Swap(false) {
				t.told = true
			}
		case 1:
			if _, err := t.inflight[0].Wait(); err != nil {
				t.lost(err)
				return
			}
			t.inflight = t.inflight[1:]
		}
		if t.ctx.Err() != nil {
			t.drop(context.Cause(t.ctx))
			return
		}
		if !t.collect() {
			return
		}
		if t.told || len(t.ended) > 0 || len(t.asking) > 0 || len(t.leaving) > 0 {
			if t.step() {
				return
			}
		}
	}
}

// collect takes the outputs that the runs have handed over. It returns false if the turn is
// over.
func (t *turn) collect() bool {
	if len(t.inflight) >= maxInflight {
		return true // chunks accumulate in the meantime, up to a window
	}
	var chunks []output.RunEvent
	var keeping []*checkpoint
	left := t.runs[:0]
	for _, r := range t.runs {
		more, kept, o := r.take()
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
	t.collectHolds()
	return len(chunks) == 0 || t.publish(chunks, keeping)
}

// publish queues chunks, and tells the waiters for the checkpoints among them. Chunks are
// folded immediately: if they fail, so does everything after them. It returns false if the
// turn is over.
func (t *turn) publish(chunks []output.RunEvent, keeping []*checkpoint) bool {
	if chunks = t.fold.Publishable(chunks); len(chunks) == 0 {
		return true
	}
	fence := t.fence
	b := &store.Batch{Scope: store.System(), Task: t.id, Fence: &fence, Snapshot: t.snapshot(true /* chunks */), Events: make([]store.Event, len(chunks))}
	for i := range chunks {
		b.Events[i] = chunks[i].Event
	}
	t.fold.Publish(chunks)
	t.fold.Lighten(maxTurnView)
	c := t.e.store.Append(t.e.ctx, b)
	t.e.at(PointChunks)
	t.inflight = append(t.inflight, c)
	for _, k := range keeping {
		k.queued(c)
	}
	return t.sound()
}

// sound reports whether no batch of chunks has failed so far. Chunks fail because of their
// fence, with the store, or because they were refused immediately: the fold then differs from
// the log for good, and the turn must end before anything is put on top of it.
func (t *turn) sound() bool {
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
func (t *turn) lost(err error) {
	switch {
	case errors.Is(err, store.ErrFenced), errors.Is(err, store.ErrNotFound):
		t.drop(errCut)
	case errors.Is(err, store.ErrDataLoss), errors.Is(err, store.ErrReadOnly):
		// A retry would fail again; a process with a restored store recovers the task.
		t.e.log.Error().Err(err).Str("task_id", t.id.String()).Msg("turn given up: the task stops until a backup of the store is restored")
		t.givenUp = &RecordedError{Task: t.id, Started: t.started(), Cause: err}
		t.drop(err)
	default:
		t.abandon(err)
	}
}

// started returns the tools of the started calls without an end in the log.
func (t *turn) started() []string {
	var names []string
	for _, r := range slices.Concat(t.ended, t.runs) {
		names = append(names, fmt.Sprintf("%s (%s)", r.entry.Name, r.entry.Call))
	}
	return names
}

// abandon ends the turn because the engine cannot continue it. The task stays live on
// disk; it is retried later, also by the next process.
func (t *turn) abandon(err error) {
	if t.e.ctx.Err() == nil {
		t.e.log.Error().Err(err).Str("task_id", t.id.String()).Msg("turn abandoned; the task will be retried")
	}
	t.failed = true
	t.drop(err)
}

// drop abandons all runs: results that still arrive are recorded late.
func (t *turn) drop(why error) {
	for _, r := range t.runs {
		r.stop(why)
	}
	for _, r := range slices.Concat(t.ended, t.runs) {
		t.e.orphan(t.id, r)
	}
	t.ended, t.runs = nil, nil
	t.dropHolds(why)
}

// running returns the run of a call, nil if there is none. It includes a run until its outcome
// is taken.
func (t *turn) running(call string) *run {
	for _, r := range t.runs {
		if r.entry.Call == call {
			return r
		}
	}
	return nil
}
