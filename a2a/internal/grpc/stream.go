package grpc

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"google.golang.org/grpc/mem"

	"a2a-server/a2a/internal/operation"
	v03 "a2a-server/a2a/internal/v03"
	"a2a-server/a2a/internal/wire"
	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
)

// The errors with which streams end.
var (
	errStalled = wire.ErrBusy.Saying("the client does not read its messages: subscribe to the task again")
	errResume  = wire.ErrBusy.Saying("the server is shutting down: subscribe to the task again")
	errSlow    = wire.ErrTooSlow.Saying("the answer was not read in time")
)

// maxAhead is how much of a stream may be unwritten before its sender waits, in bytes. The
// transport itself takes twice as much before it blocks the sender, whom nothing but the end
// of the connection could wake then.
const maxAhead = 32 << 10

// frameOverhead is how many bytes the transport adds to a message.
const frameOverhead = 5

// stream begins an operation with a stream. It leaves the events after the beginning in
// c.rest.
func (c *rpc) stream(by auth.Principal, op *operation.Operation, in operation.Input) (err error) {
	s := c.service
	give, err := s.Streams.Take(by, 1)
	if err != nil {
		return err
	}
	c.atEnd(give)
	renew := s.Requests.Renews(c.r)
	c.atEnd(s.Requests.Lease(c.ctx, by, renew, c.cancel, op.Action))
	c.rest, err = op.Stream(s, c.ctx, operation.Request{By: by, Bytes: len(in.JSON), Renew: renew, From: s.LastEventID(c.r), V03: c.as.old}, in,
		func(engine.ID) operation.Sink { return c.events })
	return err
}

// guarded runs a function, and logs a panic and returns it as an error.
func (c *rpc) guarded(run func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.service.Log.Error().Str("panic", wire.Clip(fmt.Sprint(p))).Bytes("stack", debug.Stack()).Str("method", wire.Clip(c.method)).Msg("call panicked")
			err = wire.ErrInternal.Saying(wire.ErrInternal.Message)
		}
	}()
	return run()
}

// events is the [operation.Sink] of a stream. A client has WriteTimeout to read the messages of a page
// for which the sender waits.
func (c *rpc) events(page []engine.Event) error {
	if err := context.Cause(c.ctx); errors.Is(err, httpd.ErrEnded) {
		return err // the credential has ended
	}
	var limit <-chan time.Time // nil: nothing had to be waited for
	for i := range page {
		m, err := c.as.message(page[i].Data, v03.AppendEvent)
		if err != nil {
			return fmt.Errorf("encode event %d: %w", page[i].Seq, err)
		}
		if err := c.ss.SendMsg(c.outgoing(m)); err != nil {
			return fmt.Errorf("send event %d: %w", page[i].Seq, err)
		}
		c.opened = true
		if !c.waits(m) && c.unwritten.Load() <= maxAhead {
			continue
		}
		if limit == nil {
			limit = time.After(c.service.WriteTimeout)
		}
		if err := c.written(limit, errStalled); err != nil {
			return err
		}
	}
	return nil
}

// outgoing is a message that the transport gives back when it is written. It implements
// [mem.BufferPool], to which the transport does so.
type outgoing struct {
	body message
	size int64
	of   *rpc
}

// pooledSize returns the smallest capacity of a buffer that the transport gives back.
var pooledSize = sync.OnceValue(func() int {
	n := 1
	for mem.IsBelowBufferPoolingThreshold(n) {
		n++
	}
	return n
})

// outgoing returns a message to send, which counts as unwritten until the transport gives it
// back.
func (c *rpc) outgoing(m message) *outgoing {
	w := &outgoing{body: m, size: int64(len(m) + frameOverhead), of: c}
	if mem.IsBelowBufferPoolingThreshold(cap(m)) {
		w.body = append(make(message, 0, pooledSize()), m...)
	}
	c.unwritten.Add(w.size)
	c.conn.unwritten.Add(w.size)
	return w
}

// waits reports whether the sender of m has to wait until the client has read it. Until then m
// is in memory, as are the messages before it, even of calls that have ended.
func (c *rpc) waits(m message) bool {
	return len(m) > httpd.LargeAnswer || c.conn.unwritten.Load() > maxUnwritten
}

// written waits until all messages of the call are written. If that has not happened at the
// limit, it returns late.
func (c *rpc) written(limit <-chan time.Time, late error) error {
	for c.unwritten.Load() > 0 {
		select {
		case <-c.wrote:
		case <-c.ctx.Done():
			return context.Cause(c.ctx)
		case <-limit:
			c.conn.stuck()
			return late
		}
	}
	return nil
}

// Get implements [mem.BufferPool]. The transport takes no buffer from this pool.
func (*outgoing) Get(n int) *[]byte { b := make([]byte, n); return &b }

// Put implements [mem.BufferPool].
func (w *outgoing) Put(*[]byte) {
	w.of.conn.unwritten.Add(-w.size)
	if w.of.unwritten.Add(-w.size) > 0 {
		return
	}
	select {
	case w.of.wrote <- struct{}{}:
	default: // no sender waits
	}
}

// buffer returns the message as the transport takes it.
func (w *outgoing) buffer() mem.Buffer { return mem.NewBuffer((*[]byte)(&w.body), w) }

// send sends the only message of a call. If it has to wait until the client has read it,
// that must be at least as fast as Config.ReadRate.
func (c *rpc) send(m message) error {
	if err := c.ss.SendMsg(c.outgoing(m)); err != nil {
		return fmt.Errorf("send answer: %w", err)
	}
	if !c.waits(m) {
		return nil
	}
	return c.written(time.After(httpd.AnswerTime+time.Duration(float64(len(m))/float64(c.service.ReadRate)*float64(time.Second))), errSlow)
}
