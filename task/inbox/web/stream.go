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
	ctx, end, stop, err := v.cfg.Door.Stream(v.r, &v.Caller, action)
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
		raw, err := json.Marshal(data)
		if err != nil {
			return err
		}
		return out.Send(httpd.Frame(nil, id, name, raw))
	})
	if out == nil {
		v.fail(v.problem(err, ""))
		return
	}
	out.End()
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
