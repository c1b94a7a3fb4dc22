package httpd

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// pulse writes to a client that waits, and calls its beat while nothing else is written. Every
// write has a deadline. Call begin first, and end at the end.
type pulse struct {
	w        http.ResponseWriter
	timeout  time.Duration // of a write
	interval time.Duration // from a write to the next beat
	failed   func(error)   // gets the error of the first write that fails

	mu      sync.Mutex
	err     error // of the first write that failed, or [http.ErrHandlerTimeout] after end
	beat    *time.Timer
	bounded bool // a write has set its deadline
}

// begin has beat called, with p.mu held, an interval after each write, and after begin itself.
func (p *pulse) begin(beat func()) {
	p.beat = time.AfterFunc(time.Hour, func() {
		if !p.mu.TryLock() {
			return // another write is under way, and sets the next beat
		}
		defer p.mu.Unlock()
		if p.err == nil {
			beat()
		}
	})
	p.beat.Reset(p.interval) // p.beat is set before it fires
}

// write writes and flushes b. p.mu must be held.
func (p *pulse) write(b []byte) error {
	p.bounded = true
	control := http.NewResponseController(p.w)
	if err := control.SetWriteDeadline(time.Now().Add(p.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if len(b) > 0 {
		if _, err := p.w.Write(b); err != nil {
			return err
		}
	}
	return control.Flush()
}

// keep returns and remembers the error of a write of content; without an error, the next beat is
// an interval away. p.mu must be held.
func (p *pulse) keep(err error, content string) error {
	if err != nil {
		p.err = fmt.Errorf("write %s: %w", content, err)
		p.failed(p.err)
		return p.err
	}
	p.beat.Reset(p.interval)
	return nil
}

// end stops the beats. Nothing is written afterwards.
func (p *pulse) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = http.ErrHandlerTimeout
	p.beat.Stop()
	if p.bounded { // a write deadline that stays would end the connection's next answer
		_ = http.NewResponseController(p.w).SetWriteDeadline(time.Time{})
		p.bounded = false
	}
}
