package web

import (
	"context"

	"a2a-server/auth"
	"a2a-server/internal/httpd"
)

// follow runs a stream of events, which ends with the caller's credential.
func (v *visit) follow(action auth.Action, run func(sender) error) {
	if err := v.By.May(action); err != nil {
		v.fail(v.problem(err, ""))
		return
	}
	give, err := v.cfg.Door.Streams.Take(v.By, 1)
	if err != nil {
		v.fail(v.problem(err, ""))
		return
	}
	defer give()
	ctx, end := context.WithCancelCause(v.r.Context())
	defer end(nil)
	defer v.cfg.Door.Requests.Lease(ctx, v.By, action, v.Renew, end)()
	v.r = v.r.WithContext(ctx)
	var out *httpd.Events
	err = run(func(id, name string, data any) error {
		if out == nil {
			secure(v.w, "")
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
