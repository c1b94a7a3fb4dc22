package web

import (
	"context"
	"encoding/json"

	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/internal/httpd"
)

// liveEvent is the data of an event: the change that a page follows.
type liveEvent struct {
	Seq      uint64 `json:"seq,omitempty"`      // of a task
	Approval string `json:"approval,omitempty"` // id
	What     string `json:"what,omitempty"`
}

// events sends the changes that a page follows, so that the page asks again for its content.
// An event has no content: each page checks again what its reader may see. The error is of a stream
// that has not begun.
func (v *visit) events() error {
	if id := v.query.Get("task"); id != "" {
		return v.cfg.Door.Stream(v.w, v.r, &v.Caller, func(ctx context.Context, send func([]byte) error) error {
			return v.cfg.Service.TaskChanges(ctx, v.requester, id, func(seq uint64) error { return send(sse("", "change", liveEvent{Seq: seq})) })
		}, auth.Follow)
	}
	return v.cfg.Door.Stream(v.w, v.r, &v.Caller, func(ctx context.Context, send func([]byte) error) error {
		return v.cfg.Service.Events(ctx, &v.Caller, v.r.Header.Get("Last-Event-ID"), func(all []client.Event) error {
			if len(all) == 0 {
				return send(sse("", "begin", liveEvent{})) // nothing was missed
			}
			var frames []byte
			for i := range all {
				switch e := &all[i]; {
				case e.Reset:
					frames = append(frames, sse(e.ID, "change", liveEvent{})...)
				case e.Entry.N == 0:
					frames = append(frames, sse(e.ID, "begin", liveEvent{})...)
				case e.Entry.Approval != "":
					frames = append(frames, sse(e.ID, "change", liveEvent{Approval: e.Entry.Approval, What: e.Entry.What})...)
				}
			}
			if frames == nil {
				return nil
			}
			return send(frames)
		})
	}, auth.Review)
}

// sse returns an event.
func sse(id, name string, data liveEvent) []byte {
	raw, _ := json.Marshal(data) //nolint:errchkjson // texts and a number
	return httpd.Frame(nil, id, name, raw)
}
