package httpd

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
)

// A Phase is what a server does.
type Phase int32

// The phases of a server.
const (
	Starting Phase = iota
	Serving
	Draining
)

// Health answers probes. It is safe for concurrent use.
type Health struct {
	Store   func() error // returns why the store has ended for good; nil: it has not
	Trouble func() error // returns why the store cannot write now; nil: it can
	// Details returns lines for people who ask for /readyz?verbose; nil: none.
	Details func(ctx context.Context) []string

	phase atomic.Int32
}

// Enter begins a phase.
func (h *Health) Enter(p Phase) { h.phase.Store(int32(p)) }

// Serves reports whether the server is serving, also if the store is not well.
func (h *Health) Serves() bool { return Phase(h.phase.Load()) == Serving }

// ServeLive reports that the process answers.
func (h *Health) ServeLive(w http.ResponseWriter, r *http.Request) { probe(w, r, "") }

// ServeReady reports whether requests should be sent here.
func (h *Health) ServeReady(w http.ResponseWriter, r *http.Request) {
	probe(w, r, h.Unready())
	if r.Method != http.MethodGet || !r.URL.Query().Has("verbose") || h.Details == nil {
		return
	}
	for _, line := range h.Details(r.Context()) {
		_, _ = io.WriteString(w, line+"\n") // the client may be gone
	}
}

// Ready reports the same.
func (h *Health) Ready() bool { return h.Unready() == "" }

// Unready returns why requests should not be sent here; "": they should.
func (h *Health) Unready() string {
	switch phase := Phase(h.phase.Load()); {
	case phase == Starting:
		return "starting"
	case phase == Draining:
		return "shutting down"
	case h.Store() != nil:
		return "the store accepts no more writes"
	}
	if err := h.Trouble(); err != nil {
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
