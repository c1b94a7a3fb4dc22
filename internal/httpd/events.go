package httpd

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Events writes server-sent events to a client. Its methods are safe for concurrent use.
type Events struct {
	control *http.ResponseController
	w       http.ResponseWriter
	timeout time.Duration // of a write

	mu   sync.Mutex
	err  error // of the first write that failed
	over bool
	beat *time.Timer
}

// NewEvents begins an answer with events. A write that takes longer than timeout fails; while
// nothing is sent, a comment is written at each interval of heartbeat, and failed is called if
// that fails. Call [Events.End] at the end.
func NewEvents(w http.ResponseWriter, timeout, heartbeat time.Duration, failed func(error)) *Events {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	e := &Events{control: http.NewResponseController(w), w: w, timeout: timeout}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.beat = time.AfterFunc(heartbeat, func() {
		if err := e.Comment("still here"); err != nil {
			failed(err)
			return
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if !e.over {
			e.beat.Reset(heartbeat)
		}
	})
	return e
}

// Frame appends an event to b. An empty id or name is left out; data may have several lines.
func Frame(b []byte, id, name string, data []byte) []byte {
	if id != "" {
		b = fmt.Appendf(b, "id: %s\n", id)
	}
	if name != "" {
		b = fmt.Appendf(b, "event: %s\n", name)
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		b = append(append(append(b, "data: "...), strings.TrimSuffix(line, "\r")...), '\n')
	}
	return append(b, '\n')
}

// Comment writes a comment, which clients ignore.
func (e *Events) Comment(text string) error { return e.Send([]byte(": " + text + "\n\n")) }

// Send writes frames.
func (e *Events) Send(frames []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over || e.err != nil {
		return errors.Join(e.err, http.ErrHandlerTimeout)
	}
	if err := e.control.SetWriteDeadline(time.Now().Add(e.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		e.err = err
		return fmt.Errorf("write events: %w", err)
	}
	_, err := e.w.Write(frames)
	if err == nil {
		err = e.control.Flush()
	}
	if err != nil {
		e.err = err
		return fmt.Errorf("write events: %w", err)
	}
	return nil
}

// End ends the answer. Nothing is written afterwards.
func (e *Events) End() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	e.beat.Stop()
	// A write deadline that stays would end the connection's next answer.
	_ = e.control.SetWriteDeadline(time.Time{})
}
