package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"a2a-server/store"
	"a2a-server/tool"
)

// run is one run of a tool. The tool has a goroutine of its own, so that one that
// blocks, panics or ignores its context harms nobody but its own call. The tool's
// side hands over chunks and the outcome; the turn takes them.
type run struct {
	e      *Engine
	task   store.TaskID
	call   string
	tool   tool.Tool
	cancel context.CancelCauseFunc
	wake   chan<- struct{} // the turn's
	window int

	mu      sync.Mutex
	room    sync.Cond
	events  []store.Event // chunks that the turn has not taken
	bytes   int
	chunks  int // so far
	cut     error
	outcome *outcome
	asks    []ask // that the tool has put and nobody has decided
	orphan  bool  // nobody waits for it any more: what still comes is recorded late
	ended   bool  // the tool has returned
	given   bool  // it was given up
}

// outcome is how a run ended: a result, an error, a suspension, or nobody knows.
type outcome struct {
	result     json.RawMessage
	delta      map[string]any
	err        error
	rejected   bool // err says that a person rejected what the tool asked
	suspension *tool.Suspension
	asks       []ask // what the tool asked by the way, undecided
	unknown    string
}

var (
	errToolTimeout = errors.New("the tool took longer than it may")
	errCut         = errors.New("the call was cut off")
	errPanicked    = errors.New("the tool panicked; the server's log says more")
	errTaskFull    = errors.New("the task's log is full")
)

// emit hands a chunk over. It waits while the tool is more than a window ahead of
// the disk. An error means that nobody takes chunks any more.
func (r *run) emit(e store.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.cut == nil && r.bytes > r.window {
		r.room.Wait()
	}
	if r.cut != nil {
		return r.cut
	}
	r.events = append(r.events, e)
	r.bytes += len(e.Data)
	r.chunks++
	if len(r.events) == 1 {
		wake(r.wake)
	}
	return nil
}

// take returns the chunks handed over, and the outcome when there is one: then
// there are no more.
func (r *run) take() ([]store.Event, *outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events, r.bytes = nil, 0
	r.room.Broadcast()
	return events, r.outcome
}

// end hands over what the tool returned. When the turn has let go of the run, or
// given it up, it is recorded late.
func (r *run) end(o *outcome) {
	r.mu.Lock()
	late := r.orphan || r.outcome != nil
	if !late {
		r.outcome = o
		if r.cut == nil {
			r.cut = errCut
		}
	}
	r.room.Broadcast()
	r.mu.Unlock()
	if late {
		r.e.late(r.task, r.call, o)
		return
	}
	wake(r.wake)
}

// letGo makes the run an orphan and returns an outcome that was not settled.
func (r *run) letGo() *outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.orphan = true
	return r.outcome
}

// stop tells the tool to end: its chunks are refused, its context is canceled, and
// a tool that can be canceled is told by the id of its call.
func (r *run) stop(why error) {
	r.mu.Lock()
	if r.cut == nil {
		r.cut = why
	}
	r.room.Broadcast()
	ended := r.ended || r.given
	r.mu.Unlock()
	r.cancel(why)
	c, ok := tool.As[tool.CancellableTool](r.tool)
	if ended || !ok {
		return
	}
	r.e.busy.Go(func() {
		defer func() { _ = recover() }() // it is the tool's own code
		if c.SupportsCancellation() {
			c.Cancel(r.call)
		}
	})
}

func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// launch starts the runs of a draft that may start.
func (t *turn) launch(d *draft) {
	for _, c := range d.launch {
		if t.running(c.ID) != nil {
			continue // started by a batch that had to be made again
		}
		entry, err := t.e.cfg.Tools.Lookup(t.readonly(t.fold), c.Tool)
		r := &run{e: t.e, task: t.id, call: c.ID, wake: t.wake, window: t.e.cfg.Limits.Window}
		r.room.L = &r.mu
		ctx, cancel := context.WithCancelCause(t.ctx)
		r.cancel = cancel
		t.runs = append(t.runs, r)
		if err != nil {
			cancel(nil)
			r.end(&outcome{err: err})
			continue
		}
		r.tool = entry.Tool
		if !t.e.mayRun() {
			cancel(nil)
			r.end(&outcome{err: fmt.Errorf("%d runs of tools do not end though they were told to: restart the server", t.e.cfg.Limits.Abandoned)})
			continue
		}
		t.e.at(PointLaunch)
		x := t.toolContext(ctx, t.fold, c, r)
		t.e.runTool(r, x)
	}
}

func (e *Engine) mayRun() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.abandoned < e.cfg.Limits.Abandoned
}

// runTool runs a tool in a goroutine of its own, with a time-out. A tool that
// ignores the end of its context is given up: its turn goes on, and what it still
// returns is recorded late.
func (e *Engine) runTool(r *run, x *toolContext) {
	timeout := time.AfterFunc(e.cfg.Limits.ToolTimeout, func() { r.stop(errToolTimeout) })
	var grace *time.Timer
	canceled := context.AfterFunc(x, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.ended {
			grace = time.AfterFunc(e.cfg.Limits.ToolGrace, func() { e.giveUpOn(r) })
		}
	})
	e.busy.Add(1)
	e.crew.run(func() {
		o := r.execute(x)
		timeout.Stop()
		canceled()
		r.mu.Lock()
		r.ended = true
		given := r.given
		if grace != nil {
			grace.Stop()
		}
		r.mu.Unlock()
		interrupted := o.err != nil && errors.Is(context.Cause(x), errShutdown)
		r.cancel(nil) // before the turn, which may then end, cancels it with a cause
		if interrupted {
			// We canceled it: whether it failed or was only interrupted nobody knows.
			// The log says that it was started; the next process asks what came of it.
			r.letGo()
		} else {
			r.end(o)
		}
		if !given {
			e.busy.Done()
			return
		}
		e.mu.Lock()
		e.abandoned--
		e.mu.Unlock()
	})
}

// giveUpOn stops waiting for a tool that does not end.
func (e *Engine) giveUpOn(r *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	r.given = true
	e.mu.Lock()
	e.abandoned++
	e.mu.Unlock()
	e.busy.Done()
	if r.orphan || r.outcome != nil {
		return
	}
	why := "it was told to end and did not"
	if errors.Is(r.cut, errToolTimeout) {
		why = "it did not end in time"
	}
	r.outcome = &outcome{unknown: why}
	wake(r.wake)
}

// execute calls the tool and never panics.
func (r *run) execute(x *toolContext) (o *outcome) {
	defer func() {
		if p := recover(); p != nil {
			o = &outcome{err: errPanicked} // what it says is for the log: it may hold secrets
			r.e.log.Error().Interface("panic", p).Bytes("stack", debug.Stack()).Str("task_id", x.task).Str("call_id", r.call).Msg("tool panicked")
		}
		o.delta = x.changes()
		r.mu.Lock()
		o.asks = r.asks
		r.mu.Unlock()
		var s *tool.Suspension
		if errors.As(o.err, &s) {
			o.suspension = s
		}
		o.rejected = errors.Is(o.err, tool.ErrConfirmationRejected)
	}()
	args := x.call.decoded
	if args == nil {
		var err error
		if args, err = tool.DecodeArgs(x.call.Args); err != nil {
			return &outcome{err: err}
		}
	}
	if s, ok := tool.As[tool.StreamingTool](r.tool); ok {
		return r.stream(x, s, args)
	}
	if c, ok := tool.As[tool.CallableTool](r.tool); ok {
		result, err := c.Call(x, args)
		if err != nil {
			return &outcome{err: err}
		}
		return resultOf(result)
	}
	return &outcome{err: fmt.Errorf("tool %s can neither be called nor streamed", x.call.Tool)}
}

func resultOf(v any) *outcome {
	data, err := encodeValue(v)
	if err != nil {
		return &outcome{err: fmt.Errorf("the tool's result is no JSON: %w", err)}
	}
	return &outcome{result: data}
}

// stream runs a streaming tool. Chunks are published as they come; the result is
// what is not marked as streaming, else the text of all chunks is not kept again.
func (r *run) stream(x *toolContext, s tool.StreamingTool, args map[string]any) *outcome {
	var result any
	var failed error
	for chunk, err := range s.CallStreaming(x, args) {
		switch {
		case err != nil:
			failed = err
		case chunk == nil:
			failed = errors.New("the tool yielded nothing")
		case chunk.Error != "":
			failed = errors.New(chunk.Error)
		case chunk.Streaming:
			failed = r.publish(x, chunk)
		default:
			result = chunk.Content
		}
		if failed != nil {
			break
		}
	}
	if failed != nil {
		return &outcome{err: failed}
	}
	return resultOf(result)
}

// publish encodes a chunk and hands it over.
func (r *run) publish(x *toolContext, chunk *tool.Result) error {
	part, err := contentPart(chunk.Content)
	if err != nil {
		return err
	}
	u := artifactUpdate{ID: artifactID(&x.call), Name: x.call.Tool, Parts: part, Append: r.chunks > 0}
	if u.Append {
		u.Name = ""
	}
	if len(chunk.Metadata) > 0 {
		if u.EventMetadata, err = encodeValue(chunk.Metadata); err != nil {
			return fmt.Errorf("the metadata of a chunk are no JSON: %w", err)
		}
	}
	data := encodeArtifact(x.turn.ids, &u)
	limits := &r.e.cfg.Limits
	if len(data) > limits.Event {
		return fmt.Errorf("a chunk makes an event of %d bytes; at most %d are allowed: send smaller ones", len(data), limits.Event)
	}
	if x.turn.size.Add(int64(len(data))) > int64(limits.Task) {
		return fmt.Errorf("%w: it may have %d bytes", errTaskFull, limits.Task)
	}
	return r.emit(store.Event{Kind: kindArtifact, Public: true, Time: store.MillisOf(r.e.now()), Data: data})
}

// contentPart returns content as one part: text when it is text, else data.
func contentPart(content any) (json.RawMessage, error) {
	if text, ok := content.(string); ok {
		return textPart(text), nil
	}
	data, err := encodeValue(content)
	if err != nil {
		return nil, fmt.Errorf("the content of a chunk is no JSON: %w", err)
	}
	return resultPart(data), nil
}

// resultPart returns a result as one part: text when it is text, else data.
func resultPart(result json.RawMessage) json.RawMessage {
	var text string
	if len(result) > 0 && result[0] == '"' && json.Unmarshal(result, &text) == nil {
		return textPart(text)
	}
	b := make([]byte, 0, len(result)+10)
	b = append(b, `{"data":`...)
	b = append(b, result...)
	return append(b, '}')
}

// artifactID is the artifact of a call: the same in all of its runs.
func artifactID(c *call) string { return c.ID }
