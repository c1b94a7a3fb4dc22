package httpd_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"a2a-server/internal/httpd"
)

// wrapped is the response of a library around another one.
type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A request is reported once, when its response begins, with the route that was set by then.
func TestTimed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"status": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, "[part 404]"},
		"body":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hi") }, "[part 200]"},
		"early hints": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusOK)
		}, "[part 200]"},
		"nothing": {func(http.ResponseWriter, *http.Request) {}, "[part 0]"},
		"operation": {func(w http.ResponseWriter, _ *http.Request) {
			httpd.SetRoute(wrapped{w}, "GetTask")
			w.WriteHeader(http.StatusOK)
		}, "[GetTask 200]"},
		"too late": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			httpd.SetRoute(w, "GetTask")
		}, "[part 200]"},
		"flushed stream": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
		}, "[part 200]"},
		"panic": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "[part 0]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			func() {
				timed := httpd.NewTimed(httptest.NewRecorder(), func(route string, status int, took time.Duration) {
					got = append(got, fmt.Sprint(route, " ", status))
					if took < 0 {
						t.Errorf("it took %v", took)
					}
				})
				defer func() { _ = recover() }()
				defer timed.End()
				httpd.Routed("part", c.serve).ServeHTTP(timed, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
			}()
			if fmt.Sprint(got) != c.want {
				t.Errorf("reported %v, want %s", got, c.want)
			}
		})
	}
	httpd.SetRoute(wrapped{httptest.NewRecorder()}, "none is timed")
}

// A pause is not in the measured time, whether the response begins in it or after it.
func TestPause(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(w http.ResponseWriter, resume func()){
		"begins during the pause": func(w http.ResponseWriter, resume func()) { w.WriteHeader(http.StatusOK); resume() },
		"begins after the pause":  func(w http.ResponseWriter, resume func()) { resume(); resume(); w.WriteHeader(http.StatusOK) },
		"never begins":            func(http.ResponseWriter, func()) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var got time.Duration
				timed := httpd.NewTimed(httptest.NewRecorder(), func(_ string, _ int, took time.Duration) { got = took })
				time.Sleep(time.Second)
				resume := httpd.Pause(wrapped{timed})
				time.Sleep(time.Minute)
				serve(timed, resume)
				timed.End()
				if got != time.Second {
					t.Errorf("it took %v, want the second before the pause", got)
				}
			})
		})
	}
	httpd.Pause(httptest.NewRecorder())() // nothing is measured
}
