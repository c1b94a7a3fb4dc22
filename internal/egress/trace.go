package egress

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// A Trace follows a request through a library that does not report how far it got.
type Trace struct {
	Sent   atomic.Bool  // part of the request may have reached the server
	Status atomic.Int32 // of the first response; 0: there is none
}

type traceKey struct{}

// ContextWithTrace returns a context whose request t follows.
func ContextWithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceOf returns the trace of a context; nil: it has none.
func TraceOf(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

// traced calls a transport, and notes in the trace of the request how far that got.
func traced(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	t := TraceOf(r.Context())
	if t == nil {
		return next.RoundTrip(r)
	}
	// Once there is a connection, it is unknown how much of the request was written.
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { t.Sent.Store(true) }})
	resp, err := next.RoundTrip(r.WithContext(ctx))
	if err == nil {
		t.Status.CompareAndSwap(0, int32(resp.StatusCode)) //nolint:gosec // three digits
	}
	return resp, err
}

// HeaderError says that the value of a header of Config.Header cannot be got.
type HeaderError struct {
	Name string
	Err  error
}

// Error names the header.
func (e *HeaderError) Error() string { return "header " + e.Name + ": " + e.Err.Error() }
