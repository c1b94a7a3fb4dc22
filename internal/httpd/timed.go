package httpd

import (
	"net/http"
	"time"
)

// Timed is a response that measures the time to its beginning, without the time for which the
// request waits for its task ([Pause]). It is used by one goroutine at a time, as any response.
// [NewTimed] makes it.
type Timed struct {
	http.ResponseWriter
	route  string
	began  time.Time
	paused time.Time // zero: it is not
	waited time.Duration
	report func(route string, status int, took time.Duration) // nil: it has been called
}

// NewTimed returns w for a request that begins now. report is called once: with the beginning of
// the response, or by End.
func NewTimed(w http.ResponseWriter, report func(route string, status int, took time.Duration)) *Timed {
	return &Timed{ResponseWriter: w, began: time.Now(), report: report}
}

// Routed returns h for requests with a route: see [SetRoute].
func Routed(route string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		SetRoute(w, route)
		h.ServeHTTP(w, r)
	})
}

// SetRoute names the route of a request, if its response w is a [Timed], also inside other writers.
// The last name before the response begins counts. It must be of a closed set.
func SetRoute(w http.ResponseWriter, route string) {
	if t := timedOf(w); t != nil {
		t.route = route
	}
}

// Pause leaves the time until resume is called out of the measured time, if the response w is a
// [Timed], also inside other writers; resume may be called more than once. A response that begins during a pause has the time before it.
func Pause(w http.ResponseWriter) (resume func()) {
	t := timedOf(w)
	if t == nil {
		return func() {}
	}
	t.paused = time.Now()
	return func() {
		if !t.paused.IsZero() {
			t.waited += time.Since(t.paused)
			t.paused = time.Time{}
		}
	}
}

// timedOf returns the Timed that is w or inside it, or nil.
func timedOf(w http.ResponseWriter) *Timed {
	for {
		switch at := w.(type) {
		case *Timed:
			return at
		case interface{ Unwrap() http.ResponseWriter }:
			w = at.Unwrap()
		default:
			return nil
		}
	}
}

// Unwrap is for [http.ResponseController].
func (t *Timed) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// WriteHeader implements [http.ResponseWriter]. Informational responses begin nothing.
func (t *Timed) WriteHeader(status int) {
	if status >= http.StatusOK {
		t.begin(status)
	}
	t.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (t *Timed) Write(b []byte) (int, error) {
	t.begin(http.StatusOK)
	return t.ResponseWriter.Write(b)
}

// End reports a request whose handler has returned. The status of a response that has not begun is
// 0: its client was gone, or its handler has panicked.
func (t *Timed) End() { t.begin(0) }

func (t *Timed) begin(status int) {
	if report := t.report; report != nil {
		t.report = nil
		took := time.Since(t.began) - t.waited
		if !t.paused.IsZero() {
			took -= time.Since(t.paused)
		}
		report(t.route, status, took)
	}
}
