package mcptoolset

import (
	"context"
	"sync/atomic"

	"a2a-server/tool"
)

// flight follows one call through the SDK, which does not report how far a request got. The
// transports find it in the context of the request.
type flight struct {
	sent     atomic.Bool   // part of the request may have reached the server
	status   atomic.Int32  // of the HTTP response, 0 without one
	progress chan struct{} // capacity 1: latest has changed
	latest   atomic.Pointer[tool.Progress]
}

func newFlight() *flight { return &flight{progress: make(chan struct{}, 1)} }

type flightKey struct{}

func contextWithFlight(ctx context.Context, f *flight) context.Context {
	return context.WithValue(ctx, flightKey{}, f)
}

// flightOf returns nil for a request that is not a call of a tool.
func flightOf(ctx context.Context) *flight {
	f, _ := ctx.Value(flightKey{}).(*flight)
	return f
}

// report notes the progress of the call. It never waits; unread progress is replaced.
func (f *flight) report(p tool.Progress) {
	f.latest.Store(&p)
	select {
	case f.progress <- struct{}{}:
	default:
	}
}

// flush publishes the newest progress, if it has not been.
func (f *flight) flush(ctx context.Context) {
	if p := f.latest.Swap(nil); p != nil {
		tool.Report(ctx, *p)
	}
}
