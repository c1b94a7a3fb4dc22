package web

import (
	"context"

	"a2a-server/auth"
	"a2a-server/internal/httpd"
)

// follow runs a stream of events, which ends with the caller's credential. Its frame is on the
// stack while the stream waits, so that the rest is in functions.
func (v *visit) follow(action auth.Action, run func(context.Context, sender) error) {
	ctx, end, stop, err := v.beginStream(action)
	if err != nil {
		v.fail(v.problem(err, ""))
		return
	}
	defer stop()
	var out *httpd.Events
	err = run(ctx, func(id, name string, data any) error {
		if out == nil {
			out = httpd.NewEvents(v.w, v.cfg.Door.WriteTimeout, v.cfg.Door.Heartbeat, end)
		}
		return out.Send(httpd.Frame(nil, id, name, encode(data)))
	})
	if out == nil {
		v.fail(v.problem(err, ""))
		return
	}
	out.End()
}

// beginStream takes a share of the open streams, and watches the caller's credential. Call stop
// when the stream has ended.
func (v *visit) beginStream(action auth.Action) (ctx context.Context, end context.CancelCauseFunc, stop func(), err error) {
	if err := v.By.May(action); err != nil {
		return nil, nil, nil, err
	}
	give, err := v.cfg.Door.Streams.Take(v.By, 1)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, end = context.WithCancelCause(v.r.Context())
	leave := v.cfg.Door.Requests.Lease(ctx, v.By, v.Renew, end, action)
	return ctx, end, func() {
		leave()
		end(nil)
		give()
	}, nil
}
