package a2a

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"a2a-server/task"
)

// stream writes server-sent events: each frame an id, a prefix, the bytes of the
// log, a suffix. Frames that are there together are written together.
type stream struct {
	w        http.ResponseWriter // the one below echo's: its Flush reports errors
	control  *http.ResponseController
	timeout  time.Duration
	beat     time.Duration
	prefix   []byte
	suffix   []byte
	tag      string
	buf      []byte
	started  bool
	response *echo.Response
}

func (s *Server) newStream(c echo.Context, id task.ID, prefix, suffix []byte) *stream {
	w := c.Response().Unwrap()
	return &stream{
		w: w, control: http.NewResponseController(w), timeout: s.cfg.WriteTimeout, beat: s.cfg.Heartbeat,
		prefix: prefix, suffix: suffix, tag: s.tag(id), response: c.Response(),
	}
}

// tag is 4 hex digits of a task and the store's incarnation, so that an id of
// another task, or of a file that was replaced, is not mistaken for ours.
func (s *Server) tag(id task.ID) string {
	n := binary.BigEndian.Uint64(id[8:]) ^ s.cfg.Incarnation
	return fmt.Sprintf("%04x", uint16(n^n>>16^n>>32^n>>48))
}

// lastEventID returns the seq that a client has seen last, when its Last-Event-ID
// is one of this task.
func (s *Server) lastEventID(r *http.Request, id task.ID) (uint64, bool) {
	text, tag, ok := strings.Cut(r.Header.Get("Last-Event-ID"), "-")
	if !ok || tag != s.tag(id) {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

// start sends the headers.
func (st *stream) start() {
	if st.started {
		return
	}
	st.started = true
	h := st.response.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	st.response.WriteHeader(http.StatusOK)
}

// frame adds an event. seq 0: without an id.
func (st *stream) frame(seq uint64, data []byte) {
	if seq > 0 {
		st.buf = append(st.buf, "id: "...)
		st.buf = strconv.AppendUint(st.buf, seq, 10)
		st.buf = append(st.buf, '-')
		st.buf = append(append(st.buf, st.tag...), '\n')
	}
	st.buf = append(st.buf, "data: "...)
	st.buf = append(append(append(st.buf, st.prefix...), data...), st.suffix...)
	st.buf = append(st.buf, "\n\n"...)
}

// flush writes what was added, within the time that one write may take.
func (st *stream) flush() error {
	st.start()
	if err := st.control.SetWriteDeadline(time.Now().Add(st.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("write stream: %w", err)
	}
	_, err := st.w.Write(st.buf)
	st.buf = st.buf[:0]
	if cap(st.buf) > 1<<20 {
		st.buf = nil
	}
	if err == nil {
		err = st.control.Flush()
	}
	if err != nil {
		return fmt.Errorf("write stream: %w", err)
	}
	return nil
}

// events writes a page.
func (st *stream) events(page []task.Event) error {
	for i := range page {
		st.frame(page[i].Seq, page[i].Data)
		if len(st.buf) > 256<<10 {
			if err := st.flush(); err != nil {
				return err
			}
		}
	}
	return st.flush()
}

// follow copies a task's events until its stream ends. A comment is sent when
// nothing else was for a while.
func (s *Server) follow(ctx context.Context, st *stream, run func(ctx context.Context, yield func([]task.Event) error) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	pages := make(chan []task.Event)
	written := make(chan error)
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, func(page []task.Event) error {
			select {
			case pages <- page:
				return <-written
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}()
	idle := time.NewTimer(st.beat)
	defer idle.Stop()
	for {
		select {
		case page := <-pages:
			err := st.events(page)
			written <- err
			if err != nil {
				cancel(err)
				return <-ended
			}
			idle.Reset(st.beat)
		case err := <-ended:
			return err
		case <-idle.C:
			st.buf = append(st.buf, ": still here\n\n"...)
			if err := st.flush(); err != nil {
				cancel(err)
				return <-ended
			}
			idle.Reset(st.beat)
		}
	}
}
