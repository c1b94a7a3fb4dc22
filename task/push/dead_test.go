package push_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"a2a-server/store"
	"a2a-server/task"
)

// A webhook that is dead gets nothing of what happens later, and nothing stays ready for it,
// until it is set again: then it gets all of it.
func TestDeadGetsNothing(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		rc := newReceiver(t, nil)
		rc.reply = func(_ int, rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/gone" {
				rw.WriteHeader(http.StatusGone)
			}
		}
		w.start(false)
		id := w.send("ask", hook(rc.URL+"/gone"))
		w.until("it is dead", func() bool { return w.pusher.Stats().Died == 1 })
		w.quiet()
		w.cancel(id)
		w.quiet()
		if n := len(rc.at("/gone")); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
		if n := w.said("webhook given up"); n != 1 {
			t.Errorf("%d deaths in the log, want 1", n)
		}
		w.set(id, hook(rc.URL+"/again"))
		w.quiet()
		wantInOrder(t, rc.at("/again"), w.pushable(id))
	})
}

// What a process takes over from another, it records like everything else: nothing is sent
// twice if the other one was not sending.
func TestTakenOverOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		w.start(true)
		rc := newReceiver(t, nil)
		id := w.send("echo", hook(rc.URL))
		younger := must(w.open())
		w.startPusher(younger)
		w.quiet()
		wantInOrder(t, rc.all(), w.pushable(id))
		if got, want := len(rc.all()), len(w.pushable(id)); got != want {
			t.Errorf("%d notifications, want %d", got, want)
		}
		page, err := younger.Rows(w.ctx(), store.System(), store.RowQuery{Kind: task.RowPushCursor})
		if err != nil || len(page.Rows) != 1 {
			t.Fatal(page, err)
		}
		if c, err := task.ParsePushCursor(&page.Rows[0]); err != nil || c.Epoch != younger.Epoch() {
			t.Errorf("the cursor is %+v, %v; want the epoch %d", c, err, younger.Epoch())
		}
	})
}

// between runs a function once, after a job has read a webhook's cursor and before it reads
// the webhook.
type between struct {
	store.Handle
	run   func()
	ready atomic.Bool
	once  sync.Once
}

func (b *between) Rows(ctx context.Context, s store.Scope, q store.RowQuery) (store.RowPage, error) {
	page, err := b.Handle.Rows(ctx, s, q)
	switch {
	case q.Kind == task.RowPushReady && q.Key != nil:
		b.ready.Store(true)
	case q.Kind == task.RowPushCursor && b.ready.Load():
		b.once.Do(b.run)
	}
	return page, err
}

// A webhook that is replaced while a notification of it is prepared is another one: what was
// begun for the old one is sent neither to the old nor to the new one.
func TestReplacedWhileItIsRead(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		w.start(true)
		rc := newReceiver(t, nil)
		id := w.send("echo", hook(rc.URL+"/old"))
		w.startPusher(&between{Handle: w.handle, run: func() {
			must(w.engine.SetPush(w.ctx(), alice, id, *hook(rc.URL + "/new")))
		}})
		w.until("the new one has everything", func() bool { return len(rc.at("/new")) >= len(w.pushable(id)) })
		w.quiet()
		wantInOrder(t, rc.at("/new"), w.pushable(id))
		if got, want := len(rc.all()), len(w.pushable(id)); got != want {
			t.Errorf("%d notifications, want %d", got, want)
		}
	})
}

// One that replaces another gets nothing that the other one has got.
func TestReplacementRepeatsNothing(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		w.start(false)
		rc := newReceiver(t, nil)
		id := w.send("ask", hook(rc.URL+"/old"))
		w.quiet()
		w.set(id, hook(rc.URL+"/new"))
		before := w.pushable(id)
		wantInOrder(t, rc.at("/old"), before)
		w.cancel(id)
		w.quiet()
		wantInOrder(t, rc.at("/new"), w.pushable(id)[len(before):])
	})
}
