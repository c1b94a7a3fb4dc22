package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"pgregory.net/rapid"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/store/memstore"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// mortal is a store whose process may die: from then on nothing reaches the disk,
// and whoever asks gets an error.
type mortal struct {
	store.Handle
	dead atomic.Bool
}

var errDead = errors.New("the process is dead")

func (m *mortal) Append(ctx context.Context, b *store.Batch) *store.Commit {
	if m.dead.Load() {
		return store.Failed(errDead)
	}
	return m.Handle.Append(ctx, b)
}

func (m *mortal) Read(ctx context.Context, s store.Scope, id store.TaskID, from store.From, l store.Limit) (store.LogPage, error) {
	if m.dead.Load() {
		return store.LogPage{}, errDead
	}
	return m.Handle.Read(ctx, s, id, from, l)
}

func (m *mortal) Due(ctx context.Context, now store.Millis, after store.DuePosition, limit int) ([]store.Due, store.Millis, error) {
	if m.dead.Load() {
		return nil, 0, errDead
	}
	return m.Handle.Due(ctx, now, after, limit)
}

// op is one thing that the world outside does to a server.
type op struct {
	What  string
	A, B  int
	Tools []int
	Pause int
}

var opGen = rapid.Custom(func(t *rapid.T) op {
	return op{
		What:  rapid.SampledFrom([]string{"send", "send", "send", "decide", "decide", "decide", "again", "text", "cancel", "crash", "restart", "release", "sleep"}).Draw(t, "what"),
		A:     rapid.IntRange(0, 1000).Draw(t, "a"),
		B:     rapid.IntRange(0, 1000).Draw(t, "b"),
		Tools: rapid.SliceOfN(rapid.IntRange(0, 100), 1, 3).Draw(t, "tools"),
		Pause: rapid.IntRange(0, 3).Draw(t, "pause"),
	}
})

// acked is a decision that was acknowledged.
type acked struct {
	task a2a.TaskID
	id   string
	verb approval.Verb
}

// ends is the state in which each decision leaves an approval.
var ends = map[approval.Verb]approval.State{
	approval.Approve: approval.Approved, approval.Edit: approval.Edited, approval.Reject: approval.Rejected,
	approval.Respond: approval.Responded, approval.Cancel: approval.Canceled,
}

// TestInterleavings drives an engine through random messages, decisions, cancels,
// deadlines, late results, crashes and restarts, and checks what must never happen
// against the tools' own ledger.
func TestInterleavings(t *testing.T) {
	for _, backend := range []string{"memstore", "boltstore"} {
		t.Run(backend, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				ops := rapid.SliceOfN(opGen, 5, 40).Draw(rt, "ops")
				hold := rapid.Bool().Draw(rt, "hold siblings")
				var failed []string
				synctest.Test(t, func(t *testing.T) {
					var d disk = &memDisk{memstore.New()}
					if backend == "boltstore" {
						d = newBolt(t)
					}
					failed = interleave(t, d, ops, hold)
				})
				for _, f := range failed {
					rt.Errorf("%s", f)
				}
			})
		})
	}
}

type chaos struct {
	*world
	mortal *mortal
	tasks  []a2a.TaskID
	sent   []*a2a.Message
	mu     sync.Mutex
	acks   []acked
	wg     sync.WaitGroup
	failed []string
}

func (c *chaos) fail(format string, args ...any) {
	c.failed = append(c.failed, fmt.Sprintf(format, args...))
}

var chaosTools = []string{"echo", "write", "transfer", "transfer", "deadline", "confirm", "sleep", "question", "block", "stubborn", "stream", "fail", "again"}

func interleave(t *testing.T, d disk, ops []op, hold bool) []string {
	policy, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{
		{Tool: "deadline", Terms: approval.Terms{Expires: 50 * time.Millisecond}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c := &chaos{}
	c.world = &world{t: t, disk: d, tools: newToolbox(), cfg: engine.Config{
		HoldSiblings: hold, Policy: policy,
		Limits: task.Limits{Turns: 4, ToolTimeout: 200 * time.Millisecond, ToolGrace: 20 * time.Millisecond},
	}}
	c.wrap = func(h store.Handle) store.Handle { c.mortal = &mortal{Handle: h}; return c.mortal }
	c.start()
	defer func() { c.stop() }()
	for _, o := range ops {
		c.do(o)
		time.Sleep(time.Duration(o.Pause) * 7 * time.Millisecond) // of the bubble's clock
	}
	c.wg.Wait()
	if c.finish(); len(c.failed) == 0 {
		c.check()
	}
	return c.failed
}

func (c *chaos) do(o op) {
	switch o.What {
	case "send":
		var pairs []any
		for _, n := range o.Tools {
			name := chaosTools[n%len(chaosTools)]
			a := args{"amount": o.A % 5, "to": "x"}
			if name == "stream" {
				a = args{"n": o.B % 50}
			}
			pairs = append(pairs, name, a)
		}
		m := c.calls(pairs...)
		c.sent = append(c.sent, m)
		c.post(m)
	case "again":
		if len(c.sent) > 0 {
			c.post(c.sent[o.A%len(c.sent)])
		}
	case "text", "decide":
		if len(c.tasks) == 0 {
			return
		}
		id := c.tasks[o.A%len(c.tasks)]
		m := c.message(a2a.NewTextPart([]string{"yes", "no", "perhaps"}[o.B%3]))
		m.TaskID = id
		var a acked
		if o.What == "decide" {
			ids := c.approvals(id)
			if len(ids) == 0 {
				return
			}
			a = acked{id, ids[o.B%len(ids)], []approval.Verb{"approve", "approve", "reject", "edit", "respond", "cancel"}[(o.A+o.B)%6]}
			d := map[string]any{"id": a.id, "decision": string(a.verb)}
			if a.verb == approval.Edit {
				d["arguments"] = map[string]any{"amount": 9, "to": "edited"}
			}
			if a.verb == approval.Respond {
				d["response"] = "as you like"
			}
			m = c.decision(id, d)
		}
		e := c.engine
		c.wg.Go(func() {
			_, err := e.Send(context.Background(), engine.Send{By: alice, Message: m})
			if err == nil && a.id != "" {
				c.mu.Lock()
				c.acks = append(c.acks, a)
				c.mu.Unlock()
			}
		})
	case "cancel":
		if len(c.tasks) > 0 {
			id, _ := store.ParseTaskID(string(c.tasks[o.A%len(c.tasks)]))
			e := c.engine
			c.wg.Go(func() { _ = e.Cancel(context.Background(), alice, id) })
		}
	case "crash":
		c.mortal.dead.Store(true)
		c.again()
	case "restart":
		c.again()
	case "release":
		c.tools.release()
		c.tools.reset()
	case "sleep":
		time.Sleep(time.Duration(o.B) * time.Millisecond)
	}
}

func (c *chaos) again() {
	c.wg.Wait()
	c.tools.release()
	c.restart()
}

func (c *chaos) post(m *a2a.Message) {
	sent, err := c.engine.Send(context.Background(), engine.Send{By: alice, Message: m})
	if err != nil {
		return
	}
	if _, err := c.engine.Accepted(context.Background(), sent); err == nil {
		c.tasks = append(c.tasks, a2a.TaskID(sent.Task.String()))
	}
}

// approvals returns the ids of all approvals of a task, oldest first.
func (c *chaos) approvals(id a2a.TaskID) []string {
	var ids []string
	for _, a := range c.rows(id) {
		ids = append(ids, a.ID)
	}
	return ids
}

func (c *chaos) rows(id a2a.TaskID) []approval.Approval {
	sid, _ := store.ParseTaskID(string(id))
	page, err := c.store.Rows(context.Background(), store.System(), store.RowQuery{Kind: "approval", Task: sid, Limit: 1000})
	if err != nil {
		return nil
	}
	var all []approval.Approval
	for _, r := range page.Rows {
		var a approval.Approval
		if err := json.Unmarshal(r.Value, &a); err != nil {
			c.fail("approval row: %v", err)
		}
		all = append(all, a)
	}
	return all
}

// finish brings every task to its end: whatever still waits is rejected.
func (c *chaos) finish() {
	for range 200 {
		c.tools.release()
		open := 0
		for _, id := range c.tasks {
			if c.get(id).Status.State.Terminal() {
				continue
			}
			open++
			for _, a := range c.rows(id) {
				if a.State == approval.Pending {
					_ = c.engine.Decide(context.Background(), engine.Decision{By: alice, Via: "a2a", Scope: engine.ScopeFor(alice, auth.Read), Task: mustID(id), Answers: []approval.Answer{{ID: a.ID, Verb: approval.Reject}}})
				}
			}
		}
		if open == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, id := range c.tasks {
		if got := c.get(id); !got.Status.State.Terminal() {
			c.fail("task %s is stuck in %s:\n%s", id, got.Status.State, c.log(id))
		}
	}
}

// log prints a task's log, to tell what went wrong.
func (c *chaos) log(id a2a.TaskID) string {
	v, err := c.store.Read(context.Background(), store.System(), mustID(id), store.After(0), store.Limit{})
	s := fmt.Sprintf("%+v %v\n", v.Header, err)
	for _, e := range v.Events {
		s += fmt.Sprintf("%4d %s %.300s\n", e.Seq, e.Kind, e.Data)
	}
	return s
}

func mustID(id a2a.TaskID) store.TaskID {
	sid, _ := store.ParseTaskID(string(id))
	return sid
}

// check compares the ledger with what people allowed.
func (c *chaos) check() {
	c.tools.mu.Lock()
	defer c.tools.mu.Unlock()
	once := map[string]bool{"write": true, "transfer": true, "deadline": true, "block": true, "stubborn": true, "fail": true}
	gated := map[string]bool{"transfer": true, "deadline": true}
	for key, runs := range c.tools.runs {
		var id, callID, name string
		var rest string
		if _, err := fmt.Sscanf(key, "%s %s %s", &id, &callID, &name); err != nil {
			c.fail("ledger %q: %v", key, err)
			continue
		}
		rest = key[len(id)+len(callID)+len(name)+3:]
		if !once[name] {
			continue
		}
		allowed := 0
		if !gated[name] {
			allowed = 1
		}
		for _, a := range c.rows(a2a.TaskID(id)) {
			if a.Call != callID || a.Ask != "" {
				continue
			}
			args := a.Args
			switch {
			case a.State == approval.Edited && a.Resolution.Verb == approval.Edit:
				args = a.Resolution.Args
			case a.State != approval.Approved || a.Resolution.Verb != approval.Approve:
				continue
			}
			if sameJSON(args, []byte(rest)) {
				allowed++
			}
		}
		if runs > allowed {
			c.fail("%s ran %d times and was allowed %d times: %s", name, runs, allowed, key)
		}
	}
	for _, a := range c.acks {
		for _, row := range c.rows(a.task) {
			if row.ID != a.id {
				continue
			}
			if row.Resolution == nil || row.Resolution.Verb != a.verb || row.State != ends[a.verb] {
				c.fail("acknowledged decision %s of %s is lost: %s, %+v", a.verb, a.id, row.State, row.Resolution)
			}
		}
	}
	for _, id := range c.tasks {
		pub := uint64(0)
		err := c.engine.Follow(context.Background(), alice, mustID(id), 0, engine.UntilEnd, func(page []engine.Event) error {
			for _, e := range page {
				if e.Pub != pub+1 {
					c.fail("task %s: public event %d follows %d", id, e.Pub, pub)
				}
				pub = e.Pub
			}
			return nil
		})
		if err != nil {
			c.fail("task %s: Follow() = %v", id, err)
		}
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return string(p) == string(q)
}
