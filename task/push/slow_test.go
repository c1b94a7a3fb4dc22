package push_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"a2a-server/store/memstore"
	"a2a-server/task/push"
)

// However many hosts hang each time they are tried again, they leave workers to those that
// answer.
func TestRetriesLeaveWorkers(t *testing.T) {
	t.Parallel()
	w := &world{t: t, open: memstore.New().Handle}
	var tried sync.Map
	hangs := newHanging(t)
	defer hangs.end()
	hangs.fails = func(host string) error {
		if _, again := tried.LoadOrStore(host, true); again {
			return nil
		}
		return errors.New("the first try fails at once")
	}
	w.config = func(c *push.Config) {
		c.Timeout = 30 * time.Second
		c.Client.Transport = hangs
	}
	w.start(false)
	const hosts = 100
	for n := range hosts {
		w.send("echo", hook(fmt.Sprintf("http://hangs%d.example", n)))
	}
	w.until("all have failed", func() bool { return w.pusher.Stats().Refused >= hosts })
	w.until("retries hang", func() bool { return hangs.now.Load() >= 32 })
	rc := newReceiver(t, nil)
	for n := range 3 {
		id := w.send("echo", hook(fmt.Sprintf("%s/%d", rc.URL, n)))
		w.until("one that answers is notified", func() bool { return len(rc.at(fmt.Sprint("/", n))) == len(w.pushable(id)) })
	}
	if n := hangs.most.Load(); n > 32 {
		t.Errorf("%d retries at once, want at most 32", n)
	}
}

// More webhooks of one host that hangs than a page of rows holds keep no other from its turn.
func TestManyThatWait(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		hangs := newHanging(t)
		defer hangs.end()
		w.config = func(c *push.Config) {
			c.Timeout = 30 * time.Second
			c.Client.Transport = hangs
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
		if n := w.pusher.Workers(); n > 5 {
			t.Errorf("%d workers, want at most four for the host that hangs", n)
		}
		wantInOrder(t, rc.all(), w.pushable(id))
	})
}
