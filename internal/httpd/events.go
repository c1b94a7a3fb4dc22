package httpd

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Events writes server-sent events to a client. Its methods are safe for concurrent use.
type Events struct{ pulse }

// NewEvents begins an answer with events. A write that takes longer than timeout fails; failed
// is called with the error of the first write that fails. While nothing is sent, a comment is
// written at each interval of heartbeat, so that proxies and clients know that the connection is
// alive. Call [Events.End] at the end.
func NewEvents(w http.ResponseWriter, timeout, heartbeat time.Duration, failed func(error)) *Events {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	e := &Events{pulse{w: w, timeout: timeout, interval: heartbeat, failed: failed}}
	e.begin(func() { _ = e.keep(e.write([]byte(": still here\n\n")), "events") }) // failed is called
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
	return e.keep(e.write(frames), "events")
}

// End ends the answer. Nothing is written afterwards.
func (e *Events) End() { e.end() }
