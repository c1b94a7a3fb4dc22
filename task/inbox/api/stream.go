package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
)

// follow answers with the feed. Each event has the id of its position; the first event is
// named "reset" if the stream cannot continue at the requested position.
func (x *exchange) follow() error {
	return x.door.Stream(x.w, x.r, &x.Caller, func(ctx context.Context, send func(frames []byte) error) error {
		return x.Events(ctx, &x.Caller, x.r.Header.Get("Last-Event-ID"), func(events []client.Event) error {
			var frames []byte
			for i := range events {
				e := &events[i]
				switch {
				case e.Reset:
					frames = httpd.Frame(frames, e.ID, "reset", []byte("{}"))
				case e.Entry.N == 0:
					frames = httpd.Frame(frames, e.ID, "begin", []byte("{}"))
				default:
					data, err := json.Marshal(&e.Entry)
					if err != nil {
						return err
					}
					frames = httpd.Frame(frames, e.ID, "", data)
				}
			}
			return send(frames)
		})
	}, auth.Read, auth.Review, auth.Admin)
}

// followTask answers with the events of a task, as A2A StreamResponses.
func (x *exchange) followTask() error {
	id := x.r.PathValue("id")
	after := uint64(0)
	if n, of, found := strings.Cut(x.r.Header.Get("Last-Event-ID"), "-"); found && of == x.eventTag() {
		after, _ = strconv.ParseUint(n, 10, 64) // 0, the beginning, for anything else
	}
	return x.door.Stream(x.w, x.r, &x.Caller, func(ctx context.Context, send func(frames []byte) error) error {
		return x.taskEvents(ctx, x.Caller, id, after, func(events []engine.Event) error {
			var frames []byte
			for i := range events {
				frames = httpd.Frame(frames, strconv.FormatUint(events[i].Seq, 10)+"-"+x.eventTag(), "", events[i].Data)
			}
			return send(frames)
		})
	}, auth.Follow)
}

func (x *exchange) eventTag() string { return strconv.FormatUint(x.cfg.Incarnation, 16) }

// Stream answers a request with the events that run sends until it returns. It takes a share of the open
// streams, and watches the caller's credential for the actions that it allows, whose end ends ctx. A
// caller without any is refused. The error is of a stream that has not begun. Its frame is on the stack
// while the stream waits, so that the rest is in functions.
func (d *Door) Stream(w http.ResponseWriter, r *http.Request, c *Caller, run func(ctx context.Context, send func(frames []byte) error) error, actions ...auth.Action) error {
	ctx, end, stop, err := d.admit(r, c, actions)
	if err != nil {
		return err
	}
	defer stop()
	var out *httpd.Events
	err = run(ctx, func(frames []byte) error {
		if out == nil {
			out = httpd.NewEvents(w, d.WriteTimeout, d.Heartbeat, end)
		}
		return out.Send(frames)
	})
	return d.endStream(ctx, out, err)
}

// admit begins a stream. Call stop when it has ended.
func (d *Door) admit(r *http.Request, c *Caller, actions []auth.Action) (ctx context.Context, end context.CancelCauseFunc, stop func(), err error) {
	allowed := slices.DeleteFunc(slices.Clone(actions), func(a auth.Action) bool { return c.By.May(a) != nil })
	if len(allowed) == 0 {
		return nil, nil, nil, c.By.May(actions[0])
	}
	give, err := d.Streams.Take(c.By, 1)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, end = context.WithCancelCause(r.Context())
	leave := d.Requests.Lease(ctx, c.By, c.Renew, end, allowed...)
	return ctx, end, func() {
		leave()
		end(nil)
		give()
	}, nil
}

// endStream ends the answer of a stream; out is nil if it has not begun.
func (d *Door) endStream(ctx context.Context, out *httpd.Events, err error) error {
	ended := errors.Is(context.Cause(ctx), httpd.ErrEnded)
	switch {
	case out == nil && ended:
		return d.Requests.Ended()
	case out == nil:
		return err
	case ended:
		_ = out.Comment("the credential has ended; continue with a valid one and Last-Event-ID") // best effort
	}
	out.End()
	return nil
}
