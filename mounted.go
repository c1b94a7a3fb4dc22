package a2aserver

import (
	"context"
	"net/http"
	"sync"

	"a2a-server/a2a"
)

// mounted is the handler of a [Server] in the caller's HTTP server. It ends its requests
// when the Server shuts down; nothing else would.
type mounted struct {
	handler  http.Handler
	protocol *a2a.Server // writes refusals

	mu      sync.Mutex
	ctx     context.Context //nolint:containedctx // of all requests; nil: the Server does not run
	serving int
	over    bool
	idle    chan struct{} // closed when over and nothing is served
}

// open lets requests in until ctx ends, which also ends them.
func (m *mounted) open(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ctx = ctx
}

// close lets no more requests in. idle is closed after the last request.
func (m *mounted) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.over {
		m.over = true
		m.end()
	}
}

// end must be called with the lock held.
func (m *mounted) end() {
	if m.over && m.serving == 0 {
		close(m.idle)
	}
}

// ServeHTTP implements [http.Handler].
func (m *mounted) ServeHTTP(w http.ResponseWriter, r *http.Request) { //nolint:contextcheck // a request ends by its own context or by all requests'
	m.mu.Lock()
	all, refused := m.ctx, m.ctx == nil || m.over
	if !refused {
		m.serving++
	}
	m.mu.Unlock()
	if refused {
		m.protocol.Refuse(w, r, http.StatusServiceUnavailable, "the server is not running: try again later")
		return
	}
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.serving--
		m.end()
	}()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(all, func() { cancel(context.Cause(all)) })() //nolint:contextcheck // likewise
	m.handler.ServeHTTP(w, r.WithContext(ctx))
}
