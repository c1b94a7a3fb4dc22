package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"

	"a2a-server/a2a/dialect"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/testlog"
	"a2a-server/store"
	"a2a-server/store/boltstore"
	"a2a-server/store/memstore"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/planner/direct"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// disk is a backend that can be opened again after its engine has died.
type disk interface {
	handle(t testing.TB) store.Handle
	reopen(t testing.TB)
}

type memDisk struct{ db *memstore.DB }

func (d *memDisk) handle(t testing.TB) store.Handle { return mustHandle(t, d.db.Handle) }
func (d *memDisk) reopen(testing.TB)                { _ = d.db.Close(); d.db.Reopen() }

type boltDisk struct {
	path string
	db   *boltstore.DB
}

func (d *boltDisk) handle(t testing.TB) store.Handle {
	if d.db == nil {
		d.reopen(t)
	}
	return mustHandle(t, d.db.Handle)
}

func (d *boltDisk) reopen(t testing.TB) {
	if d.db != nil {
		if err := d.db.Close(); err != nil {
			t.Error(err)
		}
	}
	var err error
	if d.db, err = boltstore.Open(d.path); err != nil {
		t.Fatal(err)
	}
}

func mustHandle(t testing.TB, open func() (store.Handle, error)) store.Handle {
	t.Helper()
	h, err := open()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// world is an engine with tools whose runs are counted outside of it.
type world struct {
	t      testing.TB
	disk   disk
	store  store.Handle
	engine *engine.Engine
	tools  *toolbox
	cfg    engine.Config
	wrap   func(store.Handle) store.Handle // of the store, when set
	stop   func()
	n      int
}

var alice = auth.Principal{Tenant: "acme", Subject: "alice", Roles: []string{auth.RoleRequester}, Method: "test"}

// onEach runs a test on every backend.
func onEach(t *testing.T, test func(t *testing.T, w *world)) {
	t.Run("memstore", func(t *testing.T) {
		t.Parallel()
		test(t, newWorld(t, &memDisk{memstore.New()}, engine.Config{}))
	})
	t.Run("boltstore", func(t *testing.T) {
		t.Parallel()
		test(t, newWorld(t, newBolt(t), engine.Config{}))
	})
}

func newBolt(t testing.TB) *boltDisk {
	d := &boltDisk{path: filepath.Join(t.TempDir(), "store.db")}
	t.Cleanup(func() {
		if d.db != nil {
			_ = d.db.Close()
		}
	})
	return d
}

func newWorld(t testing.TB, d disk, cfg engine.Config) *world {
	t.Helper()
	w := &world{t: t, disk: d, tools: newToolbox(), cfg: cfg}
	w.start()
	t.Cleanup(func() { w.stop() })
	return w
}

// start starts an engine on the disk as it is.
func (w *world) start() {
	w.t.Helper()
	w.prepare()
	w.run()
}

// prepare is start without Run.
func (w *world) prepare() {
	w.t.Helper()
	cfg := w.cfg
	w.store = w.disk.handle(w.t)
	if w.wrap != nil {
		w.store = w.wrap(w.store)
	}
	cfg.Store = w.store
	cfg.Tools = tool.NewRegistry(tool.NewToolset("test", w.tools.all()...))
	if cfg.Planner == nil {
		cfg.Planner = direct.New(direct.Config{})
	}
	cfg.Presenter = dialect.New(dialect.Config{Keywords: true})
	cfg.Log = zerolog.New(testlog.New(w.t))
	e, err := engine.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.engine = e
	e.AssertTurns(func(problem string) { w.t.Error(problem) })
}

func (w *world) run() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	e := w.engine // w may get another
	go func() { ended <- e.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, errDead) {
			w.t.Errorf("Run() = %v", err)
		}
		_ = w.store.Close()
	})
}

// restart stops the engine and starts another on the same disk.
func (w *world) restart() {
	w.t.Helper()
	w.stop()
	w.disk.reopen(w.t)
	w.tools.reset()
	w.start()
}

func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	w.t.Cleanup(cancel)
	return ctx
}

// until waits for what nobody announces. It fails the test when that does not come.
func (w *world) until(what string, is func() bool) {
	w.t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for ctx := w.ctx(); !is(); {
		select {
		case <-look.C:
		case <-ctx.Done():
			w.t.Fatalf("never happened: %s", what)
		}
	}
}

// message is a user's message with a fresh id.
func (w *world) message(parts ...*a2a.Part) *a2a.Message {
	w.n++
	m := a2a.NewMessage(a2a.MessageRoleUser, parts...)
	m.ID = fmt.Sprintf("m%d", w.n)
	return m
}

type args map[string]any

// calls is a message that names calls: tool and arguments in turn.
func (w *world) calls(pairs ...any) *a2a.Message {
	var parts []*a2a.Part
	for i := 0; i < len(pairs); i += 2 {
		a, _ := pairs[i+1].(args)
		parts = append(parts, a2a.NewDataPart(map[string]any{"tool": pairs[i], "args": map[string]any(a)}))
	}
	return w.message(parts...)
}

// send sends a message and waits for the task to rest.
func (w *world) send(m *a2a.Message) *a2a.Task {
	w.t.Helper()
	sent, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: m})
	if err != nil {
		w.t.Fatalf("Send() = %v", err)
	}
	return w.await(sent)
}

func (w *world) await(sent *engine.Sent) *a2a.Task {
	w.t.Helper()
	if sent.Direct != nil {
		w.t.Fatalf("Send() answered with a message: %v", sent.Direct.Parts[0])
	}
	v, err := w.engine.Await(w.ctx(), sent)
	if err != nil {
		w.t.Fatalf("Await() = %v", err)
	}
	return w.task(v)
}

func (w *world) task(v *task.View) *a2a.Task {
	w.t.Helper()
	got, err := v.Task(task.ViewOptions{HistoryLength: -1})
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

func (w *world) get(id a2a.TaskID) *a2a.Task {
	w.t.Helper()
	v, err := w.engine.Get(w.ctx(), alice, string(id))
	if err != nil {
		w.t.Fatalf("Get(%s) = %v", id, err)
	}
	return w.task(v)
}

// settled waits until the task rests, whatever woke it. want may be empty.
func (w *world) settled(id a2a.TaskID, want a2a.TaskState) *a2a.Task {
	w.t.Helper()
	sid, _ := store.ParseTaskID(string(id))
	err := w.engine.Follow(w.ctx(), alice, sid, 0, engine.UntilInput, func([]engine.Event) error { return nil })
	if err != nil {
		w.t.Fatalf("Follow() = %v", err)
	}
	got := w.get(id)
	if want != "" {
		w.wantState(got, want)
	}
	return got
}

func (w *world) wantState(got *a2a.Task, want a2a.TaskState) {
	w.t.Helper()
	if got.Status.State != want {
		w.t.Fatalf("state = %s, want %s; %s", got.Status.State, want, statusText(got))
	}
}

func statusText(t *a2a.Task) string {
	if t.Status.Message == nil {
		return ""
	}
	s := ""
	for _, p := range t.Status.Message.Parts {
		s += p.Text()
	}
	return s
}

// pending returns the ids of the approvals that the task's status asks for.
func (w *world) pending(got *a2a.Task) []string {
	w.t.Helper()
	if got.Status.Message == nil {
		return nil
	}
	raw, err := json.Marshal(got.Status.Message.Metadata[dialect.URI])
	if err != nil {
		w.t.Fatal(err)
	}
	var q struct{ Approvals []struct{ ID string } }
	if err := json.Unmarshal(raw, &q); err != nil {
		w.t.Fatal(err)
	}
	var ids []string
	for _, a := range q.Approvals {
		ids = append(ids, a.ID)
	}
	return ids
}

// decision is a follow-up message with decisions in our extension.
func (w *world) decision(id a2a.TaskID, decisions ...map[string]any) *a2a.Message {
	list := make([]any, len(decisions))
	for i, d := range decisions {
		list[i] = d
	}
	m := w.message(a2a.NewDataPart(map[string]any{"type": "approval_response", "decisions": list}))
	m.TaskID = id
	return m
}

func approve(id string) map[string]any { return map[string]any{"id": id, "decision": "approve"} }
func reject(id, why string) map[string]any {
	return map[string]any{"id": id, "decision": "reject", "reason": why}
}

// toolbox holds the tools of a world. What they do is counted here, outside of any
// engine, as a ledger in the world outside would.
type toolbox struct {
	mu     sync.Mutex
	runs   map[string]int // by task, call and arguments
	total  map[string]int // by tool
	gate   chan struct{}  // block waits for it
	extra  []tool.Tool
	change func(*fake) // of each fake, as the next engine sees it
}

func newToolbox() *toolbox {
	return &toolbox{runs: map[string]int{}, total: map[string]int{}, gate: make(chan struct{})}
}

func (b *toolbox) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.gate:
	default:
		close(b.gate)
	}
}

func (b *toolbox) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gate = make(chan struct{})
}

func (b *toolbox) blocked() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.gate
}

func (b *toolbox) ran(ctx tool.Context, name string, a map[string]any) {
	raw, _ := json.Marshal(a)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runs[fmt.Sprintf("%s %s %s %s", ctx.TaskID(), ctx.FunctionCallID(), name, raw)]++
	b.total[name]++
}

func (b *toolbox) count(name string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total[name]
}

// fake is a tool made of functions.
type fake struct {
	name   string
	gated  bool
	is     tool.Annotations
	schema map[string]any
	call   func(ctx tool.Context, a map[string]any) (map[string]any, error)
}

func (f *fake) Name() string                  { return f.name }
func (f *fake) Description() string           { return "test tool " + f.name }
func (f *fake) IsLongRunning() bool           { return false }
func (f *fake) RequiresApproval() bool        { return f.gated }
func (f *fake) Annotations() tool.Annotations { return f.is }
func (f *fake) Schema() map[string]any        { return f.schema }
func (f *fake) Call(ctx tool.Context, a map[string]any) (map[string]any, error) {
	return f.call(ctx, a)
}

// streamer is a fake that streams.
type streamer struct {
	fake
	stream func(ctx tool.Context, a map[string]any) iter.Seq2[*tool.Result, error]
}

// Call hides nothing: a streamer is not called.
func (s *streamer) CallStreaming(ctx tool.Context, a map[string]any) iter.Seq2[*tool.Result, error] {
	return s.stream(ctx, a)
}

var errTool = errors.New("the tool says no")

func (b *toolbox) all() []tool.Tool {
	object := func(properties string, required ...string) map[string]any {
		s := map[string]any{"type": "object", "additionalProperties": false}
		var p map[string]any
		_ = json.Unmarshal([]byte(properties), &p)
		s["properties"] = p
		if len(required) > 0 {
			r := make([]any, len(required))
			for i, n := range required {
				r[i] = n
			}
			s["required"] = r
		}
		return s
	}
	money := object(`{"amount":{"type":"number"},"to":{"type":"string"}}`, "amount", "to")
	count := func(name string) func(tool.Context, map[string]any) (map[string]any, error) {
		return func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			b.ran(ctx, name, a)
			return map[string]any{"ok": true, "args": a}, nil
		}
	}
	tools := []tool.Tool{
		&fake{name: "echo", is: tool.Annotations{ReadOnly: true}, call: count("echo")},
		&fake{name: "write", schema: money, call: count("write")},
		&fake{name: "transfer", gated: true, schema: money, call: count("transfer")},
		&fake{name: "deadline", gated: true, call: count("deadline")},
		&fake{name: "again", is: tool.Annotations{Idempotent: true}, call: count("again")},
		&fake{name: "fail", call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			b.ran(ctx, "fail", a)
			return nil, errTool
		}},
		&fake{name: "panic", call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			b.ran(ctx, "panic", a)
			panic("tool broke")
		}},
		&fake{name: "block", call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			b.ran(ctx, "block", a)
			select {
			case <-b.blocked():
				return map[string]any{"ok": true}, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}},
		&fake{name: "stubborn", call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			b.ran(ctx, "stubborn", a)
			<-b.blocked()
			return map[string]any{"late": true}, nil
		}},
		&fake{name: "confirm", call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			if err := tool.RequestConfirmation(ctx, "really?", a); err != nil {
				return nil, err
			}
			b.ran(ctx, "confirm", a)
			return map[string]any{"ok": true}, nil
		}},
		&fake{name: "sleep", call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			if r, ok := tool.Resumed(ctx); ok {
				b.ran(ctx, "sleep", a)
				return map[string]any{"state": r.State}, nil
			}
			return nil, &tool.Suspension{Wake: time.Now().Add(20 * time.Millisecond), State: json.RawMessage(`{"n":1}`)}
		}},
		&fake{name: "question", call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			if r, ok := tool.Resumed(ctx); ok {
				b.ran(ctx, "question", a)
				return map[string]any{"answer": r.Answers[0].Response, "state": r.Answers[0].State}, nil
			}
			return nil, &tool.Suspension{Asks: []tool.Ask{{Kind: tool.AskQuestion, Hint: "which one?"}}}
		}},
		&streamer{fake: fake{name: "stream", is: tool.Annotations{ReadOnly: true}}, stream: func(ctx tool.Context, a map[string]any) iter.Seq2[*tool.Result, error] {
			n, _ := a["n"].(float64)
			return func(yield func(*tool.Result, error) bool) {
				b.ran(ctx, "stream", a)
				for i := range int(n) {
					if !yield(&tool.Result{Content: fmt.Sprintf("chunk %d;", i), Streaming: true}, nil) {
						return
					}
				}
				yield(&tool.Result{Content: "done"}, nil)
			}
		}},
	}
	for _, t := range tools {
		if f, ok := t.(*fake); ok && b.change != nil {
			b.change(f)
		}
	}
	return append(tools, b.extra...)
}

var (
	_ agent.ReadonlyContext = tool.Context(nil)
	_                       = approval.Pending
)

func rowsOf(id a2a.TaskID) store.RowQuery {
	return store.RowQuery{Kind: "approval", Task: mustID(id), Limit: 1000}
}

func fromSnapshot() store.From { return store.AtSnapshot() }

func pageLimit() store.Limit { return store.Limit{} }

func directPlanner() task.Planner { return direct.New(direct.Config{}) }
