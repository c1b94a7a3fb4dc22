package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/internal/record"
	"a2a-server/task/push"
)

// hookTimeout is how long a webhook may take to answer.
const hookTimeout = time.Second

// plain seals secrets by leaving them as they are.
type plain struct{}

func (plain) Seal(secret, _ []byte) ([]byte, error) { return secret, nil }
func (plain) Open(sealed, _ []byte) ([]byte, error) { return sealed, nil }

// deliver starts the delivery of push notifications in a server.
func (w *world) deliver(v *server, h store.Handle) {
	d := push.New(push.Config{
		Store: &watchedRows{Handle: h, w: w}, Secrets: plain{}, Client: &http.Client{Transport: &receivers{w: w, p: v.p}}, Legacy: legacyBody,
		View: func(ctx context.Context, id store.TaskID, seq uint64) (*task.View, error) {
			return v.engine.ViewAt(ctx, id, seq)
		},
		Timeout: hookTimeout, Log: zerolog.New(&logWatch{w: w, p: v.p}).Level(zerolog.WarnLevel), Now: v.p.Now, Host: v.p,
		Random:     func() float64 { return float64(w.choices.Choose(Outcomes, 5)) / 5 },
		CrashPoint: w.mayDie(v),
	})
	ctx, stop := context.WithCancel(context.Background())
	v.stopPush = stop
	v.p.Go(func() {
		v.p.Wait(v.engine.Resumed(), ctx.Done()) // as the server does
		if err := d.Run(ctx); err != nil {
			w.s.Fail("a deliverer continues", "Run() of %s = %v", v.p.name, err)
		}
	})
}

// legacyBody stands for a task of version 0.3.
func legacyBody(v *task.View) ([]byte, error) { return []byte(v.State()), nil }

// watchedRows is a store that remembers which webhook each routine has seen.
type watchedRows struct {
	store.Handle
	w *world
}

func (r *watchedRows) Rows(ctx context.Context, s store.Scope, q store.RowQuery) (store.RowPage, error) {
	page, err := r.Handle.Rows(ctx, s, q)
	if err == nil && q.Kind == record.KindPush && q.Key != nil && len(page.Rows) > 0 {
		if set, err := record.ParseWebhook(&page.Rows[0]); err == nil {
			r.w.model.saw(q.Task, &set)
		}
	}
	return page, err
}

// receivers are the other ends of webhooks, as a server reaches them.
type receivers struct {
	w *world
	p *Process
}

// Outcomes of a notification.
const (
	hookAccepts = iota
	hookRefuses
	hookHangs
	hookLosesAnswer // it has accepted, and its answer does not arrive
	hookSlow        // it accepts after a while
	hookGone        // it wants no more

	hookWays
)

var hookWayNames = [hookWays]string{"accepts", "refuses", "hangs", "accepts, and the answer is lost", "accepts slowly", "is gone"}

// errNoAnswer is that of a connection that ended before its answer.
var errNoAnswer = errors.New("the connection ended")

// RoundTrip implements [http.RoundTripper]. It waits in the routine that sends.
func (r *receivers) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	got := r.w.model.notified(r.p, request.URL.Path, request.Header.Get(push.HeaderID), body, r.w.newest() == r.p)
	way := hookAccepts
	if !r.w.healthy {
		way = Pick(r.w.choices, Outcomes, hookAccepts, hookAccepts, hookAccepts, hookRefuses, hookRefuses, hookHangs, hookLosesAnswer, hookSlow)
		if way == hookRefuses && r.w.choices.Rarely(Outcomes, 16) {
			way = hookGone
		}
	}
	r.w.s.Note("%s notifies %s of %s: it %s", r.p.name, request.URL.Path, request.Header.Get(push.HeaderID), hookWayNames[way])
	r.w.coverage.Count("a webhook " + hookWayNames[way])
	answer := func(code int) (*http.Response, error) {
		return &http.Response{StatusCode: code, Body: http.NoBody, Request: request}, nil
	}
	switch way {
	case hookRefuses:
		return answer(http.StatusServiceUnavailable)
	case hookGone:
		return answer(http.StatusGone)
	case hookHangs:
		r.p.Sleep(hookTimeout)
		return nil, context.DeadlineExceeded
	case hookSlow:
		r.p.Sleep(time.Duration(1+r.w.choices.Choose(Outcomes, 500)) * time.Millisecond)
	default:
		r.p.Yield()
	}
	r.w.model.told(got)
	r.p.Yield()
	if way == hookLosesAnswer {
		return nil, errNoAnswer
	}
	return answer(http.StatusNoContent)
}

// newest returns the process that was started last, if it lives.
func (w *world) newest() *Process {
	if len(w.servers) == 0 {
		return nil
	}
	return w.servers[len(w.servers)-1].p
}

// webhook returns a webhook to set. Its URL has a number of its own.
func (w *world) webhook() *engine.PushConfig {
	w.hooks++
	return &engine.PushConfig{ID: Pick(w.choices, Script, "a", "a", "b"), URL: fmt.Sprintf("https://hook%d.example/%d", w.hooks%3, w.hooks), Version: Pick(w.choices, Script, "1.0", "1.0", "1.0", "0.3")}
}

// setWebhook sets a webhook of a task, maybe in place of another.
func (w *world) setWebhook(t *modelTask) {
	if !w.pushes {
		return
	}
	c, v := w.webhook(), w.server()
	w.attempt(v, "a webhook", func(ctx context.Context) error {
		_, err := v.engine.SetPush(ctx, t.owner, t.id, *c)
		return err
	}, func() {
		w.coverage.Count("a webhook is set")
		if !w.model.everSet[c.URL] {
			w.s.Fail("a webhook that is acknowledged is durable", "%s of task %s", c.URL, t.id)
		}
	})
}

// deleteWebhook deletes a webhook of a task. Webhooks set later stay.
func (w *world) deleteWebhook(t *modelTask) {
	if !w.pushes {
		return
	}
	id, v := Pick(w.choices, Script, "a", "b"), w.server()
	before := t.hooks[id]
	remove := func(ctx context.Context) error { return v.engine.DeletePush(ctx, t.owner, t.id, id) }
	w.attempt(v, "the deletion of a webhook", remove, func() {
		w.coverage.Count("a webhook is deleted")
		if before != nil && t.hooks[id] == before {
			w.s.Fail("a webhook whose deletion is acknowledged is deleted", "%s of task %s is still there", before.url, t.id)
		}
	})
}

// finishHooks has all receivers accept notifications, lets time pass until none is due, and
// checks that each webhook that has not been given up got all of them.
func (w *world) finishHooks() {
	if !w.pushes {
		return
	}
	w.healthy = true
	h := w.disk.Durable()
	for left := 40; ; left-- {
		w.outside.Idle()
		ready, err := h.Rows(context.Background(), store.System(), store.RowQuery{Kind: record.KindPushReady})
		if err != nil {
			w.s.Fail("rows can be read", "%v", err)
			return
		}
		if len(ready.Rows) == 0 {
			break
		}
		if left == 0 {
			w.s.Fail("no webhook is ready forever", "%d are", len(ready.Rows))
			return
		}
		w.outside.Sleep(2 * time.Hour)
	}
	for _, t := range w.model.order {
		for _, hook := range t.hooks {
			if e := hook.untold(t.seq); e != 0 && !hook.dead {
				w.s.Fail("a webhook is told of everything", "%s of task %s has not been told of event %d:\n%s", hook.url, t.id, e, w.log(t))
			}
		}
	}
}
