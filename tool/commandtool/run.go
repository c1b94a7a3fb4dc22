package commandtool

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"golang.org/x/text/runes"

	"a2a-server/internal/child"
	"a2a-server/internal/deadline"
	"a2a-server/tool"
)

const (
	maxTail      = 64 << 10 // bytes of standard output in the result
	maxErrorTail = 4 << 10  // bytes of standard error in the result or the error
)

// The metadata of chunks.
const (
	streamKey  = "stream"
	droppedKey = "dropped"
)

// CallStreaming implements [tool.StreamingTool]. The final result is an object:
//
//	exit_code  0
//	output     the end of standard output, at most 64 KiB
//	stderr     the end of standard error, at most 4 KiB; left out if there is none
//	omitted    how many bytes of standard output came before output; left out if none
//	dropped    how many bytes were not published, of both; left out if none
//
// A command that exits with another code is an [*ExitError]. A command that was ended by a
// signal is an error that wraps [tool.ErrOutcomeUnknown]. Any other error means that nothing
// has run; it wraps [tool.ErrNoEffect] if the call was told to end.
func (t *command) CallStreaming(ctx tool.Context, args map[string]any) iter.Seq2[*tool.Result, error] {
	return func(yield func(*tool.Result, error) bool) {
		limited := context.Context(ctx)
		if limit := t.config.Timeout; limit > 0 {
			within, cancel := deadline.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v", limit))
			defer cancel()
			limited = within
		}
		if limited.Err() != nil {
			yield(nil, notRun(limited, context.Cause(limited)))
			return
		}
		c, input, err := t.prepare(limited, args)
		if err != nil {
			yield(nil, notRun(limited, err))
			return
		}
		p, err := child.Start(c)
		closeAll(c.Files)
		if err != nil {
			yield(nil, notRun(limited, err))
			return
		}
		e := &execution{tool: t, process: p, collector: newCollector(!t.config.Output.Bytes, t.config.Output.Max), lost: make(chan struct{})}
		wanted, unwant := context.WithCancel(limited)
		e.unwant = unwant
		e.begin(wanted, input)
		if e.publish(yield) {
			yield(e.outcome(limited))
		}
	}
}

// notRun returns the error of a call that has run nothing. If the call was told to end, the error says that, too:
// else the outcome of the call would count as unknown.
func notRun(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("nothing was run: %w: %w", tool.ErrNoEffect, err)
}

// execution is a command that runs.
type execution struct {
	tool      *command
	process   *child.Process
	collector *collector
	work      sync.WaitGroup
	unwant    context.CancelFunc // ends the command: its output is not read
	lost      chan struct{}      // closed when it does not end although it was killed
}

// begin starts the goroutines that read the output, write the input and end the command.
// publish waits for them.
func (e *execution) begin(ctx context.Context, input []byte) {
	for of, r := range [streams]io.Reader{e.process.Stdout, e.process.Stderr} {
		e.work.Go(func() { e.read(of, r) })
	}
	if e.process.Stdin != nil {
		e.work.Go(func() {
			// A command need not read its input, so errors mean nothing.
			_, _ = io.Copy(e.process.Stdin, bytes.NewReader(input))
			_ = e.process.Stdin.Close()
		})
	}
	e.work.Go(func() { e.watch(ctx) })
}

// read reads a stream to its end, with U+FFFD in place of each invalid byte. All errors are the
// end: the process says how it ended.
func (e *execution) read(of int, r io.Reader) {
	defer e.collector.end(of)
	repair := runes.ReplaceIllFormed()
	in := make([]byte, 16<<10)
	out := make([]byte, 3*len(in)) // U+FFFD has three bytes
	left := 0                      // bytes of in: the beginning of a character
	for {
		n, err := r.Read(in[left:])
		to, from, _ := repair.Transform(out, in[:left+n], err != nil) // the error says that bytes are left
		if to > 0 {
			e.collector.add(of, out[:to])
		}
		left = copy(in, in[from:left+n])
		if err != nil {
			return
		}
	}
}

// watch ends the command when its context ends.
func (e *execution) watch(ctx context.Context) {
	select {
	case <-e.process.Done():
		return
	case <-ctx.Done():
	}
	e.process.Stop()
	select {
	case <-e.process.Done():
		return
	case <-time.After(e.tool.config.Grace + 500*time.Millisecond):
	}
	e.process.Close() // ends the streams, even if the system does not let go of the process
	select {
	case <-e.process.Done():
	default:
		close(e.lost)
	}
}

// publish yields the output while it comes, and returns when the command has ended. It returns
// false if the consumer has stopped.
func (e *execution) publish(yield func(*tool.Result, error) bool) (wanted bool) {
	defer func() { // also when yield panics
		e.collector.discard()
		if !wanted {
			e.unwant()
			e.ended()
		}
		e.process.Close()
		e.work.Wait()
		e.unwant()
	}()
	if !e.chunks(yield) {
		return false
	}
	e.ended()
	return true
}

// ended waits for the end of the process.
func (e *execution) ended() {
	select {
	case <-e.process.Done():
	case <-e.lost:
	}
}

// chunks yields the output. The first chunk is yielded as soon as it is there, and so are
// all that come slowly. Where output comes quickly, a chunk waits for more of it for a few
// milliseconds: each is an event in the log. The longer a command writes like that, the
// longer the wait, so that the number of events stays in proportion.
func (e *execution) chunks(yield func(*tool.Result, error) bool) bool {
	c := e.collector
	pace := pacer{}
	gap := time.NewTimer(time.Hour)
	defer gap.Stop()
	for {
		least, wait := 1, time.Until(pace.next)
		if wait > 0 {
			least = maxChunk
		}
		pending, size, ended := c.take(least)
		switch {
		case len(pending) > 0:
			for _, s := range pending {
				if !e.yieldText(yield, s) {
					return false
				}
			}
			pace.yielded(time.Now(), len(pending))
		case ended:
			return e.yieldDropped(yield)
		case size > 0: // within the gap
			gap.Reset(wait)
			select {
			case <-c.wake:
			case <-gap.C:
			}
		default:
			<-c.wake
		}
	}
}

// yieldText yields the text of a segment, in chunks of a limited length.
func (e *execution) yieldText(yield func(*tool.Result, error) bool, s segment) bool {
	var metadata map[string]any
	if s.stream == stderr {
		metadata = map[string]any{streamKey: "stderr"}
	}
	for len(s.text) > 0 {
		n := cutAt(s.text, maxChunk)
		if n < len(s.text) && e.collector.lines {
			if line := bytes.LastIndexByte(s.text[:n], '\n') + 1; line > 0 {
				n = line
			}
		}
		if !yield(&tool.Result{Content: string(s.text[:n]), Streaming: true, Metadata: metadata}, nil) {
			return false
		}
		s.text = s.text[n:]
	}
	return true
}

// yieldDropped yields the number of bytes that were not published.
func (e *execution) yieldDropped(yield func(*tool.Result, error) bool) bool {
	dropped := e.collector.dropped // final, because the streams have ended
	if dropped == 0 {
		return true
	}
	return yield(&tool.Result{
		Content:   fmt.Sprintf("\n[%d more bytes of output are not published: the limit is %d]\n", dropped, e.tool.config.Output.Max),
		Streaming: true, Metadata: map[string]any{droppedKey: dropped},
	}, nil)
}

// outcome is the final result or the error of a command that has ended.
func (e *execution) outcome(ctx context.Context) (*tool.Result, error) {
	select {
	case <-e.process.Done():
	default:
		return nil, fmt.Errorf("%w: the command was killed because %s, and has not ended", tool.ErrOutcomeUnknown, because(ctx))
	}
	c := e.collector
	end := e.process.End()
	said, before := c.streams[stderr].tail.text()
	output, omitted := c.streams[stdout].tail.text()
	switch {
	case end.Stopped && ctx.Err() != nil:
		return nil, fmt.Errorf("%w: the command was ended because %s", tool.ErrOutcomeUnknown, because(ctx))
	case end.Signal != "":
		return nil, fmt.Errorf("%w: the command was ended by a signal: %s", tool.ErrOutcomeUnknown, end.Signal)
	case end.Code != 0:
		if said == "" {
			at := len(output) - cutAt([]byte(output), max(0, len(output)-maxErrorTail))
			said, before = output[len(output)-at:], omitted+int64(len(output)-at)
		}
		return nil, &ExitError{Code: end.Code, Output: said, Missing: before}
	}
	content := map[string]any{"exit_code": 0, "output": output}
	if said != "" {
		content["stderr"] = said
	}
	if omitted > 0 {
		content["omitted"] = omitted
	}
	if c.dropped > 0 {
		content[droppedKey] = c.dropped
	}
	return &tool.Result{Content: content}, nil
}

// because is the text of the cause of the end of ctx. The cause itself is the caller's: it
// is not wrapped, as the call did not fail with it.
func because(ctx context.Context) string { return context.Cause(ctx).Error() }

// pacer decides when the next chunks may be yielded. A gap is about as long as a commit, so
// that it delays no reader noticeably; a command that writes all day gets longer gaps, so that
// its chunks remain below a quarter of limits.task.
type pacer struct {
	next   time.Time
	gap    time.Duration
	yields int // chunks with this gap
}

const (
	firstGap    = time.Millisecond
	longestGap  = 5 * time.Second
	firstYields = 10_000 // chunks with the first gap
	moreYields  = 1000   // chunks with each longer gap, which is twice as long as the gap before
)

// yielded starts the next gap.
func (p *pacer) yielded(now time.Time, chunks int) {
	p.yields += chunks
	switch {
	case p.gap == 0:
		p.gap = firstGap
	case p.gap == firstGap && p.yields >= firstYields, p.gap > firstGap && p.yields >= moreYields:
		p.gap, p.yields = min(2*p.gap, longestGap), 0
	}
	p.next = now.Add(p.gap)
}
