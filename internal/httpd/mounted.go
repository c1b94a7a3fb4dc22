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

	serving sync.WaitGroup
	mu      sync.Mutex
	ctx     context.Context //nolint:containedctx // of all requests; nil: none is let in
}

// NewMounted returns a handler that lets no requests in yet. refuse writes the response to a
// request that is not let in.
func NewMounted(handler http.Handler, refuse func(http.ResponseWriter, *http.Request)) *Mounted {
	return &Mounted{handler: handler, refuse: refuse}
}

// Idle returns a channel that is closed when the last request has been answered. Call it after Close.
func (m *Mounted) Idle() <-chan struct{} {
	idle := make(chan struct{})
	go func() { // it lasts as long as the requests
		defer close(idle)
		m.serving.Wait()
	}()
	return idle
}

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
	m.ctx = nil
}

// ServeHTTP implements [http.Handler].
func (m *Mounted) ServeHTTP(w http.ResponseWriter, r *http.Request) { //nolint:contextcheck // a request ends by its own context or by all requests'
	m.mu.Lock()
	all := m.ctx
	if all != nil {
		m.serving.Add(1)
	}
	m.mu.Unlock()
	if all == nil {
		m.refuse(w, r)
		return
	}
	defer m.serving.Done()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(all, func() { cancel(context.Cause(all)) })() //nolint:contextcheck // likewise
	m.handler.ServeHTTP(w, r.WithContext(ctx))
}
