package httpd

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestHealthPhases(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	full := errors.New("the disk is full: it continues by itself")
	for name, c := range map[string]struct {
		phase          Phase
		store, trouble error
		want           string
	}{
		"starting": {Starting, nil, nil, "starting: 1 of 2\n"},
		"stuck":    {Starting, nil, full, "starting: 1 of 2: the disk is full: it continues by itself\n"},
		"serving":  {Serving, nil, nil, "ok\n"},
		"draining": {Draining, nil, full, "shutting down\n"},
		"damaged":  {Serving, broken, full, "the store accepts no more writes\n"},
		"full":     {Serving, nil, full, "the disk is full: it continues by itself\n"},
	} {
		h := Health{Store: func() error { return c.store }, Trouble: func() error { return c.trouble }, Progress: func() string { return "1 of 2" }}
		h.Enter(c.phase)
		if got := asked(h.ServeReady); got != c.want {
			t.Errorf("%s: ready says %q, want %q", name, got, c.want)
		}
		if got := asked(h.ServeLive); got != "ok\n" {
			t.Errorf("%s: live says %q", name, got)
		}
	}
}

// asked returns what a probe is answered.
func asked(serve http.HandlerFunc) string {
	w := httptest.NewRecorder()
	serve(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	return w.Body.String()
}
