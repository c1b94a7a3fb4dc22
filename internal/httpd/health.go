package httpd

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
)

// A Phase is the state of a server.
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

	// Details returns the rest of a verbose answer.
	Details func(context.Context) []Detail

	// Progress returns how far a start is; "": nothing is known of that.
	Progress func() string

	// Proxied says that requests of other machines come from this one, so that only
	// [Health.ServeDetails] has the details.
	Proxied bool

	phase  atomic.Int32
	served atomic.Bool // the phase Serving has begun
}

// Detail is a line of a verbose answer.
type Detail struct{ Name, Text string }

// Enter begins a phase.
func (h *Health) Enter(p Phase) {
	h.phase.Store(int32(p))
	if p == Serving {
		h.served.Store(true)
	}
}

// Refusal returns why all requests but probes are refused; "": they are not. A server that shuts
// down before it has served refuses them, too: what it would show is not up to date.
func (h *Health) Refusal() string {
	if h.served.Load() {
		return ""
	}
	return "the server is not running, " + h.Unready() + ": try again when it is ready"
}

// Serves reports whether the server is serving, also if the store is not well.
func (h *Health) Serves() bool { return Phase(h.phase.Load()) == Serving }

// Draining reports whether the server is shutting down.
func (h *Health) Draining() bool { return Phase(h.phase.Load()) == Draining }

// ServeLive reports that the process answers.
func (h *Health) ServeLive(w http.ResponseWriter, r *http.Request) { probe(w, r, "") }

// ServeReady reports whether requests should be sent here. To this machine, and not to clients of
// a proxy on it, the parameter verbose adds the details.
func (h *Health) ServeReady(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("verbose") && !h.Proxied && fromHere(r) {
		h.ServeDetails(w, r)
		return
	}
	probe(w, r, h.Unready())
}

// ServeDetails is [Health.ServeReady] with the details.
func (h *Health) ServeDetails(w http.ResponseWriter, r *http.Request) {
	var more strings.Builder
	if Phase(h.phase.Load()) == Serving {
		for _, d := range h.Details(r.Context()) {
			more.WriteString(d.Name + ": " + d.Text + "\n")
		}
	}
	probe(w, r, h.Unready(), more.String())
}

// fromHere reports whether a request comes from this machine and names no client of a proxy.
func fromHere(r *http.Request) bool {
	for _, name := range []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip"} {
		if len(r.Header[name]) > 0 {
			return false
		}
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	to, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return err == nil && (from.Addr().Unmap().IsLoopback() || to != nil && to.AddrPort().Addr().Unmap() == from.Addr().Unmap())
}

// Ready reports the same.
func (h *Health) Ready() bool { return h.Unready() == "" }

// Unready returns why requests should not be sent here; "": they should.
func (h *Health) Unready() string {
	switch Phase(h.phase.Load()) {
	case Draining:
		return "shutting down"
	case Serving:
		return h.fault()
	case Starting:
	}
	reasons := []string{"starting", h.Progress(), h.fault()}
	return strings.Join(slices.DeleteFunc(reasons, func(s string) bool { return s == "" }), ": ")
}

// fault returns why the store does not write; "": it does.
func (h *Health) fault() string {
	if h.Store() != nil {
		return "the store accepts no more writes"
	}
	if err := h.Trouble(); err != nil {
		return err.Error()
	}
	return ""
}

// probe answers "ok", or the reason that is given in not, and then with more lines.
func probe(w http.ResponseWriter, r *http.Request, not string, more ...string) {
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
	_, _ = io.WriteString(w, text+strings.Join(more, "")) // the client may be gone
}
