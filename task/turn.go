package task

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
)

// turn is the run of a task between two rests. One goroutine owns it; what others
// may touch is said.
//
// Everything that a turn writes beside chunks goes through step: settle what came
// in, decide what follows, put both into one batch. When that batch conflicts,
// because somebody decided or canceled meanwhile, the fold is read again and the
// same inputs are settled on top of it.
type turn struct {
	e     *Engine
	id    store.TaskID
	fence uint64
	ids   wireIDs

	fold  *fold         // with everything that was appended, durable or not
	rev   uint64        // of the newest batch that is known to be durable
	last  *store.Commit // the newest batch with a rev that may not be durable yet
	first bool          // last is the batch that gave the task to this turn
	seq   uint64        // last seq if nobody else has written

	runs     map[string]*run // by call id; running, or with an outcome not settled
	held     []held          // outcomes that wait to be written, in the order they came
	inflight []*store.Commit // batches of chunks
	told     bool            // somebody else has changed the log
	due      bool            // last puts due work
	requeue  bool            // the task was taken over while this one is leaving; guarded by Engine.mu
	signal   chan struct{}   // a run has chunks or an outcome
	poke     chan struct{}   // somebody else has changed the log
	done     chan struct{}   // closed when the turn has left

	ctx    context.Context //nolint:containedctx // of planners and tools; ends when the turn is cut off
	cancel context.CancelCauseFunc
	size   atomic.Int64 // bytes of the log, with what runs have handed over

	mu  sync.Mutex
	cut error // why the turn has to stop; set by anybody
}

type held struct {
	run     *run
	outcome *outcome
	events  []store.Event
}

// maxInflight is how many batches of chunks of one turn may be on their way: one
// that the disk is writing, and one that gathers behind it.
const maxInflight = 2

func (e *Engine) newTurn(id store.TaskID) *turn {
	t := &turn{e: e, id: id, runs: map[string]*run{}, signal: make(chan struct{}, 1), poke: make(chan struct{}, 1), done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancelCause(e.ctx)
	return t
}

// stop cuts the turn off. Anybody may call it; the task must have changed hands,
// or ended, or the engine be stopping.
func (t *turn) stop(why error) {
	t.mu.Lock()
	if t.cut == nil {
		t.cut = why
	}
	t.mu.Unlock()
	t.cancel(why)
	wake(t.poke)
}

func (t *turn) stopped() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cut
}

// runQueued runs the turn of a task that is live on disk and belongs to this
// instance.
func (t *turn) runQueued() {
	defer t.e.leave(t)
	defer t.recover()
	if err := t.reload(); err != nil {
		t.abandon(err)
		return
	}
	if t.fold.header.Phase != store.Live {
		return // canceled while it waited
	}
	t.loop()
}

// runFrom runs the turn on from a draft that was appended as c.
func (t *turn) runFrom(d *draft, c *store.Commit) {
	defer t.e.leave(t)
	defer t.recover()
	t.last, t.first, t.due = c, true, len(d.due) > 0
	if !d.urgent {
		if _, err := c.Wait(); err != nil {
			return // whoever appended it is told
		}
		t.committed()
	}
	t.launch(d)
	t.loop()
}

// recover keeps a bug in the engine from taking the process down. The task stays
// live on disk; the next process recovers it.
func (t *turn) recover() {
	if p := recover(); p != nil {
		t.e.log.Error().Interface("panic", p).Bytes("stack", debug.Stack()).Str("task_id", t.id.String()).Msg("turn panicked")
		t.abandon(fmt.Errorf("panic: %v", p))
	}
}

// reload reads the task anew. What runs, and what came of it, stays.
func (t *turn) reload() error {
	for _, c := range t.inflight {
		_, _ = c.Wait() // what failed is found out by the next batch of its kind
	}
	t.inflight = nil
	f, err := t.e.load(t.e.ctx, store.System(), t.id)
	if err != nil {
		return err
	}
	t.take(f)
	t.last = nil
	return nil
}

// committed notes that the newest batch with a rev is durable.
func (t *turn) committed() {
	if r, err := t.last.Wait(); err == nil {
		t.rev, t.last, t.first = r.Rev, nil, false
		t.fold.header.Rev, t.fold.header.Fence = r.Rev, r.Fence
		if t.due {
			wake(t.e.due)
		}
	}
}

// loop runs until the task rests or the turn is cut off.
func (t *turn) loop() {
	if t.told || t.needsStep() {
		if t.step() {
			return
		}
	}
	for {
		var durable <-chan struct{}
		if len(t.inflight) > 0 {
			durable = t.inflight[0].Done()
		}
		var started <-chan struct{}
		if t.last != nil {
			started = t.last.Done()
		}
		select {
		case <-t.signal:
		case <-t.poke:
			t.told = true
		case <-durable:
			if _, err := t.inflight[0].Wait(); err != nil && t.lost(err) {
				return
			}
			t.inflight = t.inflight[1:]
		case <-started:
			if _, err := t.last.Wait(); err != nil {
				if t.first {
					t.drop(errCut) // it was never ours
					return
				}
				t.told, t.last = true, nil
			} else {
				t.committed()
			}
		case <-t.e.ctx.Done():
			t.stop(context.Cause(t.e.ctx))
		}
		if why := t.stopped(); why != nil {
			t.drop(why)
			return
		}
		t.collect()
		if t.told || len(t.held) > 0 {
			if t.step() {
				return
			}
		}
	}
}

// needsStep reports whether the turn has something to do without anything running.
func (t *turn) needsStep() bool { return len(t.runs) == 0 }

// collect takes what the runs have handed over.
func (t *turn) collect() {
	if len(t.inflight) >= maxInflight {
		return // it gathers meanwhile, up to a window
	}
	var chunks []store.Event
	for id, r := range t.runs {
		events, o := r.take()
		if o == nil {
			chunks = append(chunks, events...)
			continue
		}
		delete(t.runs, id)
		t.held = append(t.held, held{run: r, outcome: o, events: events})
	}
	if len(chunks) > 0 {
		t.append(chunks)
	}
}

// append queues chunks. They are folded at once: if they fail, so does all that
// follows.
func (t *turn) append(chunks []store.Event) {
	b := &store.Batch{Scope: store.System(), Task: t.id, Fence: &t.fence, Events: chunks}
	t.snapshot(b)
	for i := range chunks {
		if err := t.fold.apply(&chunks[i]); err != nil {
			t.e.log.Error().Err(err).Str("task_id", t.id.String()).Msg("chunk does not fold")
		}
		t.fold.tail += len(chunks[i].Data)
	}
	t.seq += uint64(len(chunks))
	t.inflight = append(t.inflight, t.e.store.Append(t.e.ctx, b))
	t.e.at(PointChunks)
}

// snapshot adds the fold to a batch when it is time, before the batch's own events
// are folded.
func (t *turn) snapshot(b *store.Batch) {
	if !t.fold.wantsSnapshot() {
		return
	}
	data, err := t.fold.encode()
	if err != nil {
		t.e.log.Error().Err(err).Str("task_id", t.id.String()).Msg("snapshot failed")
		return
	}
	b.Snapshot = &store.Snapshot{After: t.seq, Bytes: data}
	t.fold.tail, t.fold.snapshotSize = 0, len(data)
}

// step writes what came in and what follows from it. It returns true when the turn
// is over.
func (t *turn) step() bool {
	for try := 0; ; try++ {
		if t.told {
			if err := t.refresh(); err != nil {
				return t.lost(err)
			}
			if t.fold.header.Phase != store.Live {
				t.drop(errCut)
				return true
			}
		}
		again, over := t.stepOnce()
		if !again {
			return over
		}
		if try == 100 {
			t.abandon(errors.New("the task changes faster than its turn"))
			return true
		}
		t.told = true
	}
}

// refresh waits for what this turn has queued and reads the task anew.
func (t *turn) refresh() error {
	if t.last != nil {
		if _, err := t.last.Wait(); err != nil && t.first {
			return err
		}
		t.first = false
	}
	return t.reload()
}

// stepOnce makes one batch. again: it conflicted.
func (t *turn) stepOnce() (again, over bool) {
	d := t.e.draft(t.fold)
	d.told = t.told
	if b := (&store.Batch{}); t.fold.wantsSnapshot() {
		t.snapshot(b)
		d.snapshot = b.Snapshot
	}
	for _, h := range t.held {
		if err := t.settleRun(d, h); err != nil {
			return t.fail(err)
		}
	}
	plan, err := t.advance(d)
	switch {
	case err != nil:
		return t.fail(err)
	case plan:
		return t.planSlowly(d)
	}
	return t.commit(d)
}

// fail ends a task that the engine cannot go on with: better failed than at work
// for ever.
func (t *turn) fail(cause error) (again, over bool) {
	t.e.log.Error().Err(cause).Str("task_id", t.id.String()).Msg("turn failed")
	if err := t.refresh(); err != nil {
		return false, t.lost(err)
	}
	if t.fold.header.Phase != store.Live {
		t.drop(errCut)
		return false, true
	}
	d := t.e.draft(t.fold)
	err := d.private(kindFailed, &turnFailed{Error: cause.Error()})
	if err == nil {
		err = t.e.endAll(t, d, a2a.TaskStateFailed, "The task failed: "+cause.Error())
	}
	if err != nil {
		t.abandon(err)
		return false, true
	}
	r, err := t.e.store.Append(t.e.ctx, d.batch(store.System(), t.rev, nil, nil)).Wait()
	switch {
	case errors.Is(err, store.ErrConflict):
		return t.fail(cause)
	case err != nil:
		return false, t.lost(err)
	}
	t.e.rested(t.fold, r, d, 0)
	t.drop(errCut)
	return false, true
}

// commit appends a draft of a running turn and goes on when that is allowed.
func (t *turn) commit(d *draft) (again, over bool) {
	if d.empty() {
		t.held, t.told = nil, false
		return false, false
	}
	b := d.batch(store.System(), t.rev, &t.fence, t.last)
	c := t.e.store.Append(t.e.ctx, b)
	t.seq += uint64(len(b.Events))
	t.fold.tail += b.Size()
	rest := d.phase == store.Parked || d.phase == store.Final
	if d.urgent && !rest && len(d.launch) > 0 {
		t.last, t.held, t.told, t.due = c, nil, false, len(d.due) > 0
		t.launch(d)
		return false, false
	}
	t.e.at(PointStep)
	r, err := c.Wait()
	switch {
	case errors.Is(err, store.ErrConflict) && !t.first:
		return true, false
	case errors.Is(err, store.ErrTooLarge), errors.Is(err, store.ErrInvalid):
		return t.fail(err)
	case err != nil:
		return false, t.lost(err)
	}
	t.rev, t.last, t.first, t.held, t.told = r.Rev, nil, false, nil, false
	t.fold.header.Rev = r.Rev
	if rest {
		t.e.rested(t.fold, r, d, t.seq)
		return false, true
	}
	t.e.rearm(d)
	t.launch(d)
	return false, false
}

// lost ends the turn because a batch of it failed for good. It returns true.
func (t *turn) lost(err error) bool {
	switch {
	case errors.Is(err, store.ErrFenced), errors.Is(err, store.ErrNotFound), t.first:
		t.drop(errCut)
	default:
		t.abandon(err)
	}
	return true
}

// abandon ends the turn because the engine cannot go on with it. The task is live
// on disk: the next process recovers it.
func (t *turn) abandon(err error) {
	if t.e.ctx.Err() == nil {
		t.e.log.Error().Err(err).Str("task_id", t.id.String()).Msg("turn abandoned; the next start recovers the task")
	}
	t.drop(err)
}

// drop lets go of everything that runs: results that still come are recorded late.
func (t *turn) drop(why error) {
	for _, h := range t.held {
		t.e.orphan(t.id, h.run, h.outcome)
	}
	t.held = nil
	for _, r := range t.runs {
		r.stop(why)
		t.e.orphan(t.id, r, nil)
	}
	clear(t.runs)
}

// planSlowly asks a planner outside of any batch. What the draft has is committed
// first.
func (t *turn) planSlowly(d *draft) (again, over bool) {
	if !d.empty() {
		if d.f.header.State != stateWorking {
			if err := d.say(a2a.TaskStateWorking, nil, nil); err != nil {
				t.abandon(err)
				return false, true
			}
		}
		if again, over := t.commit(d); again || over {
			return again, over
		}
	}
	next, err := t.plan(t.fold)
	if why := t.stopped(); why != nil {
		t.drop(why)
		return false, true
	}
	d = t.e.draft(t.fold)
	if err != nil {
		err = t.giveUp(d, err)
	} else if _, err = t.addStep(d, next); err == nil && d.phase == 0 {
		if s := d.f.step(); !s.finished() {
			if err = t.advanceCalls(d, s); err == nil && !s.finished() {
				err = t.settle(d, s)
			}
		}
	}
	if err != nil {
		return t.fail(err)
	}
	again, over = t.commit(d)
	if !again && !over && len(t.runs) == 0 {
		t.told = true
		return true, false
	}
	return again, over
}
