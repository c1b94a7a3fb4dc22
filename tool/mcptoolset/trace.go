package mcptoolset

import (
	"context"
	"sync/atomic"

	"a2a-server/tool"
)

// requestTrace follows a call through the SDK, which does not report how far a request got. The
// transports find it in the context of the request.
type requestTrace struct {
	sent     atomic.Bool   // part of the request may have reached the server
	status   atomic.Int32  // of the HTTP response, 0 without a response
	progress chan struct{} // capacity 1: latest has changed
	latest   atomic.Pointer[tool.Progress]
}

func newRequestTrace() *requestTrace { return &requestTrace{progress: make(chan struct{}, 1)} }

type traceKey struct{}

func contextWithTrace(ctx context.Context, f *requestTrace) context.Context {
	return context.WithValue(ctx, traceKey{}, f)
}

// traceOf returns nil for a request that is not a call of a tool.
func traceOf(ctx context.Context) *requestTrace {
	f, _ := ctx.Value(traceKey{}).(*requestTrace)
	return f
}

// report notes the progress of the call. It never waits; unread progress is replaced.
func (f *requestTrace) report(p tool.Progress) {
	f.latest.Store(&p)
	select {
	case f.progress <- struct{}{}:
	default:
	}
}

// flush publishes the newest progress, if it has not been.
func (f *requestTrace) flush(ctx context.Context) {
	if p := f.latest.Swap(nil); p != nil {
		tool.Report(ctx, *p)
	}
}
