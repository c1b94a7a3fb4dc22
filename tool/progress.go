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

// Report publishes the progress of a running call to the followers of its task, as a working
// status update without a message, with the metadata "urn:a2a-server:progress": callId, tool,
// done, total, message and job, the id of the job of a [Poller]. It never waits, and may be
// called as often as the tool likes: at most four reports a second are published, and after a
// minute at most one in a 240th of the time that the call has run; of reports that come
// faster, only the newest. A report still unpublished when the call ends is dropped.
//
// A message is cut to 1 KiB. Reports with NaN or an infinity are ignored, and so are all once
// they take a sixteenth of the bytes that a call may publish. Without a [Reporter] in ctx
// Report does nothing.
func Report(ctx context.Context, p Progress) {
	if r := callValues(ctx).Reporter; r != nil {
		r.Report(ctx, p)
	}
}
