package a2a

import (
	"context"
	"errors"

	"github.com/labstack/echo/v4"

	v03 "a2a-server/a2a/v03"
	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
)

// httpBinding runs operations for a binding over HTTP.
type httpBinding struct{ service *service }

// envelope is the frame of a binding around an answer or each event of a stream, and the media
// type of the answer.
type envelope struct {
	head  []byte
	tail  string
	media string
	fault func(*wireError) []byte // returns the last event of a stream that fails
	old   *legacy                 // of a request in A2A 0.3; nil: it is in 1.0
	form  v03.Form                // likewise
}

// serve runs an operation and writes the answer, or returns the stream that it has begun. It
// returns an error only if nothing has been written, for the caller to answer with.
func (h httpBinding) serve(c echo.Context, by auth.Principal, op *operation, in input, e envelope) (*stream, error) {
	var renew engine.Renewal
	if op.stream != nil || op.action == auth.Create {
		renew = h.service.requests.Renews(c.Request())
	}
	if op.stream != nil {
		return h.stream(c, by, op, renew, in, e)
	}
	return nil, h.reply(c, by, op, renew, in, e)
}

// reply runs an operation with one answer, and writes it.
func (h httpBinding) reply(c echo.Context, by auth.Principal, op *operation, renew engine.Renewal, in input, e envelope) error {
	ctx := c.Request().Context()
	if renew != nil { // it may wait as long as its task runs
		during, end := context.WithCancelCause(ctx)
		defer end(nil)
		defer h.service.requests.Lease(during, by, renew, end, op.action)()
		ctx = during
	}
	a := h.service.cfg.Engine.Answer(by)
	defer a.Release()
	text, err := e.response(h.service, ctx, op, operationRequest{by: by, bytes: len(in.json), answer: a, renew: renew, request: c.Request(), v03: e.old != nil}, in)
	a.Made()
	if errors.Is(context.Cause(ctx), httpd.ErrEnded) {
		return h.service.requests.Ended()
	}
	if err != nil {
		return err
	}
	if op.private {
		h.service.private(c.Response().Header())
	}
	return h.service.requests.Answer(c.Response(), e.media, append(text, e.tail...))
}

// response runs an operation, and returns its response after the head of e.
func (e envelope) response(s *service, ctx context.Context, op *operation, c operationRequest, in input) ([]byte, error) { //nolint:revive // the parameters of every answer function, after the server
	if e.old == nil {
		return op.answer(s, ctx, c, in, e.head)
	}
	text, err := op.answer(s, ctx, c, in, nil)
	if err != nil {
		return nil, err
	}
	return e.old.write(e.head, text, e.form)
}
