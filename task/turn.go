package task

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"a2a-server/store"
	"a2a-server/tool"
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
	ids   *wireIDs

	fold *fold  // with everything that was appended, durable or not
	rev  uint64 // of the newest batch that is known to be durable
	seq  uint64 // last seq if nobody else has written

	runs     []*run          // running, or with an outcome not settled
	held     []held          // outcomes that wait to be written, in the order they came
	inflight []*store.Commit // batches of chunks
	told     bool            // somebody else has changed the log
	requeue  bool            // the task was taken over while this one is leaving; guarded by Engine.mu
	tools    []tool.Tool     // as they were listed to accept the message, for the plan that follows at once
	kept     any             // by the planner, for the same
	changed  atomic.Bool     // somebody else has changed the log
	wake     chan struct{}   // that, or a run has chunks or an outcome
	done     chan struct{}   // closed when the turn has left

	// The task at rest, when a client that waits has its answer, and its last seq. To
	// be read when done is closed.
	rest   *View
	restAt uint64

	// What readonly made last, and of what.
	asked      *readonlyContext
	askedOf    *fold
	askedAfter int // messages

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
	t := &turn{e: e, id: id, wake: make(chan struct{}, 1), done: make(chan struct{})}
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
	wake(t.wake)
}

// tell tells the turn that somebody else has changed the log. Anybody may call it.
func (t *turn) tell() {
	t.changed.Store(true)
	wake(t.wake)
}

// end lets go of the turn, so that the engine's context, which lives on, does not
// keep it.
func (t *turn) end() {
	close(t.done)
	t.cancel(errCut)
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

// runFrom runs the turn on from a draft that is durable.
func (t *turn) runFrom(d *draft) {
	defer t.e.leave(t)
	defer t.recover()
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

// rested notes that the task has come to rest. seq is what its last seq is if nobody
// else has written meanwhile: then the fold is complete.
func (t *turn) rested(r store.Receipt, d *draft, seq uint64) {
	t.e.rearm(d)
	if seq == r.Last && !t.fold.view.light {
		t.e.views.put(t.id, seq, t.fold.view)
		h := t.fold.header
		if h.Phase = d.phase; rests(&h) {
			t.rest, t.restAt = t.fold.view, seq
		}
	}
	t.e.provide(t.fold)
}

// reload reads the task anew. What runs, and what came of it, stays.
func (t *turn) reload() error {
	for _, c := range t.inflight {
		_, _ = c.Wait() // what failed is found out by the next batch of its kind
	}
	t.inflight = nil
	f, err := t.e.loadTurn(t.e.ctx, store.System(), t.id)
	if err != nil {
		return err
	}
	t.take(f)
	return nil
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
		select {
		case <-t.wake:
			if t.changed.Swap(false) {
				t.told = true
			}
		case <-durable:
			if _, err := t.inflight[0].Wait(); err != nil && t.lost(err) {
				return
			}
			t.inflight = t.inflight[1:]
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
	t.runs = slices.DeleteFunc(t.runs, func(r *run) bool {
		events, o := r.take()
		if o == nil {
			chunks = append(chunks, events...)
			return false
		}
		t.held = append(t.held, held{run: r, outcome: o, events: events})
		return true
	})
	if len(chunks) > 0 {
		t.append(chunks)
	}
}

// append queues chunks. They are folded at once: if they fail, so does all that
// follows.
func (t *turn) append(chunks []store.Event) {
	b := &store.Batch{Scope: store.System(), Task: t.id, Fence: &t.fence, Events: chunks, Snapshot: t.snapshot()}
	for i := range chunks {
		if err := t.fold.apply(&chunks[i]); err != nil {
			t.e.log.Error().Err(err).Str("task_id", t.id.String()).Msg("chunk does not fold")
		}
		t.fold.tail += len(chunks[i].Data)
	}
	t.fold.view.lighten(maxTurnView)
	t.seq += uint64(len(chunks))
	t.inflight = append(t.inflight, t.e.store.Append(t.e.ctx, b))
	t.e.at(PointChunks)
}

// lost ends the turn because a batch of it failed for good. It returns true.
func (t *turn) lost(err error) bool {
	switch {
	case errors.Is(err, store.ErrFenced), errors.Is(err, store.ErrNotFound):
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
	t.runs = nil
}

// running returns the run of a call, nil if there is none.
func (t *turn) running(call string) *run {
	for _, r := range t.runs {
		if r.call == call {
			return r
		}
	}
	return nil
}
