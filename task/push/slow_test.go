package push_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"a2a-server/store/memstore"
	"a2a-server/task"
	"a2a-server/task/push"
)

// However many hosts hang each time they are tried again, they leave workers to those that
// answer.
func TestRetriesLeaveWorkers(t *testing.T) {
	t.Parallel()
	w := &world{t: t, open: memstore.New().Handle}
	var (
		tried   sync.Map
		hanging atomic.Int64
		most    atomic.Int64
	)
	direct := &http.Transport{}
	w.config = func(c *push.Config) {
		c.Timeout = 30 * time.Second
		c.Client.Transport = transport(func(r *http.Request) (*http.Response, error) {
			if !strings.HasPrefix(r.URL.Host, "hangs") {
				return direct.RoundTrip(r)
			}
			if _, again := tried.LoadOrStore(r.URL.Host, true); !again {
				return nil, errors.New("the first try fails at once")
			}
			n := hanging.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			defer hanging.Add(-1)
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
	}
	w.start(false)
	const hosts = 100
	for n := range hosts {
		w.send("echo", hook(fmt.Sprintf("http://hangs%d.example", n)))
	}
	w.until("all have failed", func() bool { return w.pusher.Stats().Failed >= hosts })
	w.until("retries hang", func() bool { return hanging.Load() >= 32 })
	rc := newReceiver(t, nil)
	t.Cleanup(direct.CloseIdleConnections)
	for n := range 3 {
		id := w.send("echo", hook(fmt.Sprintf("%s/%d", rc.URL, n)))
		w.until("one that answers is notified", func() bool { return len(rc.at(fmt.Sprint("/", n))) == len(w.pushable(id)) })
	}
	if n := most.Load(); n > 32 {
		t.Errorf("%d retries at once, want at most 32", n)
	}
}

// A server that is slow to encode a task does not count that as a failure of the webhook: its time
// begins with the request.
func TestSlowEncodingIsNoFailure(t *testing.T) {
	t.Parallel()
	w := &world{t: t, open: memstore.New().Handle}
	var (
		mu      sync.Mutex
		encoded time.Time // when the newest one was
	)
	w.config = func(c *push.Config) {
		c.Timeout = 30 * time.Second
		c.Legacy = func(v *task.View) ([]byte, error) {
			<-time.After(50 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			encoded = time.Now()
			return legacy(v)
		}
		c.Client.Transport = transport(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			if until, ok := r.Context().Deadline(); !ok || until.Before(encoded.Add(c.Timeout)) {
				t.Errorf("a request has until %v after it was encoded, want %v", until.Sub(encoded), c.Timeout)
			}
			return accept(r)
		})
	}
	w.start(false)
	c := hook("http://a.example")
	c.Version = "0.3"
	id := w.send("echo", c)
	w.quiet()
	if got, want := w.pusher.Stats().Delivered, len(w.pushable(id)); got != uint64(want) || w.pusher.Stats().Failed > 0 {
		t.Errorf("%d notifications, want %d; %+v", got, want, w.pusher.Stats())
	}
}

// More webhooks of one host that hangs than a page of rows holds keep no other from its turn.
func TestManyThatWait(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		direct := &http.Transport{}
		t.Cleanup(direct.CloseIdleConnections)
		w.config = func(c *push.Config) {
			c.Timeout = 30 * time.Second
			c.Client.Transport = transport(func(r *http.Request) (*http.Response, error) {
				if r.URL.Host != "hangs.example" {
					return direct.RoundTrip(r)
				}
				<-r.Context().Done()
				return nil, r.Context().Err()
			})
		}
		w.start(false)
		var sending sync.WaitGroup
		for range 10 {
			sending.Go(func() {
				for range 30 {
					w.send("echo", hook("http://hangs.example"))
				}
			})
		}
		sending.Wait()
		rc := newReceiver(t, nil)
		id := w.send("echo", hook(rc.URL))
		w.until("one that answers is notified", func() bool { return len(rc.all()) >= len(w.pushable(id)) })
		if n := w.pusher.Stats().Workers; n > 5 {
			t.Errorf("%d workers, want at most four for the host that hangs", n)
		}
		wantInOrder(t, rc.all(), w.pushable(id))
	})
}
