package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"a2a-server/task/engine/internal/env"
	"a2a-server/task/internal/output"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// Run is one run of a tool. The tool has its own goroutine, so that a tool that blocks, panics
// or ignores its context only harms its own call. The tool's side hands over chunks and the
// outcome; the turn takes them.
type Run struct {
	runs    *Runs
	entry   *rules.Execution
	publish output.Publisher
	seat    *Seat
	cancel  context.CancelCauseFunc

	mu       sync.Mutex
	room     chan struct{}     // closed when there is room again, or never will be; nil: without a waiter
	waiting  []output.RunEvent // chunks and checkpoints that the turn has not taken
	keeping  []*Checkpoint     // of waiting, in their order
	last     int               // how many it took last
	bytes    int               // of waiting
	chunks   map[string]int    // by artifact, how many chunks of it were published since it was last replaced; "": the artifact named after the tool
	named    []string          // the other artifacts in chunks, in their order
	text     *strings.Builder  // text of the chunks of ""; nil: not wanted, not only text, or too large for an event
	summary  textSummary       // the same for the planner
	reports  reports           // of its progress
	output   int64             // bytes that the call has published, in all of its runs
	tooMuch  error             // why, if it tried to publish more than it may
	cut      error             // why the run accepts nothing more; nil: it does. See refuses for its chunks
	outcome  *rules.RunEnded
	asks     []rules.ToolQuestion // asked by the tool, and undecided
	unstop   func() bool          // the timer that gives it up; nil: none
	clock    clock                // how long it may still take
	question *HeldCall            // a question for whose answer it waits; nil: none
	held     int                  // questions of that kind so far
	hears    []*func(cause error) // to call when the tool is told to end
	stopped  bool                 // it was told to end
	orphan   bool                 // abandoned: its result is recorded late
	ended    bool                 // the tool has returned
	given    bool                 // it was given up

	// Of a [tool.Poller]; see poll.go.
	started bool            // this run has started the job
	done    bool            // the job has ended
	poller  tool.Poller     // nil: it is none
	job     *job            // to poll; nil: it is not started
	kept    json.RawMessage // newest checkpoint of a poll; nil: none
}

var (
	// ErrOutput means that a call has reached its output limit.
	ErrOutput = errors.New("the call has too much output")

	errToolTimeout = tool.ErrTimeLimit
	// ErrCut ends a run that its process gives up.
	ErrCut = errors.New("the call was cut off")
	// ErrCallCancel ends a run whose call was canceled.
	ErrCallCancel = errors.New("the call was canceled")
	errPanicked   = errors.New("the tool panicked; see the server's log")
	errGone       = errors.New("the tool ended its goroutine")
)

// Start runs the tool in its own goroutine, unless it may not be entered: then the run ends at
// once. ctx is that of the turn.
func (r *Run) Start(ctx context.Context) {
	if o := r.refused(); o != nil {
		r.cancel = func(error) {}
		r.end(o)
		return
	}
	r.runs.Env.At(env.PointLaunch)
	r.begin(ctx)
}

// Entry is the call that is run.
func (r *Run) Entry() *rules.Execution { return r.entry }

// Outcome is the outcome that Take has returned.
func (r *Run) Outcome() *rules.RunEnded { return r.outcome }

// Handed returns how many bytes were handed over and not taken.
func (r *Run) Handed() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int64(r.bytes)
}

// refused returns the outcome of a run whose tool is not entered, nil if the tool may be.
func (r *Run) refused() *rules.RunEnded {
	if err := r.openJob(); err != nil {
		return &rules.RunEnded{Entry: r.entry, Err: err, Unknown: true}
	}
	n := r.runs.abandoned.Held(r.entry.Name)
	switch {
	case n < int64(r.runs.Env.Limits.Abandoned):
		return nil
	case r.job != nil:
		return r.putOff()
	}
	return &rules.RunEnded{Entry: r.entry, Err: fmt.Errorf("the tool %s is not run: %d runs of it have not ended although they were canceled; repair it, or restart the server", r.entry.Name, n)}
}

// begin runs the tool in its own goroutine, with a timeout. A tool that ignores the end of its
// context is given up: its turn continues, and its later result is recorded late.
func (r *Run) begin(ctx context.Context) {
	ctx, r.cancel = context.WithCancelCause(ctx)
	x := newToolContext(ctx, r)

	limit := r.timeout()
	r.mu.Lock()
	r.clock.left = limit
	r.startClock()
	r.mu.Unlock()
	r.runs.active.Add()
	r.runs.Env.Spawn(func() {
		var o *rules.RunEnded
		defer func() {
			if o == nil {
				late := r.onlyLate(ctx, errGone)
				o = &rules.RunEnded{Entry: r.entry, Err: errGone, Unknown: late, TimedOut: late, Stop: r.job != nil}
			}
			r.returned(ctx, o)
		}()
		o = r.checked(x, r.execute(x))
	})
}

// returned hands over the tool's result, or records it late.
func (r *Run) returned(ctx context.Context, o *rules.RunEnded) {
	r.mu.Lock()
	r.ended = true
	r.stopClock()
	given := r.given
	if r.unstop != nil {
		r.unstop()
	}
	r.mu.Unlock()
	interrupted := o.Err != nil && errors.Is(context.Cause(ctx), env.ErrShutdown)
	r.cancel(nil) // before the turn, which may then end, cancels it with a cause
	if interrupted {
		// We canceled it, so it is unknown whether it failed or was only interrupted. The
		// log says that it was started; the next process handles it as unknown.
		r.letGo()
	} else {
		r.end(o)
	}
	if given {
		r.runs.abandoned.Give(r.entry.Name, 1)
		return
	}
	r.runs.active.Done()
}

// emit hands a chunk over. It waits while the tool is more than a window ahead of the
// disk. An error means that no more chunks are accepted, or not this one. A call that
// tries to publish more than it may ends with that error, whatever the tool does with it.
func (r *Run) emit(k output.RunEvent) error {
	n := len(k.Event.Data)
	r.lockWithRoom()
	defer r.mu.Unlock()
	if err := r.refuses(); err != nil {
		return err
	}
	if limit := int64(r.runs.Env.Limits.Output); r.tooMuch == nil && r.output+int64(n) > limit {
		r.tooMuch = fmt.Errorf("%w: it has published %d bytes, and may publish %d: what was published remains", ErrOutput, r.output, limit)
	}
	if r.tooMuch != nil {
		return r.tooMuch
	}
	if err := r.hand(k); err != nil {
		return err
	}
	r.output += int64(n)
	return nil
}

// refuses returns why chunks are refused, or nil. A tool whose time is over was told to end, and
// until it is given up its chunks and its result count: a refused chunk would hide a result that
// is already there. r.mu must be held.
func (r *Run) refuses() error {
	if errors.Is(r.cut, errToolTimeout) && !r.given {
		return nil
	}
	return r.cut
}

// lockWithRoom locks r.mu when the tool is at most a window ahead of the disk, or may hand
// over nothing more.
func (r *Run) lockWithRoom() {
	r.mu.Lock()
	for r.refuses() == nil && r.bytes > r.runs.Env.Limits.Window {
		if r.room == nil {
			r.room = make(chan struct{})
		}
		room := r.room
		r.mu.Unlock()
		r.runs.Env.Wait(room)
		r.mu.Lock()
	}
}

// hand queues a chunk for the turn, if the log has room for it. r.mu must be held.
func (r *Run) hand(k output.RunEvent) error {
	n := len(k.Event.Data)
	if limit := r.seat.Open.Load(); r.seat.Size.Add(int64(n)) > limit {
		r.seat.Size.Add(-int64(n))
		return fmt.Errorf("%w: after %d bytes the log accepts only results", rules.ErrLogFull, limit)
	}
	if r.waiting == nil {
		r.waiting = make([]output.RunEvent, 0, max(4, r.last))
	}
	r.waiting = append(r.waiting, k)
	r.bytes += n
	if len(r.waiting) == 1 {
		env.Signal(r.seat.Wake)
	}
	return nil
}

// makeRoom wakes a goroutine that waits to hand over a chunk. r.mu must be held.
func (r *Run) makeRoom() {
	if r.room != nil {
		close(r.room)
		r.room = nil
	}
}

// Take returns the chunks that were handed over, the waiters for the checkpoints among them,
// and the outcome if there is one: then no more chunks follow, and none of these is a
// checkpoint.
func (r *Run) Take() ([]output.RunEvent, []*Checkpoint, *rules.RunEnded) {
	r.mu.Lock()
	defer r.mu.Unlock()
	chunks, keeping := r.waiting, r.keeping
	r.waiting, r.keeping, r.bytes, r.last = nil, nil, 0, len(chunks)
	r.makeRoom()
	if r.outcome != nil {
		r.outcome.Chunks, r.outcome.Named = r.chunks[""], r.named
	}
	return chunks, keeping, r.outcome
}

// end hands over the tool's outcome. If the turn has abandoned the run, or given it up, it is
// recorded late.
func (r *Run) end(o *rules.RunEnded) {
	r.mu.Lock()
	late := r.orphan || r.outcome != nil
	if !late {
		r.outcome = o
		r.cutOff(ErrCut)
	}
	r.makeRoom()
	r.mu.Unlock()
	if late {
		r.runs.Late(r.seat.Task, o)
		return
	}
	env.Signal(r.seat.Wake)
}

// Abandon makes the run an orphan, because its turn is over. A later result, or a result that
// could not be written, is recorded late.
func (r *Run) Abandon() {
	o := r.letGo()
	if o == nil || o.GivenUp != nil || errors.Is(o.Err, ErrCut) || errors.Is(o.Err, env.ErrShutdown) {
		return
	}
	r.runs.Late(r.seat.Task, o)
}

// letGo makes the run an orphan and returns an outcome that was not settled.
func (r *Run) letGo() *rules.RunEnded {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.orphan = true
	r.cutOff(ErrCut)
	return r.outcome
}

// Stop tells the tool to end: its chunks are refused (see refuses), its context is canceled, and Cancel
// of a cancellable tool is called with the id of the call. If it has not ended after its
// grace period, it is given up.
func (r *Run) Stop(why error) {
	r.mu.Lock()
	r.cutOff(why)
	r.makeRoom()
	again := r.stopped || r.ended || r.given
	r.stopped = true
	hears := slices.Clone(r.hears)
	if !again {
		r.unstop = r.runs.Env.Timeout(r.runs.Env.Limits.ToolGrace, r.giveUp)
	}
	r.mu.Unlock()
	r.cancel(why)
	if again {
		return
	}
	for _, hear := range hears {
		r.runs.notifyTool(func() { (*hear)(why) })
	}
	r.runs.notifyTool(func() {
		if c, ok := tool.As[tool.CancellableTool](r.entry.Tool); ok && c.SupportsCancellation() {
			c.Cancel(r.entry.Call)
		}
	})
}

// notifyTool calls a tool's own code in a goroutine. If it panics, only the goroutine ends.
func (c *Runs) notifyTool(call func()) {
	c.Env.Spawn(func() {
		defer func() { _ = recover() }()
		call()
	})
}

// onStop registers hear, which is called when the tool is told to end.
func (r *Run) onStop(hear func(cause error)) (remove func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &hear
	if r.stopped && !r.ended { // it has been told already
		why := r.cut
		r.runs.notifyTool(func() { hear(why) })
		return func() {}
	}
	r.hears = append(r.hears, h)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.hears = slices.DeleteFunc(r.hears, func(other *func(error)) bool { return other == h })
	}
}

// giveUp stops waiting for a tool that does not end.
func (r *Run) giveUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.given {
		return
	}
	r.given = true
	r.makeRoom()
	r.runs.abandoned.Add(r.entry.Name, 1)
	r.runs.active.Done()
	if r.orphan || r.outcome != nil {
		return
	}
	o := &rules.RunEnded{Entry: r.entry, GivenUp: errors.New("it was canceled and did not end")}
	if o.TimedOut = errors.Is(r.cut, errToolTimeout); o.TimedOut {
		o.GivenUp = errors.New("it did not end in time")
		if r.job != nil {
			o = r.putOff()
		}
	}
	r.outcome = o
	env.Signal(r.seat.Wake)
}
