package push_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"a2a-server/auth"
	"a2a-server/approval/dialect"
	"a2a-server/store"
	"a2a-server/store/boltstore"
	"a2a-server/store/memstore"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/planner/direct"
	"a2a-server/task/push"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var alice = auth.Principal{Tenant: "acme", Subject: "alice", Roles: []string{auth.RoleRequester}, Method: "test"}

// bound is longer than any step takes: it only turns a hang into a failure.
const bound = 3 * time.Minute

// sealer hides a secret well enough for a test, and knows what it was bound to.
type sealer struct{}

func (sealer) Seal(secret, bound []byte) ([]byte, error) {
	return fmt.Appendf(nil, "%x|%s", bound, strings.ToUpper(string(secret))), nil
}

func (sealer) Open(sealed, bound []byte) ([]byte, error) {
	rest, ok := strings.CutPrefix(string(sealed), fmt.Sprintf("%x|", bound))
	if !ok {
		return nil, fmt.Errorf("a secret of another webhook")
	}
	return []byte(strings.ToLower(rest)), nil
}

// world is an engine and a deliverer on one store.
type world struct {
	t       testing.TB
	open    func() (store.Handle, error)
	handle  store.Handle
	engine  *engine.Engine
	pusher  *push.Deliverer
	log     *syncBuffer
	config  func(*push.Config)
	prepare func(*engine.Config)
	patient bool         // the backoff is that of a server
	shared  bool         // the workers are shared among callers
	stops   []func()     // of the newest first
	n       atomic.Int64 // messages
}

type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// inMemory runs a test in memory.
func inMemory(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	test(t, &world{t: t, open: memstore.New().Handle})
}

// onEach runs a test whose point is that another process takes over on every backend.
func onEach(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	t.Run("memstore", func(t *testing.T) { inMemory(t, test) })
	t.Run("boltstore", func(t *testing.T) {
		t.Parallel()
		test(t, newBolt(t))
	})
}

func newBolt(t testing.TB) *world {
	db := must(boltstore.Options{Ahead: 1 << 20}.Open(filepath.Join(t.TempDir(), "store.db")))
	t.Cleanup(func() { _ = db.Close() })
	return &world{t: t, open: db.Handle}
}

// start starts an engine and, unless idle, a deliverer.
func (w *world) start(idle bool) {
	w.t.Helper()
	if w.log == nil {
		w.log = &syncBuffer{}
		w.t.Cleanup(w.stop)
	}
	w.handle = must(w.open())
	c := engine.Config{
		Store: w.handle, Planner: direct.New(direct.Config{}), Presenter: dialect.New(dialect.Config{}), Push: sealer{},
		Tools: tool.NewRegistry(tool.NewToolset("test", w.tools()...)), Log: zerolog.New(w.log),
	}
	if w.prepare != nil {
		w.prepare(&c)
	}
	w.engine = must(engine.New(c))
	w.run(w.engine.Run)
	if !idle {
		w.startPusher(w.handle)
	}
}

// startPusher starts a deliverer and returns what stops it.
func (w *world) startPusher(h store.Handle) (stop func()) {
	w.t.Helper()
	c := push.Config{Store: h, Secrets: sealer{}, Client: &http.Client{Transport: &http.Transport{}}, Log: zerolog.New(w.log), Legacy: legacy, View: w.engine.ViewAt, Unshared: !w.shared}
	if w.config != nil {
		w.config(&c)
	}
	d := push.New(c)
	if !w.patient {
		d.SetBackoff(time.Millisecond, 20*time.Millisecond)
	}
	w.pusher = d
	end := w.run(d.Run)
	return func() {
		end()
		c.Client.CloseIdleConnections()
	}
}

func (w *world) run(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("Run() = %v", err)
		}
	})
	w.stops = append([]func(){stop}, w.stops...)
	return stop
}

func (w *world) stop() {
	for _, stop := range w.stops {
		stop()
	}
	w.stops = nil
}

// legacy is a stand-in for version 0.3.
func legacy(v *task.View) ([]byte, error) {
	t, err := v.Task(task.ViewOptions{HistoryLength: -1})
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"id": t.ID, "state": t.Status.State, "artifacts": len(t.Artifacts)})
}

func (w *world) tools() []tool.Tool {
	echo := must(functiontool.New(functiontool.Config{Name: "echo", Description: "echoes"}, func(_ tool.Context, in struct {
		Text string `json:"text,omitempty"`
	}) (string, error) {
		return in.Text, nil
	}))
	ask := must(functiontool.New(functiontool.Config{Name: "ask", Description: "wants approval", RequireApproval: true}, func(tool.Context, struct{}) (string, error) {
		return "done", nil
	}))
	return []tool.Tool{echo, ask}
}

func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	w.t.Cleanup(cancel)
	return ctx
}

func (w *world) message(name string, args map[string]any) *a2a.Message {
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"tool": name, "args": args}))
	m.ID = fmt.Sprint("m", w.n.Add(1))
	return m
}

// send sends a message of alice that calls a tool, with a webhook.
func (w *world) send(name string, c *engine.PushConfig) store.TaskID {
	w.t.Helper()
	return w.sendAs(alice, name, c)
}

func (w *world) sendAs(by auth.Principal, name string, c *engine.PushConfig) store.TaskID {
	w.t.Helper()
	sent, err := w.engine.Send(w.ctx(), engine.Send{By: by, Message: w.message(name, map[string]any{}), Push: c})
	if err != nil {
		w.t.Fatalf("Send() = %v", err)
	}
	a := w.engine.ReserveRead(by)
	defer a.Release()
	if _, err := a.Await(w.ctx(), sent); err != nil {
		w.t.Fatalf("Await() = %v", err)
	}
	return sent.Task
}

// hook returns a webhook of version 1.0.
func hook(url string) *engine.PushConfig {
	return &engine.PushConfig{ID: "hook", URL: url, Version: "1.0"}
}

// hook03 returns a webhook of version 0.3.
func hook03(url string) *engine.PushConfig {
	return &engine.PushConfig{ID: "hook", URL: url, Version: "0.3"}
}

// pushable returns the events that a webhook of a task has to be notified of.
func (w *world) pushable(id store.TaskID) (all []store.Event) {
	w.t.Helper()
	from := store.After(0)
	for {
		page := must(w.handle.Read(w.ctx(), store.System(), id, from, store.Limit{}))
		for i := range page.Events {
			if task.Pushable(&page.Events[i]) {
				all = append(all, page.Events[i])
			}
		}
		if !page.More {
			return all
		}
		from = page.Next
	}
}

func (w *world) rows(kind string) []store.Row {
	w.t.Helper()
	page := must(w.handle.Rows(w.ctx(), store.System(), store.RowQuery{Kind: kind, Limit: 1000}))
	return page.Rows
}

// states lists what there is of webhooks.
func (w *world) states(q push.Query) []push.State {
	w.t.Helper()
	states, next, err := push.List(w.ctx(), w.handle, store.System(), time.Now(), q)
	if err != nil || next != "" {
		w.t.Fatalf("List() = %v, %q, %v, want a page", states, next, err)
	}
	return states
}

// set sets the webhook of a task.
func (w *world) set(id store.TaskID, c *engine.PushConfig) *engine.PushConfig {
	w.t.Helper()
	set, err := w.engine.SetPush(w.ctx(), alice, id, *c)
	if err != nil {
		w.t.Fatalf("SetPush() = %v", err)
	}
	return &set
}

func (w *world) cancel(id store.TaskID) {
	w.t.Helper()
	need(w.engine.Tasks().Cancel(w.ctx(), alice, id.String()))
}

// wantRows checks how many rows there are of what is kept of webhooks.
func (w *world) wantRows(want int, kinds ...string) {
	w.t.Helper()
	for _, kind := range kinds {
		if rows := w.rows(kind); len(rows) != want {
			w.t.Errorf("%s: %d rows, want %d", kind, len(rows), want)
		}
	}
}

// idle waits until no worker is at work.
func (w *world) idle() {
	w.t.Helper()
	w.until("all workers end", func() bool { return w.pusher.Workers() == 0 })
}

// said waits for a text in the log, and returns how often it is there.
func (w *world) said(text string) int {
	w.t.Helper()
	w.until("the log says "+text, func() bool { return strings.Contains(w.log.String(), text) })
	return strings.Count(w.log.String(), text)
}

// until waits for what nobody announces.
func (w *world) until(what string, is func() bool) {
	w.t.Helper()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for ctx := w.ctx(); !is(); {
		select {
		case <-look.C:
		case <-ctx.Done():
			w.t.Fatalf("never happened: %s\n%s", what, w.log)
		}
	}
}

// quiet waits until no webhook has anything to be notified of.
func (w *world) quiet() {
	w.t.Helper()
	w.until("no webhook is ready", func() bool { return len(w.rows(task.RowPushReady)) == 0 })
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// hanging sends requests, but to hosts that hang.
type hanging struct {
	direct    http.Transport
	fails     func(host string) error // before it hangs; nil: it does not
	now, most atomic.Int64            // requests that hang
	ended     chan struct{}
	end       func() // breaks their connections: whoever stops the deliverer then waits for none
}

func newHanging(t *testing.T) *hanging {
	h := &hanging{ended: make(chan struct{})}
	h.end = sync.OnceFunc(func() { close(h.ended) })
	t.Cleanup(h.direct.CloseIdleConnections)
	return h
}

func (h *hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.URL.Host, "hangs") {
		return h.direct.RoundTrip(r)
	}
	if h.fails != nil {
		if err := h.fails(r.URL.Host); err != nil {
			return nil, err
		}
	}
	n := h.now.Add(1)
	for m := h.most.Load(); n > m && !h.most.CompareAndSwap(m, n); m = h.most.Load() {
	}
	defer h.now.Add(-1)
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-h.ended:
		return nil, syscall.ECONNRESET
	}
}

// held is a receiver that answers nothing until it is let.
func held(t testing.TB) (rc *receiver, came <-chan struct{}, let func()) {
	ch, open := make(chan struct{}, 100), make(chan struct{})
	rc = newReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		ch <- struct{}{}
		select {
		case <-open:
		case <-r.Context().Done():
		}
	})
	let = sync.OnceFunc(func() { close(open) })
	t.Cleanup(let) // before the receiver closes
	return rc, ch, let
}

// received is a request that a receiver got.
type received struct {
	path   string
	header http.Header
	body   string
}

// receiver is a webhook's other end.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	got   []received
	reply func(n int, w http.ResponseWriter, r *http.Request) // n counts the requests of a path, from 0
	n     map[string]int
	now   map[string]int // requests of a path that are under way
	both  []string       // paths that had two at once
}

func newReceiver(t testing.TB, reply func(n int, w http.ResponseWriter, r *http.Request)) *receiver {
	rc := &receiver{reply: reply, n: map[string]int{}, now: map[string]int{}}
	rc.Server = httptest.NewServer(rc)
	t.Cleanup(rc.Close)
	return rc
}

func (rc *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	rc.mu.Lock()
	n := rc.n[r.URL.Path]
	rc.n[r.URL.Path]++
	if rc.now[r.URL.Path]++; rc.now[r.URL.Path] > 1 {
		rc.both = append(rc.both, r.URL.Path)
	}
	rc.got = append(rc.got, received{r.URL.Path, r.Header, string(body)})
	rc.mu.Unlock()
	defer func() {
		rc.mu.Lock()
		defer rc.mu.Unlock()
		rc.now[r.URL.Path]--
	}()
	if rc.reply != nil {
		rc.reply(n, w, r)
	}
}

func (rc *receiver) all() []received {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return append([]received(nil), rc.got...)
}

func (rc *receiver) at(path string) (of []received) {
	for _, r := range rc.all() {
		if r.path == path {
			of = append(of, r)
		}
	}
	return of
}

// wantInOrder checks that bodies, without what is repeated, are those of the events. A
// process that has been taken over may repeat the one that it was sending.
func wantInOrder(t testing.TB, got []received, want []store.Event) {
	t.Helper()
	var bodies []string
	of := map[string]string{}
	for _, r := range got {
		id := r.header.Get(push.HeaderID)
		if body, known := of[id]; known {
			if body != r.body {
				t.Errorf("%s has two bodies", id)
			}
			continue
		}
		bodies, of[id] = append(bodies, r.body), r.body
	}
	if len(bodies) != len(want) {
		t.Fatalf("%d notifications, want %d: %s", len(bodies), len(want), bodies)
	}
	for i := range want {
		if bodies[i] != string(want[i].Data) {
			t.Errorf("notification %d is %s, want %s", i, bodies[i], want[i].Data)
		}
	}
}
