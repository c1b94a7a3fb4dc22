package push_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"a2a-server/store"
	"a2a-server/store/memstore"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/internal/record"
	"a2a-server/task/push"
)

// A webhook that is set with a message gets the task, each of its statuses and the last
// chunk of each artifact, in the bytes of the log, and then nothing is left to do.
func TestDelivers(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start(false)
		rc := newReceiver(t, nil)
		c := hook(rc.URL + "/a?x=1")
		c.Token, c.Scheme, c.Credentials = "the token", "Bearer", "the credentials"
		id := w.send("echo", c)
		w.quiet()
		want := w.pushable(id)
		wantInOrder(t, rc.at("/a"), want)
		if len(want) < 3 {
			t.Fatalf("only %d events", len(want))
		}
		for i, r := range rc.all() {
			for name, value := range map[string]string{
				"Content-Type": "application/a2a+json", "Authorization": "Bearer the credentials",
				"X-A2A-Notification-Token": "the token", "A2A-Notification-Token": "the token",
				"A2A-Notification-Id": fmt.Sprintf("%s-%d", id, want[i].Seq),
			} {
				if got := r.header.Get(name); got != value {
					t.Errorf("%s = %q, want %q", name, got, value)
				}
			}
		}
		states := w.states(push.Query{})
		if len(states) != 1 {
			t.Fatalf("List() = %v, want one state", states)
		}
		if s := states[0]; s.Task != id || s.Config != "hook" || s.State != "active" || s.Owner != store.Owner("acme", "alice") || s.Host != "127.0.0.1" || s.Lag != 0 || !s.Next.IsZero() {
			t.Errorf("List() = %+v", s)
		}
		for _, kind := range []string{record.KindPush, record.KindPushCursor} {
			for _, row := range w.rows(kind) {
				if strings.Contains(string(row.Value), "the token") || strings.Contains(string(row.Value), "credentials\"") {
					t.Errorf("row %s has a secret: %s", kind, row.Value)
				}
			}
		}
	})
}

// What fails is repeated, in order, with the same id, until it is accepted.
func TestRepeatsInOrder(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start(false)
		rc := newReceiver(t, func(n int, w http.ResponseWriter, _ *http.Request) {
			if n%4 != 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		id := w.send("echo", hook(rc.URL))
		w.quiet()
		want := w.pushable(id)
		wantInOrder(t, rc.all(), want)
		if got := len(rc.all()); got != 4*len(want) {
			t.Errorf("%d requests, want %d", got, 4*len(want))
		}
		w.until("the log has a line for each recovery", func() bool {
			return strings.Count(w.log.String(), "accepts notifications again") == len(want)
		})
		if got := strings.Count(w.log.String(), "webhook does not accept notifications"); got != len(want) {
			t.Errorf("the log has %d lines about the first failures, want one for each of %d events", got, len(want))
		}
	})
}

// A webhook that answers 410 is given up at once, and one that only fails after 20 tries in
// a row. Setting it again revives it: it gets what it has missed, once the task has ended too.
func TestGivenUpAndRevived(t *testing.T) {
	t.Parallel()
	for code, tries := range map[int]int{http.StatusGone: 1, http.StatusInternalServerError: 20, http.StatusFound: 20} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				w.start(false)
				var works atomic.Bool
				rc := newReceiver(t, nil)
				rc.reply = func(_ int, w http.ResponseWriter, _ *http.Request) {
					if !works.Load() {
						w.Header().Set("Location", rc.URL+"/elsewhere")
						w.WriteHeader(code)
					}
				}
				id := w.send("echo", hook(rc.URL))
				w.quiet()
				if got := len(rc.all()); got != tries {
					t.Errorf("%d tries, want %d", got, tries)
				}
				states := w.states(push.Query{})
				if len(states) != 1 || states[0].State != "dead" || states[0].Tries != tries || states[0].Error == "" || states[0].Lag == 0 {
					t.Errorf("List() = %+v, want a dead one", states)
				}
				if n := w.said("webhook given up"); n != 1 {
					t.Errorf("%d deaths in the log, want 1", n)
				}
				works.Store(true)
				w.set(id, hook(rc.URL+"/again"))
				w.until("it gets what it has missed", func() bool { return len(rc.at("/again")) >= len(w.pushable(id)) })
				w.quiet()
				wantInOrder(t, rc.at("/again"), w.pushable(id))
				if len(rc.at("/elsewhere")) > 0 {
					t.Error("a redirect was followed")
				}
			})
		})
	}
}

// One that is set later, or that comes with a message to the task, gets what happens from
// then on.
func TestSetLater(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(w *world, id store.TaskID, c *engine.PushConfig){
		"by itself": func(w *world, id store.TaskID, c *engine.PushConfig) {
			w.set(id, c)
			w.cancel(id)
		},
		"with a message": func(w *world, id store.TaskID, c *engine.PushConfig) {
			m := w.message("approve", nil)
			m.TaskID, m.Parts = a2aID(id), textParts("what is it?")
			must(w.engine.Send(w.ctx(), engine.Send{By: alice, Message: m, Push: c}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				w.start(false)
				rc := newReceiver(t, nil)
				id := w.send("ask", nil)
				before := w.pushable(id)
				set(w, id, hook(rc.URL))
				w.until("it is notified", func() bool { return len(rc.all()) > 0 })
				w.quiet()
				wantInOrder(t, rc.all(), w.pushable(id)[len(before):])
				if name != "by itself" {
					return
				}
				// Nothing more will happen: a new webhook is kept, and gets nothing.
				n := len(rc.all())
				late := w.set(id, &engine.PushConfig{URL: rc.URL, Version: "1.0"})
				w.quiet()
				if got := rc.all()[n:]; len(got) > 0 {
					t.Errorf("a webhook of a task that has ended is notified of %v", got)
				}
				need(w.engine.DeletePush(w.ctx(), alice, id, late.ID))
			})
		})
	}
}

// A deleted webhook gets nothing more, even if one is waiting for it, and deleting it again
// changes nothing.
func TestDeleted(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start(false)
		rc, came, let := held(t)
		id := w.send("ask", hook(rc.URL))
		<-came
		for range 2 {
			need(w.engine.DeletePush(w.ctx(), alice, id, "hook"))
		}
		w.wantRows(0, record.KindPush, record.KindPushCursor, record.KindPushReady)
		let()
		w.idle()
		w.cancel(id)
		other := w.send("echo", hook(rc.URL+"/other"))
		w.until("another is notified", func() bool { return len(rc.at("/other")) >= len(w.pushable(other)) })
		w.quiet()
		if got := len(rc.at("/")); got != 1 {
			t.Errorf("%d notifications, want the one that was under way", got)
		}
		w.wantRows(1, record.KindPush, record.KindPushCursor) // those of the other webhook
	})
}

// A webhook of version 0.3 that is deleted while the task is encoded for it gets nothing.
func TestDeletedWhileEncoding(t *testing.T) {
	t.Parallel()
	w := &world{t: t, open: memstore.New().Handle, patient: true}
	encoding, deleted := make(chan struct{}, 1), make(chan struct{})
	w.config = func(c *push.Config) {
		c.Legacy = func(v *task.View) ([]byte, error) {
			encoding <- struct{}{}
			<-deleted
			return legacy(v)
		}
	}
	w.start(false)
	rc := newReceiver(t, nil)
	id := w.send("echo", hook03(rc.URL))
	<-encoding
	need(w.engine.DeletePush(w.ctx(), alice, id, "hook"))
	close(deleted)
	w.idle()
	if got := rc.all(); len(got) > 0 {
		t.Errorf("%d notifications after the deletion", len(got))
	}
}

// A task is deleted with its webhooks, also while one is being notified.
func TestTaskDeleted(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start(false)
		rc, came, let := held(t)
		id := w.send("echo", hook(rc.URL))
		<-came
		need(w.engine.Tasks().Delete(w.ctx(), alice, id.String()))
		let()
		w.idle()
		w.wantRows(0, record.KindPush, record.KindPushCursor, record.KindPushReady)
		if got := len(rc.all()); got != 1 {
			t.Errorf("%d notifications, want 1", got)
		}
	})
}

// The older of two deliverers leaves a webhook of the younger one alone.
func TestOlderLeavesAlone(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.start(true)
		younger := must(w.open())
		rc := newReceiver(t, nil)
		stop := w.startPusher(younger)
		id := w.send("ask", hook(rc.URL))
		w.quiet()
		stop()
		before := len(rc.all())
		w.startPusher(w.handle) // that of the engine is older
		w.cancel(id)
		other := w.send("echo", hook(rc.URL+"/other"))
		w.until("it delivers what is its own", func() bool { return len(rc.at("/other")) >= len(w.pushable(other)) })
		if got := len(rc.at("/")); got != before {
			t.Errorf("%d notifications of the younger one's webhook, want %d", got, before)
		}
		youngest := must(w.open())
		w.startPusher(youngest)
		w.quiet()
		wantInOrder(t, rc.at("/"), w.pushable(id))
	})
}

// While a notification of a webhook is being sent, the next one waits, however often others
// are looked after meanwhile.
func TestOneNotificationAfterTheOther(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		let := make(chan struct{})
		rc := newReceiver(t, func(n int, _ http.ResponseWriter, r *http.Request) {
			if n == 0 && r.URL.Path == "/held" {
				<-let
			}
		})
		release := sync.OnceFunc(func() { close(let) })
		t.Cleanup(release) // before the receiver closes
		w.config = func(c *push.Config) { c.Timeout = time.Minute }
		w.start(false)
		held := w.send("echo", hook(rc.URL+"/held"))
		w.until("the first one is being sent", func() bool { return len(rc.at("/held")) == 1 })
		for n := range 5 {
			path := fmt.Sprintf("/%d", n)
			all := len(w.pushable(w.send("echo", hook(rc.URL+path))))
			w.until("another webhook has all of its own", func() bool { return len(rc.at(path)) == all })
		}
		if n := len(rc.at("/held")); n != 1 || len(rc.both) > 0 {
			t.Errorf("%d notifications were sent to a webhook that has not answered the first, two at once at %v", n, rc.both)
		}
		release()
		w.quiet()
		wantInOrder(t, rc.at("/held"), w.pushable(held))
	})
}

// One webhook has at most one notification under way, a host four, and all of them 64.
func TestWorkersAreBounded(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		now, most := map[string]int{}, map[string]int{}
		all, mostAll := 0, 0
		let := make(chan struct{})
		rc := newReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			now[r.Host]++
			all++
			most[r.Host], mostAll = max(most[r.Host], now[r.Host]), max(mostAll, all)
			mu.Unlock()
			<-let
			mu.Lock()
			defer mu.Unlock()
			now[r.Host]--
			all--
		})
		release := sync.OnceFunc(func() { close(let) })
		t.Cleanup(release) // before the receiver closes
		w.config = func(c *push.Config) {
			c.Timeout = 30 * time.Second
			c.Client.Transport = &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, rc.Listener.Addr().String()) // whatever the host
			}}
		}
		w.start(true)
		const hosts, each = 20, 6
		var ids []store.TaskID
		for i := range hosts {
			for range each {
				ids = append(ids, w.send("echo", hook(fmt.Sprintf("http://host%d.example/%d", i, len(ids)))))
			}
		}
		w.startPusher(w.handle) // no request waits until all are there
		w.until("all workers are taken", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return all == 64
		})
		release()
		w.quiet()
		for i, id := range ids {
			wantInOrder(t, rc.at(fmt.Sprintf("/%d", i)), w.pushable(id))
		}
		mu.Lock()
		defer mu.Unlock()
		if mostAll > 64 {
			t.Errorf("%d at once, want at most 64", mostAll)
		}
		for host, n := range most {
			if n > 4 {
				t.Errorf("%s: %d at once, want at most 4", host, n)
			}
		}
		if len(rc.both) > 0 {
			t.Errorf("two notifications at once at %v", rc.both)
		}
	})
}

// Webhooks that hang, or answer without end, are cut off, and hold nobody up.
func TestHangsAndFloods(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.config = func(c *push.Config) { c.Timeout = time.Second }
		w.start(false)
		hangs, _, _ := held(t)
		floods := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			for buf := make([]byte, 1<<16); ; {
				if _, err := w.Write(buf); err != nil {
					return
				}
			}
		})
		w.send("echo", hook(hangs.URL))
		id := w.send("echo", hook(floods.URL))
		w.until("one that floods has accepted all", func() bool {
			states := w.states(push.Query{Task: id})
			return len(states) == 1 && states[0].State == "active" && states[0].Lag == 0
		})
		wantInOrder(t, floods.all(), w.pushable(id))
		w.until("one that hangs has been cut off", func() bool {
			return slices.ContainsFunc(w.states(push.Query{}), func(s push.State) bool { return s.Error == "timeout" && s.Tries > 0 })
		})
	})
}

// A deliverer ends soon although a webhook hangs.
func TestStopsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBolt(t)
		hangs := newHanging(t)
		w.config = func(c *push.Config) {
			c.Timeout = 30 * time.Second
			c.Client.Transport = hangs
		}
		w.start(false)
		for range 10 {
			w.send("echo", hook("http://hangs.example"))
		}
		w.until("webhooks hang", func() bool { return hangs.now.Load() == 4 })
		began := time.Now()
		w.stop()
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("it took %v, want the two seconds that requests in flight have", took)
		}
	})
}

// The signer is asked for webhooks without an authentication of their own, and no others.
func TestSigned(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.config = func(c *push.Config) {
			c.Sign = func(_ context.Context, n *push.Notification, h http.Header) error {
				h.Set("Authorization", "Signed "+n.Config+" "+n.ID)
				return nil
			}
		}
		w.start(false)
		rc := newReceiver(t, nil)
		w.send("echo", hook(rc.URL+"/signed"))
		c := hook(rc.URL + "/own")
		c.Scheme, c.Credentials = "Basic", "abc"
		w.send("echo", c)
		w.quiet()
		for _, r := range rc.at("/signed") {
			if got, want := r.header.Get("Authorization"), "Signed hook "+r.header.Get(push.HeaderID); got != want {
				t.Errorf("Authorization = %q, want %q", got, want)
			}
		}
		for _, r := range rc.at("/own") {
			if got := r.header.Get("Authorization"); got != "Basic abc" {
				t.Errorf("Authorization = %q, want that of the webhook", got)
			}
		}
	})
}

// What happens while a notification is under way is not lost with the row that said that
// something was there.
func TestGrowsWhileItIsSent(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start(false)
		asks, let := make(chan struct{}), make(chan struct{})
		rc := newReceiver(t, nil)
		var once sync.Once
		rc.reply = func(int, http.ResponseWriter, *http.Request) {
			all := rc.all()
			if strings.Contains(all[len(all)-1].body, "INPUT_REQUIRED") {
				once.Do(func() {
					close(asks)
					<-let
				})
			}
		}
		id := w.send("ask", hook(rc.URL))
		select {
		case <-asks:
		case <-w.ctx().Done():
			t.Fatal("it was not told that the task asks")
		}
		w.cancel(id)
		close(let)
		w.until("it is told of the end", func() bool {
			all := rc.all()
			return strings.Contains(all[len(all)-1].body, "CANCELED")
		})
		w.quiet()
		wantInOrder(t, rc.all(), w.pushable(id))
	})
}

// Secrets that cannot be opened, as when the key is gone, fail the notification; so does
// a signature that cannot be made.
func TestWithoutItsSecrets(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.config = func(c *push.Config) {
			c.Secrets = keyGone{}
			c.Client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, at string) (net.Conn, error) {
				if strings.HasPrefix(at, "nowhere.example:") {
					return nil, fmt.Errorf("resolve: %w", &net.DNSError{Err: "no such host", Name: "nowhere.example", IsNotFound: true})
				}
				return (&net.Dialer{}).DialContext(ctx, network, at)
			}}}
			c.Sign = func(context.Context, *push.Notification, http.Header) error {
				return errors.New("no key: secret detail")
			}
			c.Legacy = nil
		}
		w.start(false)
		rc := newReceiver(t, nil)
		of := map[string]store.TaskID{}
		for class, c := range map[string]*engine.PushConfig{
			"secrets cannot be opened": {ID: "lost", URL: rc.URL, Version: "1.0"},
			"signature":                {URL: rc.URL, Version: "1.0"},
			"encoding":                 {URL: rc.URL, Version: "0.3"},
			"name not resolved":        {URL: "http://nowhere.example", Scheme: "Bearer", Version: "1.0"},
			"request failed":           {URL: "gopher://example.com", Scheme: "Bearer", Version: "1.0"},
			"invalid URL":              {URL: "http://[::1", Scheme: "Bearer", Version: "1.0"},
		} {
			of[class] = w.send("echo", c)
		}
		for class, id := range of {
			w.until(class, func() bool {
				return slices.ContainsFunc(w.states(push.Query{}), func(s push.State) bool { return s.Task == id && s.Error == class && s.State == "dead" })
			})
		}
		if n := len(rc.all()); n > 0 {
			t.Errorf("%d notifications were sent", n)
		}
	})
}

// keyGone has lost the key of the webhook "lost".
type keyGone struct{ sealer }

func (k keyGone) Open(sealed, bound []byte) ([]byte, error) {
	if bytes.HasSuffix(bound, []byte("lost")) {
		return nil, errors.New("the key is gone")
	}
	return k.sealer.Open(sealed, bound)
}

// While the disk takes nothing, a notification that was accepted is not sent again and again.
func TestDiskThatTakesNothing(t *testing.T) {
	t.Parallel()
	open := newBolt(t).open
	w := &world{t: t}
	var full atomic.Bool
	w.open = func() (store.Handle, error) {
		h, err := open()
		return &refusing{h, &full}, err
	}
	w.start(false)
	rc := newReceiver(t, nil)
	full.Store(true) // for asides only
	id := w.send("echo", hook(rc.URL))
	w.until("it is told of the first", func() bool { return len(rc.all()) > 0 })
	full.Store(false)
	w.quiet()
	wantInOrder(t, rc.all(), w.pushable(id))
	if n := len(rc.all()); n != len(w.pushable(id)) {
		t.Errorf("%d notifications, want each once", n)
	}
}

// refusing is a store that refuses asides.
type refusing struct {
	store.Handle
	full *atomic.Bool
}

func (r *refusing) Append(ctx context.Context, b *store.Batch) *store.Commit {
	if b.IsAside() && r.full.Load() {
		return store.Answered(store.Receipt{}, store.ErrUnavailable)
	}
	return r.Handle.Append(ctx, b)
}
