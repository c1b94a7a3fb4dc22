package httpd

import (
	"net/http"
	"time"
)

// Timed is a response that measures the time to its beginning. It is used by one goroutine at a
// time, as any response. Make one with [NewTimed].
type Timed struct {
	http.ResponseWriter
	route  string
	began  time.Time
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

// SetRoute names what serves a request, if its response w is a [Timed], also inside other writers.
// The last name before the response begins counts. It must be of a closed set.
func SetRoute(w http.ResponseWriter, route string) {
	for {
		switch at := w.(type) {
		case *Timed:
			at.route = route
			return
		case interface{ Unwrap() http.ResponseWriter }:
			w = at.Unwrap()
		default:
			return
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
		report(t.route, status, time.Since(t.began))
	}
}
