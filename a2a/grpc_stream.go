package a2a

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/mem"

	"a2a-server/auth"
	"a2a-server/task/engine"
)

// The errors with which streams end.
var (
	errStalled = errBusy.saying("the client does not read its messages: subscribe to the task again")
	errResume  = errBusy.saying("the server is shutting down: subscribe to the task again")
	errSlow    = errTooSlow.saying("the answer was not read in time")
)

// lastWords is how long an ended call waits for the message that it is sending.
const lastWords = time.Second

// stream runs an operation with a stream. A goroutine of its own sends, because it is stuck
// when the client does not read, and the call ends only when its handler returns.
func (c *grpcCall) stream(by auth.Principal, op *operation, in input) error {
	s := c.g.s
	give, err := s.streams.take(by, 1)
	if err != nil {
		return err
	}
	renew := s.renews(c.r)
	leave := s.lease(c.ctx, by, op.action, renew, c.cancel)
	out := &outlet{c: c, stalled: make(chan struct{})}
	out.watch = time.AfterFunc(time.Hour, out.late)
	out.watch.Stop()
	done := make(chan error, 1)
	go func() {
		defer give()
		defer leave()
		done <- c.guarded(func() error {
			rest, err := op.stream(s, c.ctx, call{by: by, bytes: in.size(), renew: renew, from: s.lastEventID(c.r), v03: c.old()}, in,
				func(engine.ID) sink { return out.events })
			if rest == nil {
				return err
			}
			return rest.Follow(c.ctx, out.events)
		})
	}()
	err = out.wait(done)
	switch cause := context.Cause(c.ctx); {
	case errors.Is(cause, errEnded):
		return s.ended()
	case out.opened.Load() && (errors.Is(cause, ErrShutdown) || errors.Is(err, ErrShutdown) || errors.Is(err, engine.ErrBusy)):
		return errResume
	}
	return err
}

// guarded runs a function, whose panic it logs and returns as an error.
func (c *grpcCall) guarded(run func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.g.s.cfg.Log.Error().Str("panic", clip(fmt.Sprint(p))).Bytes("stack", debug.Stack()).Str("method", clip(c.method)).Msg("call panicked")
			err = errInternal.saying(errInternal.message)
		}
	}()
	return run()
}

// outlet sends the events of a stream, and notices when the client does not read them.
type outlet struct {
	c       *grpcCall
	opened  atomic.Bool // an event was sent
	began   atomic.Int64
	watch   *time.Timer
	stalled chan struct{}
}

// events is the [sink] of a stream.
func (o *outlet) events(page []engine.Event) error {
	if err := context.Cause(o.c.ctx); errors.Is(err, errEnded) {
		return err // whoever reads may not have more
	}
	limit := o.c.g.s.cfg.WriteTimeout
	o.began.Store(time.Now().UnixNano())
	o.watch.Reset(limit)
	defer func() {
		o.began.Store(0)
		o.watch.Stop()
	}()
	for i := range page {
		m, err := o.c.as.event(page[i].Data)
		if err != nil {
			return fmt.Errorf("encode event %d: %w", page[i].Seq, err)
		}
		w := o.c.whole(m)
		if err := o.c.ss.SendMsg(w); err != nil {
			return fmt.Errorf("send event %d: %w", page[i].Seq, err)
		}
		o.opened.Store(true)
		if !w.waits() {
			continue
		}
		select {
		case <-w.written:
		case <-o.c.ctx.Done():
			return context.Cause(o.c.ctx)
		}
	}
	return nil
}

// late runs when a page has taken WriteTimeout.
func (o *outlet) late() {
	if began := o.began.Load(); began != 0 && time.Since(time.Unix(0, began)) >= o.c.g.s.cfg.WriteTimeout {
		close(o.stalled) // the timer is not set again: who sends is stuck
	}
}

// wait returns the error of a stream that has ended, for whatever reason.
func (o *outlet) wait(done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-o.stalled:
		o.c.stuck(callWindow)
		return errStalled
	case <-o.c.ctx.Done():
	}
	last := time.NewTimer(lastWords)
	defer last.Stop()
	select {
	case err := <-done:
		return err
	case <-last.C:
		o.c.stuck(callWindow)
		return context.Cause(o.c.ctx)
	}
}

// stuck counts bytes that the client of the call does not read, and that nobody can take
// back: the transport keeps them as long as the connection.
func (c *grpcCall) stuck(n int) {
	if conn, _ := connOf(c.ctx); conn != nil {
		conn.stuck(int64(n))
	}
}

// whole is a message that the transport gives back when it is written. It implements
// [mem.BufferPool], to which the transport does so.
type whole struct {
	body    message
	conn    *connected
	written chan struct{}
}

// pooled is the smallest capacity of a buffer that the transport gives back.
const pooled = 1<<10 + 1

// whole returns a message to send, which counts as unread until it is written.
func (c *grpcCall) whole(m message) *whole {
	if cap(m) < pooled {
		m = append(make(message, 0, pooled), m...)
	}
	conn, _ := connOf(c.ctx)
	conn.unwritten.Add(int64(len(m)))
	return &whole{body: m, conn: conn, written: make(chan struct{})}
}

// waits reports whether the sender has to wait until the client has read the message. It is
// in memory until then, and so are those before it, even if their calls have ended.
func (w *whole) waits() bool {
	return len(w.body) > largeAnswer || w.conn.unwritten.Load() > maxUnwritten
}

// Get implements [mem.BufferPool]. Nobody takes a buffer from this one.
func (*whole) Get(n int) *[]byte { b := make([]byte, n); return &b }

// Put implements [mem.BufferPool].
func (w *whole) Put(*[]byte) {
	w.conn.unwritten.Add(-int64(len(w.body)))
	close(w.written)
}

// buffer returns the message as the transport takes it.
func (w *whole) buffer() mem.Buffer { return mem.NewBuffer((*[]byte)(&w.body), w) }

// send sends the only message of a call. If it has to wait until the client has read it,
// that must be at least as fast as Config.ReadRate.
func (c *grpcCall) send(m message) error {
	w := c.whole(m)
	if err := c.ss.SendMsg(w); err != nil {
		return fmt.Errorf("send answer: %w", err)
	}
	if !w.waits() {
		return nil
	}
	limit := time.NewTimer(answerTime + time.Duration(float64(len(m))/float64(c.g.s.cfg.ReadRate)*float64(time.Second)))
	defer limit.Stop()
	select {
	case <-w.written:
		return nil
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	case <-limit.C:
		c.stuck(0)
		return errSlow
	}
}
