package httpd

import (
	"context"
	"net/http"
	"sync"
)

// Mounted is the handler of a server inside another HTTP server. It ends its requests when
// the server shuts down; nothing else would. [NewMounted] makes it.
type Mounted struct {
	handler http.Handler
	refuse  func(http.ResponseWriter, *http.Request)

	mu      sync.Mutex
	ctx     context.Context //nolint:containedctx // of all requests; nil: the server does not run
	serving int
	over    bool
	idle    chan struct{} // closed when over and nothing is served
}

// NewMounted returns a handler that lets no requests in yet. refuse writes the response to a
// request that is not let in.
func NewMounted(handler http.Handler, refuse func(http.ResponseWriter, *http.Request)) *Mounted {
	return &Mounted{handler: handler, refuse: refuse, idle: make(chan struct{})}
}

// Idle is closed when no request is let in any more and the last has been answered.
func (m *Mounted) Idle() <-chan struct{} { return m.idle }

// Open lets requests in until ctx ends, which also ends them.
func (m *Mounted) Open(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ctx = ctx
}

// Close lets no more requests in.
func (m *Mounted) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.over {
		m.over = true
		m.end()
	}
}

// end must be called with the lock held.
func (m *Mounted) end() {
	if m.over && m.serving == 0 {
		close(m.idle)
	}
}

// ServeHTTP implements [http.Handler].
func (m *Mounted) ServeHTTP(w http.ResponseWriter, r *http.Request) { //nolint:contextcheck // a request ends by its own context or by all requests'
	m.mu.Lock()
	all, refused := m.ctx, m.ctx == nil || m.over
	if !refused {
		m.serving++
	}
	m.mu.Unlock()
	if refused {
		m.refuse(w, r)
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
