package mcptoolset

import (
	"context"
	"sync/atomic"

	"a2a-server/internal/egress"
	"a2a-server/tool"
)

// requestTrace follows a call through the SDK. The transports find its first part in the context of
// the request.
type requestTrace struct {
	egress.Trace

	progress chan struct{} // capacity 1: latest has changed
	latest   atomic.Pointer[tool.Progress]
}

func newRequestTrace() *requestTrace { return &requestTrace{progress: make(chan struct{}, 1)} }

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
