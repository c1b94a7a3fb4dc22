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
	control   *http.ResponseController
	w         http.ResponseWriter
	timeout   time.Duration // of a write
	heartbeat time.Duration
	failed    func(error)

	mu   sync.Mutex
	err  error // of the first write that failed, or [http.ErrHandlerTimeout] after End
	beat *time.Timer
}

// NewEvents begins an answer with events. A write that takes longer than timeout fails; failed
// is called with the error of the first write that fails. While nothing is sent, a comment is
// written at each interval of heartbeat, so that proxies and clients know that the connection is
// alive. Call [Events.End] at the end.
func NewEvents(w http.ResponseWriter, timeout, heartbeat time.Duration, failed func(error)) *Events {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	e := &Events{control: http.NewResponseController(w), w: w, timeout: timeout, heartbeat: heartbeat, failed: failed}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.beat = time.AfterFunc(heartbeat, func() { _ = e.Comment("still here") }) // failed is called
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

// Send writes frames; without frames, only the header of the answer.
func (e *Events) Send(frames []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return e.err
	}
	if err := e.write(frames); err != nil {
		e.err = fmt.Errorf("write events: %w", err)
		e.failed(e.err)
		return e.err
	}
	e.beat.Reset(e.heartbeat)
	return nil
}

func (e *Events) write(frames []byte) error {
	if err := e.control.SetWriteDeadline(time.Now().Add(e.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if len(frames) > 0 {
		if _, err := e.w.Write(frames); err != nil {
			return err
		}
	}
	return e.control.Flush()
}

// End ends the answer. Nothing is written afterwards.
func (e *Events) End() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err = http.ErrHandlerTimeout
	e.beat.Stop()
	// A write deadline that stays would end the connection's next answer.
	_ = e.control.SetWriteDeadline(time.Time{})
}
