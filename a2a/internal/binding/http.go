package binding

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"a2a-server/a2a/internal/operation"
	v03 "a2a-server/a2a/internal/v03"
	"a2a-server/a2a/internal/wire"
	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
)

// HTTP runs operations for a binding over HTTP.
type HTTP struct{ Service *operation.Service }

// Admit is [operation.Service.Admit] for a request of HTTP, whose time is that of the operation.
func (h HTTP) Admit(c echo.Context, by auth.Principal, op *operation.Operation, active []string) error {
	httpd.SetRoute(c.Response(), op.Name)
	return h.Service.Admit(by, op, active)
}

// Envelope is the frame of a binding around a response or each event of a stream, and the media
// type of the response.
type Envelope struct {
	Head  []byte
	Tail  string
	Media string
	Fault func(*wire.Error) []byte // returns the last event of a stream that fails
	Late  bool                     // a Fault may also follow the status 200 of a single response
	Old   *operation.Legacy        // of a request in A2A 0.3; nil: it is in 1.0
	Form  v03.Form                 // likewise
}

// Serve runs an operation and writes the response, or returns the stream that it has begun. It
// returns an error only if nothing has been written, for the caller to answer with.
func (h HTTP) Serve(c echo.Context, by auth.Principal, op *operation.Operation, in operation.Input, e Envelope) (*Stream, error) {
	var renew engine.Renewal
	if op.Stream != nil || op.Action == auth.Create {
		renew = h.Service.Requests.Renews(c.Request())
	}
	if op.Stream != nil {
		return h.stream(c, by, op, renew, in, e)
	}
	return nil, h.reply(c, by, op, renew, in, e)
}

// reply runs an operation with one response, and writes it. Once a response that waits has begun,
// an error without a place in its body aborts the connection.
func (h HTTP) reply(c echo.Context, by auth.Principal, op *operation.Operation, renew engine.Renewal, in operation.Input, e Envelope) error {
	ctx := c.Request().Context()
	a := h.Service.Engine.ReserveRead(by)
	defer a.Release()
	request := operation.Request{By: by, Bytes: len(in.JSON), Answer: a, Renew: renew, HTTP: c.Request(), V03: e.Old != nil}
	w := wait{}
	if op.Action == auth.Create { // it may wait as long as its task runs
		during, end := context.WithCancelCause(ctx)
		defer end(nil)
		defer h.Service.Requests.Lease(during, by, renew, end, op.Action)()
		ctx = during
		request.Waits = func(id engine.ID) { w.begin(h.Service, c.Response(), e.Media, id, end) }
		defer w.end() // also after a panic
	}
	text, err := e.run(ctx, h.Service, op, request, in)
	a.Made()
	begun := w.end()
	ended := errors.Is(context.Cause(ctx), httpd.ErrEnded)
	switch {
	case begun && err == nil && !ended:
		return h.finish(c, append(text, e.Tail...))
	case begun:
		return h.finish(c, e.lateFault(ctx, h.Service, op, err))
	case ended && w.task != (engine.ID{}):
		return wire.Refused(h.Service.Requests.Ended()).Recorded(w.task.String())
	case ended:
		return h.Service.Requests.Ended()
	case err != nil:
		return err
	}
	if op.Private {
		h.Service.SetPrivate(c.Response().Header())
	}
	return h.Service.Requests.Answer(c.Response(), http.StatusOK, e.Media, append(text, e.Tail...))
}

// run runs an operation, and returns its response after the head of e.
func (e Envelope) run(ctx context.Context, s *operation.Service, op *operation.Operation, c operation.Request, in operation.Input) ([]byte, error) {
	if e.Old == nil {
		return op.Respond(s, ctx, c, in, e.Head)
	}
	text, err := op.Respond(s, ctx, c, in, nil)
	if err != nil {
		return nil, err
	}
	return e.Old.Write(e.Head, text, e.Form)
}
