package binding

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"a2a-server/a2a/internal/operation"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
)

// wait is the time from a durable message to its response. After a beat the response begins, with
// spaces, so that client and proxies keep the connection. The zero wait has not begun.
type wait struct {
	task   engine.ID
	spaces *httpd.Spaces
	resume func() // the measured time of the request
}

// begin begins the wait for a task. cancel ends the request if the client does not read.
func (w *wait) begin(s *operation.Service, response *echo.Response, media string, id engine.ID, cancel context.CancelCauseFunc) {
	w.task, w.resume = id, httpd.Pause(response)
	w.spaces = httpd.NewSpaces(response.Unwrap(), media, s.WriteTimeout, s.Beat, cancel)
}

// end ends the wait, and reports whether the response has begun. It may be called more than once.
func (w *wait) end() (begun bool) {
	if w.spaces == nil {
		return false
	}
	begun = w.spaces.End()
	w.resume()
	return begun
}

// finish writes the rest of a response that has begun. Without a rest, or if the client does not
// read it, the connection is aborted: a client must not take the response for complete.
func (h HTTP) finish(c echo.Context, rest []byte) error {
	c.Response().Committed, c.Response().Status = true, http.StatusOK
	if rest == nil || h.Service.Requests.Continue(c.Response().Unwrap(), rest) != nil { // echo's Flush may panic
		panic(http.ErrAbortHandler)
	}
	return nil
}

// lateFault returns the rest of a response that has begun and then failed with err, or whose
// credential has ended; nil: there is none. After a shutdown or the end of a credential the client
// repeats the message, and waits again.
func (e Envelope) lateFault(ctx context.Context, s *operation.Service, op *operation.Operation, err error) []byte {
	if ctx.Err() != nil || errors.Is(err, engine.ErrBusy) {
		return nil
	}
	fault := s.WireError(ctx, err, op.Name) // logs it
	if !e.Late {
		return nil
	}
	return e.Fault(fault)
}
