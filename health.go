package a2aserver

import (
	"io"
	"net/http"
	"sync/atomic"
)

// The phases of a Server.
const (
	starting int32 = iota
	serving
	draining
)

// health answers probes. It is safe for concurrent use.
type health struct {
	phase   atomic.Int32
	store   func() error // why the store has ended for good; nil: it has not
	trouble func() error // why the store cannot write now; nil: it can
}

// serveLive reports that the process answers.
func (h *health) serveLive(w http.ResponseWriter, r *http.Request) { probe(w, r, "") }

// serveReady reports whether requests should be sent here.
func (h *health) serveReady(w http.ResponseWriter, r *http.Request) { probe(w, r, h.unready()) }

// ready reports the same.
func (h *health) ready() bool { return h.unready() == "" }

// unready returns why requests should not be sent here; "": they should.
func (h *health) unready() string {
	switch phase := h.phase.Load(); {
	case phase == starting:
		return "starting"
	case phase == draining:
		return "shutting down"
	case h.store() != nil:
		return "the store accepts no more writes"
	}
	if err := h.trouble(); err != nil {
		return err.Error()
	}
	return ""
}

// probe answers "ok", or the reason that is given in not.
func probe(w http.ResponseWriter, r *http.Request, not string) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	status, text := http.StatusOK, "ok\n"
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		status, text = http.StatusMethodNotAllowed, "use GET or HEAD\n"
	case not != "":
		status, text = http.StatusServiceUnavailable, not+"\n"
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client may be gone
}
