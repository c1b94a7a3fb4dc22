package push_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"a2a-server/store"
	"a2a-server/store/memstore"
	"a2a-server/task/internal/record"
	"a2a-server/task/push"
)

// Only failures in a row count: a webhook that accepts each notification in the end is not
// given up, however many tries it takes in total.
func TestFailuresThatAreNotInARow(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		const each = 10
		w.start(false)
		rc := newReceiver(t, func(n int, rw http.ResponseWriter, _ *http.Request) {
			if n%(each+1) < each {
				rw.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		id := w.send("echo", hook(rc.URL))
		w.until("it has everything", func() bool { return len(rc.all()) >= len(w.pushable(id))*(each+1) })
		w.quiet()
		wantInOrder(t, rc.all(), w.pushable(id))
		states := w.states(push.Query{})
		if len(states) != 1 || states[0].State != "active" || states[0].Tries != 0 || states[0].Error != "" || states[0].Lag != 0 {
			t.Errorf("List() = %+v, want an active one", states)
		}
		if n := w.pusher.Stats().Refused; n <= 20 {
			t.Errorf("%d failures are too few to show it", n)
		}
	})
}

// unreadable is a store whose rows cannot be read now and then.
type unreadable struct {
	store.Handle
	fails func(q store.RowQuery) bool
}

var errUnreadable = errors.New("the disk does not answer")

func (u *unreadable) Rows(ctx context.Context, s store.Scope, q store.RowQuery) (store.RowPage, error) {
	if u.fails(q) {
		return store.RowPage{}, errUnreadable
	}
	return u.Handle.Rows(ctx, s, q)
}

// What cannot be read for now is read again soon, and the log says so.
func TestUnreadableForNow(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]string{"the index": record.KindPushReady, "the webhook": record.KindPush} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{t: t, open: memstore.New().Handle}
			w.start(true)
			rc := newReceiver(t, nil)
			id := w.send("echo", hook(rc.URL))
			var failures atomic.Int64
			w.startPusher(&unreadable{w.handle, func(q store.RowQuery) bool { return q.Kind == kind && failures.Add(1) <= 2 }})
			w.quiet()
			wantInOrder(t, rc.all(), w.pushable(id))
			if n := strings.Count(w.log.String(), errUnreadable.Error()); n != 2 {
				t.Errorf("%d lines about it in the log, want 2: %s", n, w.log)
			}
		})
	}
}

// What a process takes over from another, it records like everything else: nothing is sent
// twice if the other one was not sending.
func TestTakenOverOnce(t *testing.T) {
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
		page, err := younger.Rows(w.ctx(), store.System(), store.RowQuery{Kind: record.KindPushCursor})
		if err != nil || len(page.Rows) != 1 {
			t.Fatal(page, err)
		}
		if c, err := record.ParsePushCursor(&page.Rows[0]); err != nil || c.Epoch != younger.Epoch() {
			t.Errorf("the cursor is %+v, %v; want the epoch %d", c, err, younger.Epoch())
		}
	})
}
