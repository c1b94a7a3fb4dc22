package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"

	"a2a-server/a2a/dialect"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/testlog"
	"a2a-server/store"
	"a2a-server/store/memstore"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/planner/direct"
	"a2a-server/tool"
)

var bob = auth.Principal{Tenant: "acme", Subject: "bob", Roles: []string{auth.RoleRequester, auth.RoleApprover}, Method: "test"}

// eachDisk gives a test a world on every backend. It has not been started: the test
// says first what is in it.
func eachDisk(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("memstore", func(t *testing.T) {
		t.Parallel()
		test(t, unstarted(t, &memDisk{memstore.New()}))
	})
	t.Run("boltstore", func(t *testing.T) {
		t.Parallel()
		test(t, unstarted(t, newBolt(t)))
	})
}

// eachDiskTimed is eachDisk in bubbles of their own, where time passes when nothing
// else can happen.
func eachDiskTimed(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("memstore", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { test(t, unstarted(t, &memDisk{memstore.New()})) })
	})
	t.Run("boltstore", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { test(t, unstarted(t, newBolt(t))) })
	})
}

// unstarted returns a world whose engine has not been started. What its tools wait
// for is released at the end of the test, and its engine stopped, in bounded time.
func unstarted(t testing.TB, d disk) *world {
	w := &world{t: t, disk: d, tools: newToolbox(), stop: func() {}}
	t.Cleanup(func() {
		w.tools.release()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w.stop()
		}()
		if !within(patience, ended) {
			t.Errorf("the engine has not stopped after %v", patience)
		}
	})
	return w
}

// patience is how long a test waits for what an engine that works does at once.
const patience = time.Minute

// within reports whether done is closed before the limit.
func within(limit time.Duration, done <-chan struct{}) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// soon reports whether something that nobody announces comes before patience ends.
// Unlike until it leaves it to the test to say what is wrong.
func (w *world) soon(is func() bool) bool {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	over := time.NewTimer(patience)
	defer over.Stop()
	for !is() {
		select {
		case <-look.C:
		case <-over.C:
			return is()
		}
	}
	return true
}

// startAs starts an engine on the disk as it is. change has the last word on its
// configuration.
func (w *world) startAs(change func(*engine.Config)) {
	w.t.Helper()
	cfg := w.cfg
	w.store = w.disk.handle(w.t)
	if w.wrap != nil {
		w.store = w.wrap(w.store)
	}
	cfg.Store = w.store
	cfg.Tools = tool.NewRegistry(tool.NewToolset("test", w.tools.all()...))
	cfg.Planner = direct.New(direct.Config{})
	cfg.Presenter = dialect.New(dialect.Config{Keywords: true})
	cfg.Log = zerolog.New(testlog.New(w.t))
	change(&cfg)
	e, err := engine.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	e.AssertTurns(func(problem string) { w.t.Error(problem) })
	w.engine = e
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	h := w.store
	w.stop = sync.OnceFunc(func() {
		cancel()
		<-ended //nolint:errcheck // that of a process that dies is of no interest
		_ = h.Close()
	})
}

// restartAs is restart for an engine that startAs has started.
func (w *world) restartAs(change func(*engine.Config)) {
	w.t.Helper()
	w.stop()
	w.disk.reopen(w.t)
	w.tools.reset()
	w.startAs(change)
}

// killer ends the process of a world: from die on nothing that its engine does
// reaches the disk.
type killer struct{ last *mortal }

func (k *killer) wrap(h store.Handle) store.Handle {
	k.last = &mortal{Handle: h}
	return k.last
}

func (k *killer) die() { k.last.dead.Store(true) }

// asked returns all approvals of a task, oldest first. It may be called from any
// goroutine.
func (w *world) asked(id a2a.TaskID) []approval.Approval {
	page, err := w.store.Rows(context.Background(), store.System(), rowsOf(id))
	if err != nil {
		w.t.Errorf("Rows(%s) = %v", id, err)
	}
	all := make([]approval.Approval, len(page.Rows))
	for _, r := range page.Rows {
		var a approval.Approval
		n := 0
		err := json.Unmarshal(r.Value, &a)
		if err == nil {
			_, err = fmt.Sscanf(strings.TrimPrefix(a.ID, string(id)), ".a%d", &n)
		}
		if err != nil || n < 1 || n > len(all) {
			w.t.Errorf("approval row %q: %v", r.Key, err)
			continue
		}
		all[n-1] = a
	}
	return all
}

// waiting returns the approvals of a task that are pending, oldest first. It may be
// called from any goroutine.
func (w *world) waiting(id a2a.TaskID) []approval.Approval {
	var pending []approval.Approval
	for _, a := range w.asked(id) {
		if a.State == approval.Pending {
			pending = append(pending, a)
		}
	}
	return pending
}

func idsOf(approvals []approval.Approval) []string {
	ids := []string{}
	for i := range approvals {
		ids = append(ids, approvals[i].ID)
	}
	return ids
}

// onlyOne returns the one approval of a task that is pending.
func (w *world) onlyOne(id a2a.TaskID) approval.Approval {
	w.t.Helper()
	pending := w.waiting(id)
	if len(pending) != 1 {
		w.t.Fatalf("%v are pending, want one approval", idsOf(pending))
	}
	return pending[0]
}

// header returns what is known of a task without its log. It may be called from any
// goroutine.
func (w *world) header(id a2a.TaskID) store.Header {
	v, err := w.store.Read(context.Background(), store.System(), mustID(id), store.After(0), store.Limit{Events: 1, Bytes: 1})
	if err != nil {
		w.t.Errorf("Read(%s) = %v", id, err)
	}
	return v.Header
}

// rested waits until nobody runs a task any more, and reports whether that came.
func (w *world) rested(id a2a.TaskID) bool {
	return w.soon(func() bool { return w.header(id).Phase != store.Live })
}

// ended waits for the end of a task and returns it.
func (w *world) ended(id a2a.TaskID) *a2a.Task {
	w.t.Helper()
	if !w.soon(func() bool { return w.header(id).Phase == store.Final }) {
		h := w.header(id)
		w.t.Fatalf("task %s has not ended after %v: it is %s, phase %d, with %d pending approvals and %d due rows",
			id, patience, w.get(id).Status.State, h.Phase, h.Pending, h.Due)
	}
	return w.get(id)
}

// dueOf returns the due rows of a task, whenever they are due.
func (w *world) dueOf(id a2a.TaskID) []store.Due {
	w.t.Helper()
	all, _, err := w.store.Due(context.Background(), store.MillisOf(time.Now().AddDate(100, 0, 0)), "", 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	var of []store.Due
	for _, d := range all {
		if d.Task == mustID(id) {
			of = append(of, d)
		}
	}
	return of
}

// begin sends a message and returns its task, at work or not.
func (w *world) begin(m *a2a.Message) a2a.TaskID {
	w.t.Helper()
	sent, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: m})
	if err != nil {
		w.t.Fatalf("Send() = %v", err)
	}
	if sent.Direct != nil {
		w.t.Fatalf("Send() answered with a message: %v", sent.Direct.Parts[0])
	}
	return a2a.TaskID(sent.Task.String())
}

// decide gives an answer that does not come from the A2A client. It may be called
// from any goroutine.
func (w *world) decide(by auth.Principal, id a2a.TaskID, answer approval.Answer) error {
	return w.engine.Decide(w.ctx(), engine.Decision{
		By: by, Via: approval.ViaAPI, Scope: engine.ScopeFor(alice, auth.Read), Task: mustID(id), Answers: []approval.Answer{answer},
	})
}

// artifact returns the artifact of a call, nil when it has none.
func artifact(t *a2a.Task, call string) *a2a.Artifact {
	for _, a := range t.Artifacts {
		if string(a.ID) == call {
			return a
		}
	}
	return nil
}

// counted is how often a tool was entered, and what it waits for when it is.
type counted struct {
	mu      sync.Mutex
	entered map[string]int // by task
	total   int
	door    chan struct{}
}

func newCounted() *counted { return &counted{entered: map[string]int{}, door: make(chan struct{})} }

// enter counts a run and returns its number within its task.
func (c *counted) enter(ctx tool.Context) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total++
	c.entered[ctx.TaskID()]++
	return c.entered[ctx.TaskID()]
}

// count returns how often the tool was entered.
func (c *counted) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// hold waits for open, whatever becomes of the call: it ignores that it is told to
// end.
func (c *counted) hold() { <-c.door }

// holdOr waits for open or for the end of the call.
func (c *counted) holdOr(ctx tool.Context) error {
	select {
	case <-c.door:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// open lets everything continue that holds, or will.
func (c *counted) open() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.door:
	default:
		close(c.door)
	}
}

// witness is a planner that keeps what it is told of calls.
type witness struct {
	task.Planner
	mu      sync.Mutex
	results map[string][]task.Result // by task
}

func newWitness() *witness {
	return &witness{Planner: directPlanner(), results: map[string][]task.Result{}}
}

func (p *witness) Plan(ctx context.Context, at *task.Progress) (*task.Step, error) {
	var all []task.Result
	for _, s := range at.Steps {
		all = append(all, s.Calls...)
	}
	p.mu.Lock()
	p.results[at.Task] = all
	p.mu.Unlock()
	return p.Planner.Plan(ctx, at)
}

// result returns what the planner was told of a call.
func (p *witness) result(id a2a.TaskID, call string) (task.Result, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.results[string(id)] {
		if r.Call.ID == call {
			return r, true
		}
	}
	return task.Result{}, false
}

// mustResult is result for a call that has ended.
func (w *world) mustResult(p *witness, id a2a.TaskID, call string) task.Result {
	w.t.Helper()
	r, ok := p.result(id, call)
	if !ok {
		w.t.Fatalf("the planner was told of no call %s of task %s", call, id)
	}
	return r
}

func respond(id string) map[string]any {
	return map[string]any{"id": id, "decision": "respond", "response": "the blue one"}
}
