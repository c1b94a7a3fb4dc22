package tool

import "context"

// Progress says how far a running call is.
type Progress struct {
	Done    float64 // in the tool's own unit
	Total   float64 // in the same unit; 0: unknown
	Message string  // for people; may be empty
}

// A Reporter publishes the progress of a running call.
type Reporter interface {
	Report(ctx context.Context, p Progress)
}

type reporterKey struct{}

// ContextWithReporter returns a context in which [Report] calls r.
func ContextWithReporter(ctx context.Context, r Reporter) context.Context {
	return context.WithValue(ctx, reporterKey{}, r)
}

// Report publishes the progress of a running call to those who follow its task, as a
// working status update with metadata and no message. It does not wait for the disk. At
// most four reports a second are published; of those that come faster, only the newest.
// Without a [Reporter] in ctx it does nothing.
func Report(ctx context.Context, p Progress) {
	if r, ok := ctx.Value(reporterKey{}).(Reporter); ok && r != nil {
		r.Report(ctx, p)
	}
}
