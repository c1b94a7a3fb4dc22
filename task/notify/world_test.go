package notify_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/approval/dialect"
	"a2a-server/internal/testlog"
	"a2a-server/store"
	"a2a-server/store/boltstore"
	"a2a-server/store/memstore"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/notify"
	"a2a-server/task/planner/direct"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var alice = auth.Principal{Tenant: "acme", Subject: "alice", Roles: []string{auth.RoleRequester, auth.RoleApprover}, Method: "test"}

// world is an engine and a pump on one store.
type world struct {
	t       *testing.T
	open    func() (store.Handle, error)
	handle  store.Handle
	engine  *engine.Engine
	pump    *notify.Pump
	routes  []notify.Route
	prefix  string // of message ids
	log     zerolog.Logger
	config  func(*notify.Config)
	by      auth.Principal // zero: alice
	stops   []func()       // the newest first
	n       int            // messages
	changed bool           // the tools have other definitions
}

// inMemory runs a test in memory, in a bubble with a clock of its own.
func inMemory(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { run(t, test, memstore.New().Handle, func() {}) })
}

// onEach runs a test whose point is the end of a process on every backend.
func onEach(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	t.Run("memstore", func(t *testing.T) { inMemory(t, test) })
	t.Run("boltstore", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "store.db")
		synctest.Test(t, func(t *testing.T) {
			db := must(boltstore.Options{Ahead: 1 << 20}.Open(path)) // many are open at once
			run(t, test, db.Handle, func() { _ = db.Close() })
		})
	})
}

func run(t *testing.T, test func(t *testing.T, w *world), open func() (store.Handle, error), closed func()) {
	w := &world{t: t, open: open, log: zerolog.New(testlog.New(t))}
	defer closed()
	defer w.stop()
	test(t, w)
}

// receiver is a sender that keeps what it has accepted.
type receiver struct {
	mu    sync.Mutex
	got   []notify.Message
	tried int
	fails func(m *notify.Message, try int) error // nil: never
}

func (r *receiver) Send(ctx context.Context, m *notify.Message) error {
	r.mu.Lock()
	r.tried++
	fails, n := r.fails, r.tried
	r.mu.Unlock()
	if fails != nil {
		if err := fails(m, n); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, *m)
	return ctx.Err()
}

func (r *receiver) messages() []notify.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]notify.Message(nil), r.got...)
}

// tries returns how often it was tried.
func (r *receiver) tries() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tried
}

func (r *receiver) set(fails func(m *notify.Message, try int) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails = fails
}

var errDown = errors.New("connection failed")

func down(*notify.Message, int) error { return errDown }

// everything is a route for all new and ended approvals.
func everything(name string, r notify.Sender) notify.Route {
	return notify.Route{Route: task.Route{Name: name, All: true, Asked: true, Resolved: true}, Sender: r}
}

// asked is a route for all new approvals.
func asked(name string, r notify.Sender) notify.Route {
	return notify.Route{Route: task.Route{Name: name, All: true, Asked: true}, Sender: r}
}

func plain(routes []notify.Route) (all []task.Route) {
	for _, r := range routes {
		all = append(all, r.Route)
	}
	return all
}

// start starts an engine and a pump.
func (w *world) start(routes ...notify.Route) {
	w.t.Helper()
	w.startEngine(routes...)
	w.startPump()
}

func (w *world) startEngine(routes ...notify.Route) {
	w.t.Helper()
	w.handle, w.routes = must(w.open()), routes
	c := engine.Config{
		Store: w.handle, Planner: direct.New(direct.Config{}), Presenter: dialect.New(dialect.Config{}), Routes: plain(routes),
		Tools: w.tools(), Policy: w.policy(), Log: w.log,
	}
	w.engine = must(engine.New(c))
	w.background(w.engine.Run)
}

func (w *world) startPump() (stop func()) {
	c := notify.Config{Store: w.handle, Log: w.log, Link: func(id string) string { return "https://agent.example.com/ui/approvals/" + id }}
	if w.config != nil {
		w.config(&c)
	}
	w.pump = notify.New(c, w.routes)
	return w.background(w.pump.Run)
}

func (w *world) background(run func(context.Context) error) (stop func()) {
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

// restart ends the process and begins another on the same store.
func (w *world) restart(routes ...notify.Route) {
	w.t.Helper()
	w.stop()
	w.start(routes...)
}

func (w *world) tools() *tool.Registry {
	type in struct {
		To   string `json:"to,omitempty"`
		Card string `json:"card,omitempty"`
	}
	var all []tool.Tool
	about := "wants approval"
	if w.changed {
		about += ", still"
	}
	for _, name := range []string{"pay", "mail", "wire"} {
		all = append(all, must(functiontool.New(functiontool.Config{Name: name, Description: about, RequireApproval: true}, func(tool.Context, in) (string, error) {
			return "done", nil
		})))
	}
	return tool.NewRegistry(tool.NewToolset("test", all...))
}

func (w *world) policy() *approval.Policy {
	return must(approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{
		{Tool: "pay", Hint: "Pay {to} with {card}?", Terms: approval.Terms{Notify: []string{"payments"}, Mask: []string{"/card"}, Risk: approval.RiskHigh, Expires: 48 * time.Hour}},
		{Tool: "wire", Terms: approval.Terms{
			WaitingState: approval.WaitsInput, Notify: []string{"payments"}, Approvers: &approval.Approvers{Roles: []string{"finance"}}, Expires: 24 * time.Hour, Remind: 4 * time.Hour,
			Escalate: approval.Escalation{After: 8 * time.Hour, Notify: []string{"oncall"}, AddRoles: []string{"treasury"}},
		}},
	}}))
}

// ask sends a message that calls a tool, and returns its approval.
func (w *world) ask(name string) (id string) {
	w.t.Helper()
	w.n++
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"tool": name, "args": map[string]any{"to": "bob", "card": "4111"}}))
	m.ID = fmt.Sprint(w.prefix, "m", w.n)
	sent, err := w.engine.Send(context.Background(), engine.Send{By: w.asker(), Message: m})
	if err != nil {
		w.t.Fatalf("Send() = %v", err)
	}
	a := w.engine.ReserveRead(w.asker())
	defer a.Release()
	if _, err := a.Await(context.Background(), sent); err != nil {
		w.t.Fatalf("Await() = %v", err)
	}
	return sent.Task.String() + ".a1"
}

func (w *world) asker() auth.Principal {
	if w.by.IsZero() {
		return alice
	}
	return w.by
}

// reject rejects an approval.
func (w *world) reject(id string) {
	w.t.Helper()
	if err := w.engine.Approvals().Decide(context.Background(), alice, approval.Decision{ID: id, Type: approval.Reject, Reason: "too much"}); err != nil {
		w.t.Fatalf("Decide() = %v", err)
	}
}

// pass lets a time pass, until everything rests.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// rows returns the rows of notifications.
func (w *world) rows() (all []task.Notification) {
	w.t.Helper()
	page := must(w.handle.Rows(context.Background(), store.System(), store.RowQuery{Kind: task.RowNotify, Limit: 1000}))
	for i := range page.Rows {
		all = append(all, must(task.ParseNotification(&page.Rows[i])))
	}
	return all
}
