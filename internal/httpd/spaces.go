package httpd

import (
	"errors"
	"net/http"
	"time"
)

// Spaces begins an answer in JSON that is not known yet with spaces, so that clients and proxies
// keep its connection. Its methods are safe for concurrent use.
type Spaces struct {
	pulse
	contentType string
	begun       bool
}

// NewSpaces writes nothing for an interval. From then on the answer has the status 200, and
// a space after each interval. A write that takes longer than timeout fails; failed is called
// with the error. Until [Spaces.End] returns, only Spaces writes to w.
func NewSpaces(w http.ResponseWriter, contentType string, timeout, interval time.Duration, failed func(error)) *Spaces {
	s := &Spaces{pulse: pulse{w: w, timeout: timeout, interval: interval, failed: failed}, contentType: contentType}
	s.begin(s.space)
	return s
}

// space writes a space, after the header if that is due. s.mu must be held.
func (s *Spaces) space() {
	if !s.begun {
		s.begun = true
		h := s.w.Header()
		h.Set("Content-Type", s.contentType)
		h.Set("X-Accel-Buffering", "no")
		s.w.WriteHeader(http.StatusOK)
	}
	err := s.write([]byte(" "))
	if errors.Is(err, http.ErrNotSupported) {
		err = nil // a writer that cannot flush sends the spaces with the answer
	}
	_ = s.keep(err, "spaces") // failed is called
}

// End stops the spaces, and reports whether the answer has begun. If so, [Frontend.Continue]
// writes the rest.
func (s *Spaces) End() (begun bool) {
	s.end()
	return s.begun
}
