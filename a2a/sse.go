package a2a

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	v03 "a2a-server/a2a/v03"
	"a2a-server/auth"
	"a2a-server/task/engine"
)

const (
	// largeAnswer is the size up to which an answer is written in one piece.
	largeAnswer = 64 << 10
	// frameBatch is the size up to which frames are written together.
	frameBatch = 256 << 10
	// frameOverhead is the most that a frame adds to its bytes: field names, the id and line
	// ends.
	frameOverhead = 48
	// keepBuffer is how large a stream's buffer may stay between writes.
	keepBuffer = 64 << 10
)

var noDeadline time.Time

func (s *Server) deadline() time.Time { return time.Now().Add(s.cfg.WriteTimeout) }

// stream writes server-sent events: each frame is an id, a prefix, the bytes of the log
// and a suffix. Frames of one page are written together. While there are no events, a
// timer writes comments, so that proxies and clients know that the connection is alive.
type stream struct {
	server   *Server
	ctx      context.Context //nolint:containedctx // of the request; canceled when a heartbeat cannot be written
	cancel   context.CancelCauseFunc
	response *echo.Response
	w        http.ResponseWriter // the one below echo's: its Flush reports errors
	control  *http.ResponseController
	around   envelope // of each event
	method   string   // for the log

	mu      sync.Mutex // guards the fields below, and writing
	tag     string
	buf     []byte
	beat    *time.Timer
	started bool
	ended   bool
}

func (s *Server) newStream(c echo.Context, method string, around envelope) *stream {
	w := c.Response().Unwrap()
	st := &stream{server: s, response: c.Response(), w: w, control: http.NewResponseController(w), around: around, method: method}
	st.ctx, st.cancel = context.WithCancelCause(c.Request().Context())
	return st
}

// stream answers with what run sends, unless too many streams are open. If it returns an
// error, nothing has been written, and the caller answers with it.
func (s *Server) stream(c echo.Context, by auth.Principal, op *operation, renew engine.Renewal, around envelope, run func(*stream) error) error {
	give, err := s.streams.take(by, 1)
	if err != nil {
		return err
	}
	defer give()
	st := s.newStream(c, op.name, around)
	defer s.lease(st.ctx, by, op.action, renew, st.cancel)()
	return st.end(run(st))
}

// tag returns 4 hex digits derived from a task and the store's incarnation, so that an
// event id of another task, or of a store that was replaced, is not accepted.
func (s *Server) tag(id engine.ID) string {
	n := binary.BigEndian.Uint64(id[8:]) ^ s.cfg.Incarnation
	return fmt.Sprintf("%04x", uint16(n^n>>16^n>>32^n>>48))
}

// lastEventID returns the last event that a client has seen, if its Last-Event-ID belongs
// to the task.
func (s *Server) lastEventID(r *http.Request) resume {
	return func(id engine.ID) (uint64, bool) {
		text, tag, ok := strings.Cut(r.Header.Get("Last-Event-ID"), "-")
		if !ok || tag != s.tag(id) {
			return 0, false
		}
		n, err := strconv.ParseUint(text, 10, 64)
		return n, err == nil
	}
}

// open is the [opener] of st.
func (st *stream) open(id engine.ID) sink {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.tag = st.server.tag(id)
	st.started = true
	h := st.response.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	st.response.WriteHeader(http.StatusOK)
	// end waits for a running heartbeat by taking the lock; a later one does nothing.
	st.beat = time.AfterFunc(st.server.cfg.Heartbeat, st.heartbeat)
	return st.events
}

// end closes the stream; nothing is written afterwards. If the stream was never opened it
// returns err, for the caller to answer with.
func (st *stream) end(err error) error {
	defer st.cancel(nil)
	st.mu.Lock()
	defer st.mu.Unlock()
	ended := errors.Is(context.Cause(st.ctx), errEnded)
	if !st.started {
		if ended {
			return st.server.ended()
		}
		return err
	}
	st.beat.Stop()
	shutdown := errors.Is(context.Cause(st.ctx), ErrShutdown) // however it was noticed
	switch {
	case st.ended:
	case shutdown || errors.Is(err, ErrShutdown) || errors.Is(err, engine.ErrBusy):
		st.comment("the server is shutting down; continue with Last-Event-ID")
		_ = st.flush() // best effort
	case ended:
		st.comment("the credential has ended; continue with a valid one and Last-Event-ID")
		_ = st.flush() // likewise
	case err != nil && st.ctx.Err() == nil:
		fault := st.around.fault(st.server.wire(st.ctx, err, st.method))
		st.buf = append(append(append(st.buf, "data: "...), fault...), "\n\n"...)
		_ = st.flush() // likewise
	}
	st.ended = true
	// A write deadline that stays would end the connection's next answer.
	_ = st.control.SetWriteDeadline(noDeadline)
	return nil
}

func (st *stream) heartbeat() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended {
		return
	}
	st.comment("still here")
	if err := st.flush(); err != nil {
		st.cancel(err)
		return
	}
	st.beat.Reset(st.server.cfg.Heartbeat)
}

// comment adds a comment line, which clients ignore.
func (st *stream) comment(text string) {
	st.buf = append(append(append(st.buf, ": "...), text...), "\n\n"...)
}

// frame adds an event. With seq 0 it has no id. With an error it has added nothing.
func (st *stream) frame(seq uint64, data []byte) (err error) {
	begin := len(st.buf)
	if seq > 0 {
		st.buf = append(st.buf, "id: "...)
		st.buf = strconv.AppendUint(st.buf, seq, 10)
		st.buf = append(st.buf, '-')
		st.buf = append(append(st.buf, st.tag...), '\n')
	}
	st.buf = append(st.buf, "data: "...)
	st.buf = append(st.buf, st.around.head...)
	if st.around.old == nil {
		st.buf = append(st.buf, data...)
	} else if st.buf, err = v03.AppendEvent(st.buf, data, st.around.form); err != nil {
		st.buf = st.buf[:begin]
		return err
	}
	st.buf = append(append(st.buf, st.around.tail...), "\n\n"...)
	return nil
}

// events is the [sink] of st.
func (st *stream) events(page []engine.Event) error {
	if err := context.Cause(st.ctx); errors.Is(err, errEnded) {
		return err // whoever reads may not have more
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	size := len(st.buf)
	for i := range page {
		size += len(page[i].Data) + len(st.around.head) + len(st.around.tail) + frameOverhead
	}
	if st.buf == nil {
		st.buf = make([]byte, 0, min(size, frameBatch))
	}
	for i := range page {
		if err := st.frame(page[i].Seq, page[i].Data); err != nil {
			return err
		}
		if len(st.buf) > frameBatch {
			if err := st.flush(); err != nil {
				return err
			}
		}
	}
	st.beat.Reset(st.server.cfg.Heartbeat)
	return st.flush()
}

// flush writes what was added, within WriteTimeout.
func (st *stream) flush() error {
	if err := st.control.SetWriteDeadline(st.server.deadline()); err != nil && !errors.Is(err, http.ErrNotSupported) {
		st.ended = true
		return fmt.Errorf("write stream: %w", err)
	}
	var err error
	if len(st.buf) > 0 { // otherwise only the header
		_, err = st.w.Write(st.buf)
	}
	st.buf = st.buf[:0]
	if cap(st.buf) > keepBuffer {
		st.buf = nil
	}
	if err == nil {
		err = st.control.Flush()
	}
	if err != nil {
		st.ended = true
		return fmt.Errorf("write stream: %w", err)
	}
	return nil
}
