package push_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/store/memstore"
	"a2a-server/task"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/record"
	"a2a-server/task/push"
)

// grow adds n statuses to a task that rests, with a webhook.
func (w *world) grow(id store.TaskID, n int) {
	w.t.Helper()
	page := must(w.handle.Read(w.ctx(), store.System(), id, store.After(0), store.Limit{}))
	b := &store.Batch{Scope: store.System(), Task: id, Rev: &page.Header.Rev}
	last := page.Events[len(page.Events)-1]
	for i := range page.Events {
		if record.Pushable(&page.Events[i]) {
			last = page.Events[i]
		}
	}
	for range n {
		b.Events = append(b.Events, store.Event{Public: true, Kind: last.Kind, Time: last.Time, Data: last.Data})
	}
	b.Rows = append(b.Rows, record.Ready(record.PushKey("hook", 1), store.Any, last.Time))
	must(w.handle.Append(w.ctx(), b).Wait())
}

// A webhook with much to be told of has its worker for 16 notifications; then others of its
// host have their turn.
func TestBacklogLeavesTurns(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start(true)
		const long, short, each = 4, 3, 60
		rc := newReceiver(t, nil)
		var ids []store.TaskID
		for i := range long + short {
			ids = append(ids, w.send("ask", hook(fmt.Sprintf("%s/%d", rc.URL, i))))
			if i < long {
				w.grow(ids[i], each)
			}
		}
		w.startPusher(w.handle)
		w.quiet()
		count := map[string]int{}
		for _, r := range rc.all() {
			count[r.path]++
			if r.path < fmt.Sprint("/", long) {
				continue
			}
			for i := range long {
				if n := count[fmt.Sprint("/", i)]; n > 3*16 {
					t.Errorf("%s is told after %d notifications of another webhook", r.path, n)
				}
			}
		}
		for i, id := range ids {
			wantInOrder(t, rc.at(fmt.Sprint("/", i)), w.pushable(id))
		}
	})
}

// However many new webhooks of one caller hang, each on a host of its own, they leave workers
// to those of other callers: those of another tenant with the same subject too.
func TestCallersLeaveWorkers(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		hangs := newHanging(t)
		defer hangs.end()
		w.shared = true
		w.config = func(c *push.Config) {
			c.Timeout = 30 * time.Second
			c.Client.Transport = hangs
		}
		w.start(true)
		for n := range 100 {
			w.send("echo", hook(fmt.Sprintf("http://hangs%d.example", n)))
		}
		w.startPusher(w.handle) // none hangs before all are there
		w.until("workers hang", func() bool { return hangs.now.Load() >= 16 })
		rc := newReceiver(t, nil)
		others := []auth.Principal{alice, alice}
		others[0].Subject, others[1].Tenant = "bob", "umbrella"
		for n, by := range others {
			id := w.sendAs(by, "echo", hook(fmt.Sprintf("%s/%d", rc.URL, n)))
			w.until("the webhook of another caller is notified", func() bool { return len(rc.at(fmt.Sprint("/", n))) == len(w.pushable(id)) })
			wantInOrder(t, rc.at(fmt.Sprint("/", n)), w.pushable(id))
		}
		if n := hangs.most.Load(); n != 16 || w.pusher.Stats().Refused > 0 {
			t.Errorf("%d webhooks of one caller hang at once, want 16; %+v", n, w.pusher.Stats())
		}
	})
}

// accept answers a notification.
func accept(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// The time for an answer is one second at least, and 30 at most. It begins with the request:
// what a server takes to encode a task is no failure of the webhook.
func TestTimeIsBounded(t *testing.T) {
	t.Parallel()
	for set, want := range map[time.Duration]time.Duration{
		time.Nanosecond: time.Second, 2 * time.Second: 2 * time.Second, 0: 15 * time.Second, time.Hour: 30 * time.Second, -time.Second: time.Second,
	} {
		w := &world{t: t, open: memstore.New().Handle}
		var encoded atomic.Pointer[time.Time]
		type deadline struct{ encoded, until, asked time.Time }
		has := make(chan deadline, 100)
		w.config = func(c *push.Config) {
			c.Timeout = set
			c.Legacy = func(v *task.View) ([]byte, error) {
				defer func() { encoded.Store(ptr(time.Now())) }()
				return legacy(v)
			}
			c.Client.Transport = transport(func(r *http.Request) (*http.Response, error) {
				until, _ := r.Context().Deadline()
				has <- deadline{*encoded.Load(), until, time.Now()}
				return accept(r)
			})
		}
		w.start(false)
		w.send("echo", hook03("http://a.example"))
		if d := <-has; d.until.Before(d.encoded.Add(want)) || d.until.After(d.asked.Add(want)) {
			t.Errorf("with %v, a request has until %v after its task was encoded, want %v", set, d.until.Sub(d.encoded), want)
		}
	}
}

func ptr[T any](v T) *T { return &v }

// A snapshot that is newer than an event is not what a webhook of version 0.3 gets for it.
func TestLegacyBodyBeforeASnapshot(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start(true)
		rc := newReceiver(t, nil)
		id := w.send("echo", hook03(rc.URL))
		var want []string
		read := fold.New(id, "")
		page, err := w.handle.Read(w.ctx(), store.System(), id, store.After(0), store.Limit{})
		if err != nil || page.More {
			t.Fatalf("Read() = more %v, %v", page.More, err)
		}
		for i := range page.Events {
			e := &page.Events[i]
			need(read.Apply(e))
			if !record.Pushable(e) {
				continue
			}
			body := must(legacy(read.View))
			want = append(want, string(body))
		}
		want = append(want, want[len(want)-1])
		last := page.Events[len(page.Events)-1]
		made := &store.Snapshot{After: last.Seq, Rev: page.Header.Rev}
		if made.Bytes, made.Bulk, err = read.Encode(fold.SnapshotParts{Fold: true, Artifacts: true}); err != nil {
			t.Fatal(err)
		}
		b := &store.Batch{
			Scope: store.System(), Task: id, Rev: &page.Header.Rev, Snapshot: made,
			Events: []store.Event{{Public: true, Kind: last.Kind, Time: last.Time, Data: last.Data}},
		}
		must(w.handle.Append(w.ctx(), b).Wait())
		if page, err = w.handle.Read(w.ctx(), store.System(), id, store.AtSnapshot(), store.Limit{}); err != nil || page.Header.Snapshot != last.Seq || !record.Pushable(&last) {
			t.Fatalf("the snapshot is of %d, want %d: %v", page.Header.Snapshot, last.Seq, err)
		}
		w.startPusher(w.handle)
		w.quiet()
		var got []string
		for _, r := range rc.all() {
			if got = append(got, r.body); r.header.Get("Content-Type") != "application/json" {
				t.Errorf("Content-Type = %q", r.header.Get("Content-Type"))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("it gets\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// A webhook of version 0.3 that waits until another task is encoded ends with the deliverer.
func TestStopsWhileOthersEncode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testStopsWhileOthersEncode)
}

func testStopsWhileOthersEncode(t *testing.T) {
	w := &world{t: t, open: memstore.New().Handle}
	let := make(chan struct{})
	var encoding atomic.Int64
	w.start(true)
	d := push.New(push.Config{Store: w.handle, Secrets: sealer{}, Client: &http.Client{Transport: transport(accept)}, View: w.engine.ViewAt, Legacy: func(v *task.View) ([]byte, error) {
		encoding.Add(1)
		<-let
		return legacy(v)
	}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	for i := range 10 {
		w.send("echo", hook03(fmt.Sprintf("http://host%d.example", i)))
	}
	w.until("all but four wait", func() bool { return encoding.Load() == 4 && d.Workers() == 10 })
	cancel()
	w.until("those that wait have ended", func() bool { return d.Workers() == 4 })
	close(let)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := encoding.Load(); n != 4 {
		t.Errorf("%d tasks were encoded, want 4", n)
	}
}
