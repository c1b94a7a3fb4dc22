package metrics

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Path is where the metrics are.
const Path = "/metrics"

// WriteTimeout bounds the time of an answer.
const WriteTimeout = scrapeTime + 10*time.Second

// Handler serves the metrics at [Path], and answers all else with 404. With token, requests need
// that bearer token; it is read for each request, and an error is answered with 503.
func (m *Metrics) Handler(token func() (string, error)) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+Path, bearer(promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapes, Timeout: scrapeTime}), token))
	return mux
}

// bearer returns h for callers with the token; token may be nil.
func bearer(h http.Handler, token func() (string, error)) http.Handler {
	if token == nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		want, err := token()
		if err != nil || want == "" {
			http.Error(w, "admin.token cannot be read now: the log of the server says why", http.StatusServiceUnavailable)
			return
		}
		scheme, got, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want)) // of the same length
		if subtle.ConstantTimeCompare(a[:], b[:]) != 1 || !strings.EqualFold(scheme, "Bearer") {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "send the token of admin.token: Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}
