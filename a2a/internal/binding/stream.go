package binding

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"a2a-server/a2a/internal/operation"
	v03 "a2a-server/a2a/internal/v03"
	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
)

const (
	// frameBatch is the size up to which frames are written together.
	frameBatch = 256 << 10
	// frameOverhead is the most that a frame adds to its bytes: field names, the id and line
	// ends.
	frameOverhead = 48
	// keepBuffer is how large a buffer may be to be used again.
	keepBuffer = 64 << 10
)

// buffers are for the frames of streams. A stream has a buffer only while it writes, because
// most streams wait nearly all the time.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Stream writes server-sent events: each frame is an id, a prefix, the bytes of the log and a
// suffix. Frames of the same page are written together.
type Stream struct {
	service  *operation.Service
	ctx      context.Context //nolint:containedctx // of the request; canceled when a write fails
	cancel   context.CancelCauseFunc
	response *echo.Response
	around   Envelope      // of each event
	method   string        // for the log
	out      *httpd.Events // nil until the stream is open
	tag      string

	rest  *engine.Subscription // the events after its beginning
	leave func()               // its credential is no longer watched
	give  func()               // its share of the open streams
}

func (h HTTP) newStream(c echo.Context, method string, around Envelope) *Stream {
	around.Head = bytes.Clone(around.Head) // it has room for a response
	st := &Stream{service: h.Service, response: c.Response(), around: around, method: method}
	st.ctx, st.cancel = context.WithCancelCause(c.Request().Context())
	return st
}

// stream begins to answer with a stream, unless too many are open, and returns it if it
// continues: the caller follows it. If it returns an error, nothing has been written, and
// the caller answers with it.
func (h HTTP) stream(c echo.Context, by auth.Principal, op *operation.Operation, renew engine.Renewal, in operation.Input, around Envelope) (_ *Stream, err error) {
	give, err := h.Service.Streams.Take(by, 1)
	if err != nil {
		return nil, err
	}
	st := h.newStream(c, op.Name, around)
	st.give, st.leave = give, func() {}
	defer func() {
		if st.rest == nil { // also after a panic
			st.close()
		}
	}()
	st.leave = h.Service.Requests.Lease(st.ctx, by, renew, st.cancel, op.Action)
	st.rest, err = op.Stream(h.Service, st.ctx, operation.Request{By: by, Bytes: len(in.JSON), Renew: renew, From: h.Service.LastEventID(c.Request()), V03: around.Old != nil}, in, st.open)
	if st.rest == nil {
		return nil, st.end(err)
	}
	if r := c.Request(); r.Method == http.MethodGet && r.ProtoMajor == 1 && r.ContentLength != 0 {
		st.discard(r.Body)
	}
	return st, nil
}

// StreamOne answers with a stream of a single event, which has no id.
func (h HTTP) StreamOne(c echo.Context, event []byte) error {
	st := h.newStream(c, "", Envelope{})
	return st.end(st.open(engine.ID{})([]engine.Event{{Data: event}}))
}

// discard reads an unused body until the stream ends: net/http notices that a client has left
// only while the body is read, or after it. If a client sends more than httpd.MaxSkipped, the
// next heartbeat notices that it has left.
func (st *Stream) discard(body io.Reader) {
	control := http.NewResponseController(st.response.Unwrap())
	if control.SetReadDeadline(time.Time{}) != nil {
		return // the connection is gone, as the next write will find
	}
	done, leave := make(chan struct{}), st.leave
	go func() {
		defer close(done)
		_, _ = io.CopyN(io.Discard, body, httpd.MaxSkipped)
	}()
	st.leave = func() {
		leave()
		_ = control.SetReadDeadline(time.Unix(1, 0)) // net/http waits for the read
		<-done
	}
}

// Follows returns the handler of requests that begin may answer with a stream. The handler
// follows the stream itself, once begin has returned: a stream waits nearly all the time, and
// the stack of its request is free meanwhile. So 8 KiB of stack are enough, instead of 32.
func Follows(begin func(echo.Context) (*Stream, error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		st, err := begin(c)
		if st != nil {
			st.follow()
		}
		return err
	}
}

// follow writes the events after the beginning, until the stream ends.
func (st *Stream) follow() {
	defer st.close()
	_ = st.end(st.rest.Follow(st.ctx, st.events)) // it has been opened, so the client knows of any error
}

// close releases the credential watch and the stream's share of the open streams.
func (st *Stream) close() {
	st.leave()
	st.give()
}

// open is the [operation.Opener] of st.
func (st *Stream) open(id engine.ID) operation.Sink {
	st.tag = st.service.EventTag(id)
	// The writer below echo's: its Flush reports errors.
	st.out = httpd.NewEvents(st.response.Unwrap(), st.service.WriteTimeout, st.service.Beat, st.cancel)
	st.response.Committed, st.response.Status = true, http.StatusOK
	return st.events
}

// end closes the stream; nothing is written afterwards. If the stream was never opened it
// returns err, for the caller to answer with.
func (st *Stream) end(err error) error {
	defer st.cancel(nil)
	ended := errors.Is(context.Cause(st.ctx), httpd.ErrEnded)
	switch shutdown := errors.Is(context.Cause(st.ctx), httpd.ErrStopping); { // however it was noticed
	case st.out == nil && ended:
		return st.service.Requests.Ended()
	case st.out == nil:
		return err
	case shutdown || errors.Is(err, httpd.ErrStopping) || errors.Is(err, engine.ErrBusy):
		_ = st.out.Comment("the server is shutting down; continue with Last-Event-ID") // best effort
	case ended:
		_ = st.out.Comment("the credential has ended; continue with a valid one and Last-Event-ID") // likewise
	case err != nil && st.ctx.Err() == nil:
		fault := st.around.Fault(st.service.WireError(st.ctx, err, st.method))
		_ = st.out.Send(slices.Concat([]byte("data: "), fault, []byte("\n\n"))) // likewise
	}
	st.out.End()
	return nil
}

// frame appends an event to b. With seq 0 it has no id. With an error it has added nothing.
func (st *Stream) frame(b []byte, seq uint64, data []byte) (_ []byte, err error) {
	begin := len(b)
	if seq > 0 {
		b = append(b, "id: "...)
		b = strconv.AppendUint(b, seq, 10)
		b = append(b, '-')
		b = append(append(b, st.tag...), '\n')
	}
	b = append(b, "data: "...)
	b = append(b, st.around.Head...)
	if st.around.Old == nil {
		b = append(b, data...)
	} else if b, err = v03.AppendEvent(b, data, st.around.Form); err != nil {
		return b[:begin], err
	}
	return append(append(b, st.around.Tail...), "\n\n"...), nil
}

// events is the [operation.Sink] of st.
func (st *Stream) events(page []engine.Event) error {
	if err := context.Cause(st.ctx); errors.Is(err, httpd.ErrEnded) {
		return err // the credential has ended
	}
	size := 0
	for i := range page {
		size += len(page[i].Data) + len(st.around.Head) + len(st.around.Tail) + frameOverhead
	}
	kept := buffers.Get().(*[]byte) //nolint:forcetypeassert,errcheck // of New
	b := slices.Grow(*kept, min(size, frameBatch))
	for i := range page {
		var err error
		if b, err = st.frame(b, page[i].Seq, page[i].Data); err != nil {
			_ = st.out.Send(b) // the events before it
			return err
		}
		if len(b) > frameBatch {
			if err := st.out.Send(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	if err := st.out.Send(b); err != nil {
		return err // net/http may still read b, in HTTP/2
	}
	if cap(b) <= keepBuffer {
		*kept = b[:0]
		buffers.Put(kept)
	}
	return nil
}
