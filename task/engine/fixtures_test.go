package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/approval/dialect"
	"a2a-server/store"
	"a2a-server/store/storetest"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/planner/direct"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

var alice = auth.Principal{Tenant: "acme", Subject: "alice", Roles: []string{auth.RoleRequester}, Method: "test"}

func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), ofTest{}, true), time.Minute)
	w.t.Cleanup(cancel)
	return ctx
}

// ofTest marks the contexts of requests of a test: an engine has reads of its own, also after its start.
type ofTest struct{}

// countRequests returns a counter of the calls of a store for a test's requests.
func countRequests() *storetest.Counted {
	return &storetest.Counted{Of: func(ctx context.Context) bool { return ctx.Value(ofTest{}) != nil }}
}

// message is a user's message with a fresh id.
func (w *world) message(parts ...*a2a.Part) *a2a.Message {
	w.n++
	m := a2a.NewMessage(a2a.MessageRoleUser, parts...)
	m.ID = fmt.Sprintf("m%d", w.n)
	return m
}

// reply is a message to a task.
func (w *world) reply(id a2a.TaskID, parts ...*a2a.Part) *a2a.Message {
	m := w.message(parts...)
	m.TaskID = id
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

// sendAs sends a message for somebody, and waits for nothing but its being durable.
func (w *world) sendAs(by auth.Principal, m *a2a.Message) (*engine.Sent, error) {
	return w.engine.Send(w.ctx(), engine.Send{By: by, Message: m})
}

// sent is sendAs for alice, whose message has to be taken.
func (w *world) sent(m *a2a.Message) *engine.Sent {
	w.t.Helper()
	sent, err := w.sendAs(alice, m)
	if err != nil {
		w.t.Fatalf("Send() = %v", err)
	}
	return sent
}

// send sends a message and waits for the task to rest.
func (w *world) send(m *a2a.Message) *a2a.Task {
	w.t.Helper()
	return w.await(w.sent(m))
}

func (w *world) await(sent *engine.Sent) *a2a.Task {
	w.t.Helper()
	if sent.Direct != nil {
		w.t.Fatalf("Send() answered with a message: %v", sent.Direct.Parts[0])
	}
	v, err := w.engine.Waited(w.ctx(), sent)
	if err != nil {
		w.t.Fatalf("Waited() = %v", err)
	}
	return w.task(v)
}

func (w *world) task(v *task.View) *a2a.Task {
	w.t.Helper()
	got, err := v.Task(task.ViewOptions{HistoryLength: -1})
	w.must(err)
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
	w.must(err)
	var q struct{ Approvals []struct{ ID string } }
	w.must(json.Unmarshal(raw, &q))
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
	return w.reply(id, a2a.NewDataPart(map[string]any{"type": "approval_response", "decisions": list}))
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
	stream func(ctx tool.Context, a map[string]any, yield func(*tool.Result, error) bool)
}

// Call hides nothing: a streamer is not called.
func (s *streamer) CallStreaming(ctx tool.Context, a map[string]any) iter.Seq2[*tool.Result, error] {
	return func(yield func(*tool.Result, error) bool) { s.stream(ctx, a, yield) }
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
			return nil, &tool.Suspension{Asks: []tool.Question{{Kind: tool.AskQuestion, Hint: "which one?"}}}
		}},
		&streamer{fake: fake{name: "stream", is: tool.Annotations{ReadOnly: true}}, stream: func(ctx tool.Context, a map[string]any, yield func(*tool.Result, error) bool) {
			n, _ := a["n"].(float64)
			b.ran(ctx, "stream", a)
			for i := range int(n) {
				if !yield(piece(fmt.Sprintf("chunk %d;", i)), nil) {
					return
				}
			}
			yield(&tool.Result{Content: "done"}, nil)
		}},
	}
	for _, t := range tools {
		if f, ok := t.(*fake); ok && b.change != nil {
			b.change(f)
		}
	}
	return append(tools, b.extra...)
}

func directPlanner() task.Planner { return direct.New(direct.Config{}) }

var bob = auth.Principal{Tenant: "acme", Subject: "bob", Roles: []string{auth.RoleRequester, auth.RoleApprover}, Method: "test"}

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

// asked returns all approvals of a task, oldest first. It may be called from any
// goroutine.
func (w *world) asked(id a2a.TaskID) []approval.Approval {
	page, err := w.store.Rows(context.Background(), store.System(), store.RowQuery{Kind: task.RowApproval, Task: mustID(id), Limit: 1000})
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

// asksOutcome returns the one approval of a task that is pending, which has to be that of the
// outcome of a call.
func (w *world) asksOutcome(id a2a.TaskID) approval.Approval {
	w.t.Helper()
	a := w.onlyOne(id)
	if a.Kind != approval.KindOutcome {
		w.t.Fatalf("a person is asked about the %s, want the outcome", a.Kind)
	}
	return a
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

// events returns the first thousand events of a task.
func (w *world) events(id a2a.TaskID) []store.Event {
	w.t.Helper()
	p, err := w.store.Read(context.Background(), store.System(), mustID(id), store.After(0), store.Limit{Events: 1000})
	w.must(err)
	return p.Events
}

// rest waits until nobody runs a task any more.
func (w *world) rest(id a2a.TaskID) {
	w.t.Helper()
	w.until("the task comes to rest", func() bool { return w.header(id).Phase != store.Live })
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
	w.must(err)
	var of []store.Due
	for _, d := range all {
		if d.Task == mustID(id) {
			of = append(of, d)
		}
	}
	return of
}

// nothingDue checks that a task has no due row.
func (w *world) nothingDue(id a2a.TaskID) {
	w.t.Helper()
	for _, d := range w.dueOf(id) {
		w.t.Errorf("work of kind %s, %q is still due at %s", d.Kind, d.Key, d.Time.Time())
	}
}

// begin sends a message and returns its task, at work or not.
func (w *world) begin(m *a2a.Message) a2a.TaskID {
	w.t.Helper()
	sent := w.sent(m)
	if sent.Direct != nil {
		w.t.Fatalf("Send() answered with a message: %v", sent.Direct.Parts[0])
	}
	return a2a.TaskID(sent.Task.String())
}

// decide gives an answer that does not come from the A2A client. It may be called
// from any goroutine.
func (w *world) decide(by auth.Principal, id a2a.TaskID, answer approval.Decision) error {
	return w.engine.DecideVia(w.ctx(), approval.ViaAPI, by, engine.ScopeFor(alice, auth.Read), mustID(id), answer)
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

// approves has bob approve the one approval of a task that is pending.
func (w *world) approves(id a2a.TaskID) {
	w.t.Helper()
	w.must(w.decide(bob, id, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Approve}))
}

// cancel has alice cancel a task.
func (w *world) cancel(id a2a.TaskID) {
	w.t.Helper()
	w.must(w.engine.Cancel(w.ctx(), alice, mustID(id)))
}

// wantRuns checks how often a tool of the toolbox has run.
func (w *world) wantRuns(tool string, want int) {
	w.t.Helper()
	if n := w.tools.count(tool); n != want {
		w.t.Errorf("%s ran %d times, want %d", tool, n, want)
	}
}

// counted is how often a tool was entered, and what it waits for when it is.
type counted struct {
	mu      sync.Mutex
	entered map[string]int // by task
	total   int
	door    chan struct{}
}

func newCounted() *counted { return &counted{entered: map[string]int{}, door: make(chan struct{})} }

// counted returns a count whose door is opened at the end of the test.
func (w *world) counted() *counted {
	c := newCounted()
	w.t.Cleanup(c.open)
	return c
}

// enters is a call of a tool that is counted, and done.
func (c *counted) enters(ctx tool.Context, _ map[string]any) (map[string]any, error) {
	c.enter(ctx)
	return args{}, nil
}

// holds is a call of a tool that is counted, and holds whatever becomes of it.
func (c *counted) holds(ctx tool.Context, _ map[string]any) (map[string]any, error) {
	c.enter(ctx)
	c.hold()
	return args{"late": true}, nil
}

// holdsOnce is a call of a tool that is counted, and the first time waits to be told to end.
func (c *counted) holdsOnce(ctx tool.Context, _ map[string]any) (map[string]any, error) {
	if c.enter(ctx) > 1 {
		return args{"ok": true}, nil
	}
	return nil, c.holdOr(ctx)
}

// want checks how often the tool was entered.
func (c *counted) want(t testing.TB, want int) {
	t.Helper()
	if n := c.count(); n != want {
		t.Errorf("the tool was entered %d times, want %d", n, want)
	}
}

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

// witness has the world planned for by a witness.
func (w *world) witness() *witness {
	p := newWitness()
	w.cfg.Planner = p
	return p
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

// outlet is a toolset that may be out of reach.
type outlet struct {
	tools []tool.Tool

	mu   sync.Mutex
	down bool
}

var errDown = errors.New("connection refused")

func (r *outlet) Name() string { return "outlet" }

func (r *outlet) Tools(agent.ReadonlyContext) ([]tool.Tool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return nil, errDown
	}
	return r.tools, nil
}

func (r *outlet) set(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
}

// callsOf is a step of calls: tool and arguments in turn.
func callsOf(pairs ...string) *task.Step {
	s := &task.Step{}
	for i := 0; i < len(pairs); i += 2 {
		s.Calls = append(s.Calls, task.PlannedCall{Tool: pairs[i], Args: []byte(pairs[i+1])})
	}
	return s
}

func mustID(id a2a.TaskID) store.TaskID {
	parsed, _ := store.ParseTaskID(string(id))
	return parsed
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
