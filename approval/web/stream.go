package web

import (
	"context"
	"encoding/json"

	"a2a-server/auth"
	"a2a-server/client"
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

// events sends the changes that a page follows, so that the page asks again for its content.
// An event has no content: each page checks again what its reader may see.
func (v *visit) events() {
	q := v.r.URL.Query()
	if id := q.Get("task"); id != "" {
		v.follow(auth.Follow, func(ctx context.Context, send sender) error {
			return v.cfg.Service.TaskChanges(ctx, v.requester, id, func(seq uint64) error { return send("", "change", map[string]any{"seq": seq}) })
		})
		return
	}
	v.follow(auth.Review, func(ctx context.Context, send sender) error {
		return v.cfg.Service.Events(ctx, &v.Caller, v.r.Header.Get("Last-Event-ID"), func(all []client.Event) error {
			if len(all) == 0 {
				return send("", "begin", map[string]any{}) // nothing was missed
			}
			for i := range all {
				e := &all[i]
				name, data := "begin", map[string]any{}
				switch {
				case e.Reset:
					name = "change"
				case e.Entry.N != 0 && e.Entry.Approval == "":
					continue
				case e.Entry.N != 0:
					name, data = "change", map[string]any{"approval": e.Entry.Approval, "what": e.Entry.What}
				}
				if err := send(e.ID, name, data); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

type sender func(id, name string, data any) error

func encode(data any) []byte {
	raw, err := json.Marshal(data)
	if err != nil {
		return []byte("{}")
	}
	return raw
}
