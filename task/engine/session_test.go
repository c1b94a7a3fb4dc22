package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/internal/record"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// scripted is a planner whose messages have one step on each line: the name of a tool, and
// the rest of the line as its argument.
type scripted struct {
	accept func(agent.ReadonlyContext)
	ended  func(task string, problems string) // with the errors of all calls
}

func (l scripted) Accept(c agent.ReadonlyContext, _ *task.Request) (*a2a.Message, error) {
	if l.accept != nil {
		l.accept(c)
	}
	return nil, nil
}
func (scripted) Inline() bool { return true }
func (l scripted) Plan(_ context.Context, p *task.Progress) (*task.Step, error) {
	steps := strings.Split(p.Messages[0].Message.Parts[0].Text(), "\n")
	n := len(p.Steps)
	if n == len(steps) {
		problems := ""
		for _, step := range p.Steps {
			for _, call := range step.Calls {
				problems += call.Error + "\n"
			}
		}
		l.ended(p.Task, problems)
		return &task.Step{End: &task.End{State: a2a.TaskStateCompleted}}, nil
	}
	step := &task.Step{}
	for _, call := range strings.Split(steps[n], " | ") {
		name, arg, _ := strings.Cut(call, " ")
		raw, err := json.Marshal(args{"arg": arg})
		if err != nil {
			return nil, err
		}
		step.Calls = append(step.Calls, task.PlannedCall{Tool: name, Args: raw})
	}
	return step, nil
}

// sessionWorld has tools that read and write the state of their context.
type sessionWorld struct {
	*world
	accepted string // state that the planner saw when it took the newest message

	mu   sync.Mutex
	seen map[string][]string // by task, what "get" has read
	said map[string]string   // by task, the errors of its calls
}

// stateText returns a state as text.
func stateText(s agent.ReadonlyState) string {
	all := maps.Collect(s.All())
	var list []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		list = append(list, fmt.Sprintf("%s=%v", key, all[key]))
	}
	return strings.Join(list, " ")
}

func newSessionWorld(w *world) *sessionWorld {
	s := &sessionWorld{world: w, seen: map[string][]string{}, said: map[string]string{}}
	arg := func(a map[string]any) string { text, _ := a["arg"].(string); return text }
	set := func(ctx tool.Context, a map[string]any) (map[string]any, error) {
		for _, pair := range strings.Fields(arg(a)) {
			key, value, _ := strings.Cut(pair, "=")
			if err := ctx.State().Set(key, value); err != nil {
				return nil, err
			}
		}
		return args{}, nil
	}
	fill := func(ctx tool.Context, a map[string]any) error {
		var key string
		var n int
		if _, err := fmt.Sscan(arg(a), &key, &n); err != nil {
			return err
		}
		return errors.Join(ctx.State().Set("temp:filled", key), ctx.State().Set(key, strings.Repeat("x", n)))
	}
	w.tools.extra = append(w.tools.extra,
		&fake{name: "set", call: set},
		&fake{name: "setfail", call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			_, err := set(ctx, a)
			return nil, errors.Join(err, errTool)
		}},
		&fake{name: "asks", call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			if _, resumed := tool.Resumed(ctx); !resumed {
				_, err := set(ctx, a)
				return nil, errors.Join(err, &tool.Suspension{Asks: []tool.Question{{Kind: tool.AskConfirm, Hint: "continue?"}}})
			}
			s.note(ctx)
			return args{}, nil
		}},
		&fake{name: "get", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			s.note(ctx)
			return args{}, nil
		}},
		&fake{name: "fill", call: func(ctx tool.Context, a map[string]any) (map[string]any, error) { return args{}, fill(ctx, a) }},
		&fake{name: "fillfail", call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			return nil, errors.Join(fill(ctx, a), errTool)
		}},
		&fake{name: "many", call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			var from, to int
			if _, err := fmt.Sscan(arg(a), &from, &to); err != nil {
				return nil, err
			}
			for i := from; i < to; i++ {
				if err := ctx.State().Set(fmt.Sprint(i), nil); err != nil {
					return nil, err
				}
			}
			return args{}, nil
		}},
	)
	w.cfg.Planner = scripted{
		accept: func(c agent.ReadonlyContext) { s.accepted = stateText(c.ReadonlyState()) },
		ended: func(id, problems string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.said[id] = problems
		},
	}
	return s
}

func (s *sessionWorld) note(ctx tool.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := stateText(ctx.State())
	if again := stateText(ctx.ReadonlyState()); again != text {
		text += " but " + again
	}
	s.seen[ctx.TaskID()] = append(s.seen[ctx.TaskID()], text)
}

// gets returns what "get" has read in a task, by call.
func (s *sessionWorld) gets(id a2a.TaskID) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen[string(id)])
}

// problems returns the errors of the calls of a task that has ended.
func (s *sessionWorld) problems(id a2a.TaskID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said[string(id)]
}

// begin sends the steps of a task without waiting for it.
func (s *sessionWorld) begin(by auth.Principal, contextID string, steps ...string) *engine.Sent {
	s.t.Helper()
	m := s.message(a2a.NewTextPart(strings.Join(steps, "\n")))
	m.ContextID = contextID
	sent, err := s.engine.Send(s.ctx(), engine.Send{By: by, Message: m})
	if err != nil {
		s.t.Fatalf("Send() = %v", err)
	}
	return sent
}

// run runs a task to its end and returns what it has read.
func (s *sessionWorld) run(by auth.Principal, contextID string, steps ...string) []string {
	s.t.Helper()
	got := s.await(s.begin(by, contextID, steps...))
	s.wantState(got, a2a.TaskStateCompleted)
	return s.gets(got.ID)
}

func (s *sessionWorld) want(got []string, want ...string) {
	s.t.Helper()
	if !slices.Equal(got, want) {
		s.t.Errorf("get read %q, want %q", got, want)
	}
}

// What a call sets is there for later calls of its task, and for later tasks of its
// context and owner; but for what belongs to the task.
func TestStateOfContext(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		s := newSessionWorld(w)
		w.start()
		s.want(s.run(alice, "c", "get", "set a=1 temp:t=1 app:x=1 user:x=1", "get", "set a=2", "get"), "",
			"a=1 app:x=1 temp:t=1 user:x=1", "a=2 app:x=1 temp:t=1 user:x=1")
		const shared = "a=2 app:x=1 user:x=1"
		for range 2 {
			s.want(s.run(alice, "c", "get"), shared)
			if s.accepted != shared {
				t.Errorf("the planner accepted a message with state %q, want %q", s.accepted, shared)
			}
			s.want(s.run(alice, "d", "get"), "")
			s.want(s.run(alice, "", "get"), "")
			s.want(s.run(bob, "c", "get"), "")
			s.want(s.run(auth.Principal{Tenant: "beta", Subject: "alice", Roles: []string{auth.RoleRequester}, Method: "test"}, "c", "get"), "")
			s.restart()
		}
		rows, err := w.store.Rows(w.ctx(), store.System(), store.RowQuery{Kind: record.KindState})
		if err != nil || len(rows.Rows) != 3 {
			t.Errorf("Rows() = %v, %v, want 3 rows", rows.Rows, err)
		}
		// The last one counts, whichever task it is of, also if it fails.
		s.run(alice, "c", "set a=3 b=3")
		s.want(s.run(alice, "c", "get", "setfail a=4 c=4", "get"), "a=3 app:x=1 b=3 user:x=1", "a=4 app:x=1 b=3 c=4 user:x=1")
		s.want(s.run(alice, "c", "get"), "a=4 app:x=1 b=3 c=4 user:x=1")
		// A task in a context of its own has one, too.
		first := w.await(s.begin(alice, "", "set own=1"))
		s.want(s.run(alice, first.ContextID, "get"), "own=1")
	})
}

// A task that is running sees, at its next call, what another task has set meanwhile; and
// what it sets itself counts from then on.
func TestStateOfTasksAtOnce(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		s := newSessionWorld(w)
		entered, leave := make(chan struct{}), make(chan struct{})
		w.tools.extra = append(w.tools.extra, &fake{name: "hold", call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			entered <- struct{}{}
			<-leave
			if key, _ := a["arg"].(string); key != "" {
				return args{}, ctx.State().Set(key, "held")
			}
			return args{}, nil
		}})
		w.start()
		long := s.begin(alice, "", "set a=long", "hold", "get", "hold a", "get", "set a=last", "get")
		v, err := w.engine.Get(w.ctx(), alice, long.Task.String())
		w.must(err)
		<-entered
		s.want(s.run(alice, v.ContextID(), "get", "set a=other b=other"), "a=long")
		leave <- struct{}{}
		<-entered
		s.run(alice, v.ContextID(), "set a=again")
		leave <- struct{}{}
		w.wantState(w.await(long), a2a.TaskStateCompleted)
		s.want(s.gets(a2a.TaskID(long.Task.String())), "a=other b=other", "a=held b=other", "a=last b=other")
		s.want(s.run(alice, v.ContextID(), "get"), "a=last b=other")
	})
}

// The state of a context is bounded. A call beyond the limit ends with an error that says
// so, and nothing that it has set is kept.
func TestStateOfContextIsBounded(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		s := newSessionWorld(w)
		w.start()
		got := w.await(s.begin(alice, "c", "set a=1", "fill b 60000", "fill c 10000", "get", "fill b 5000", "fill c 60000", "get"))
		w.wantState(got, a2a.TaskStateCompleted)
		for i, want := range []string{"a b temp:filled=b", "a b c temp:filled=c"} {
			var keys []string
			for _, pair := range strings.Fields(s.gets(got.ID)[i]) {
				if key, _, _ := strings.Cut(pair, "="); key != "temp:filled" {
					pair = key
				}
				keys = append(keys, pair)
			}
			if got := strings.Join(keys, " "); got != want {
				t.Errorf("get %d read the keys %q, want %q", i+1, got, want)
			}
		}
		const problem = "the call has run, but with what it has set, the state of its context would have 3 keys and 70010 bytes; at most 1000 keys and 65536 bytes are allowed"
		if text := strings.TrimSpace(s.problems(got.ID)); text != problem {
			t.Errorf("the task says %q, want %q", text, problem)
		}
		// A call that fails keeps its own error.
		failed := w.await(s.begin(alice, "c", "fillfail e 10000", "get"))
		w.wantState(failed, a2a.TaskStateCompleted)
		if text := strings.TrimSpace(s.problems(failed.ID)); text != errTool.Error() {
			t.Errorf("the task says %q, want %q", text, errTool)
		}
		if got := s.gets(failed.ID)[0]; strings.Contains(got, "e=") || strings.Contains(got, "temp:") {
			t.Error("a part of what a call has set that failed is kept, and there was no room for all")
		}
		// What is there may be replaced, also by another task; not by more than there is room for.
		s.run(alice, "c", fmt.Sprint("fill c ", 60_000), "set a=2")
		s.run(alice, "c", fmt.Sprint("fill d ", 6_000), fmt.Sprint("fill c ", 50_000), fmt.Sprint("fill d ", 6_000))
		if got := s.run(alice, "c", "get")[0]; !strings.Contains(got, " d=xxx") || strings.Contains(got, "temp:") {
			t.Errorf("what was set when there was room again is missing")
		}
		// Other contexts and other owners have their own room.
		s.run(alice, "d", fmt.Sprint("fill b ", 60_000))
		s.run(bob, "c", fmt.Sprint("fill b ", 60_000))
		for _, who := range []struct {
			by auth.Principal
			id string
		}{{alice, "d"}, {bob, "c"}} {
			if got := s.run(who.by, who.id, "get")[0]; len(got) < 60_000 {
				t.Errorf("a context with room has kept %d bytes", len(got))
			}
		}
		// So is the number of keys.
		s.run(alice, "many", "many 0 1000", "many 500 1001", "many 5 10")
		if got := strings.Fields(s.run(alice, "many", "get")[0]); len(got) != 1000 || slices.Contains(got, "1000=<nil>") {
			t.Errorf("the state has %d keys, want the first 1000", len(got))
		}
	})
}

// Tasks that set something at the same time cannot exceed the bound together: the store
// decides, and the call that comes too late ends with an error.
func TestStateBoundOfTasksAtOnce(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		const tasks = 6
		s := newSessionWorld(w)
		var entered sync.WaitGroup
		entered.Add(tasks)
		w.tools.extra = append(w.tools.extra, &fake{name: "together", call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			key, _ := a["arg"].(string)
			entered.Done()
			entered.Wait() // all have read the state
			return args{}, errors.Join(ctx.State().Set("temp:own", key), ctx.State().Set(key, strings.Repeat("x", 20_000)))
		}})
		w.cfg.Limits.Turns, w.cfg.Limits.TurnsPerCaller = 2*tasks, 2*tasks
		var queued sync.WaitGroup // the first batches with state: none was made after another was durable
		queued.Add(tasks)
		var missing atomic.Int32
		missing.Store(tasks)
		w.wrap = func(h store.Handle) store.Handle {
			return &onAppend{h, func(b *store.Batch) (*store.Batch, error) {
				if b.HasContextRows() && missing.Add(-1) >= 0 {
					queued.Done()
					queued.Wait()
				}
				return b, nil
			}}
		}
		w.start()
		var all []*engine.Sent
		for i := range tasks {
			all = append(all, s.begin(alice, "c", fmt.Sprint("together k", i), "get"))
		}
		kept, refused := 0, 0
		for _, sent := range all {
			got := w.await(sent)
			w.wantState(got, a2a.TaskStateCompleted)
			read := s.gets(got.ID)[0]
			if strings.Contains(s.problems(got.ID), "bytes are allowed") {
				refused++
				if strings.Contains(read, "temp:own") {
					t.Error("a part of what a refused call has set is kept")
				}
			} else if kept++; !strings.Contains(read, "temp:own") {
				t.Error("what a call has set is not kept")
			}
		}
		if kept != 3 || refused != tasks-3 {
			t.Errorf("%d calls were kept and %d refused, want 3 and %d", kept, refused, tasks-3)
		}
		if got := s.run(alice, "c", "get")[0]; strings.Count(got, "=") != 3 {
			t.Errorf("the state has %d keys, want 3", strings.Count(got, "="))
		}
	})
}

// Keys that cannot be stored are refused at once.
func TestStateKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newBolt(t))
	s := newSessionWorld(w)
	var errs []error
	w.tools.extra = append(w.tools.extra, &fake{name: "odd", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
		for _, key := range []string{"", "\x00", strings.Repeat("k", 512), strings.Repeat("k", 513), "a\xff", "temp:" + strings.Repeat("k", 508)} {
			errs = append(errs, ctx.State().Set(key, 1))
		}
		return args{}, nil
	}})
	w.start()
	s.run(alice, "c", "odd")
	for i, fails := range []bool{false, false, false, true, true, true} {
		if (errs[i] != nil) != fails {
			t.Errorf("Set() of key %d = %v, want an error: %t", i, errs[i], fails)
		}
	}
	if got := len(strings.Fields(s.run(alice, "c", "get")[0])); got != 3 {
		t.Errorf("the state has %d keys, want 3", got)
	}
}

// countingRows counts what a store is asked about the state of contexts.
type countingRows struct {
	store.Handle
	mu          sync.Mutex
	reads, puts int
	fail        error // of reads
}

func (c *countingRows) Rows(ctx context.Context, s store.Scope, q store.RowQuery) (store.RowPage, error) {
	c.mu.Lock()
	fail := error(nil)
	if q.Kind == record.KindState {
		c.reads++
		fail = c.fail
	}
	c.mu.Unlock()
	if fail != nil {
		return store.RowPage{}, fail
	}
	return c.Handle.Rows(ctx, s, q)
}

func (c *countingRows) Append(ctx context.Context, b *store.Batch) *store.Commit {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.HasContextRows() {
		c.puts++
	}
	return c.Handle.Append(ctx, b)
}

func (c *countingRows) take() (reads, puts int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reads, puts, c.reads, c.puts = c.reads, c.puts, 0, 0
	return reads, puts
}

// A call that changes no state costs none: a task in a context of its own reads nothing,
// whatever other contexts keep, and one in a context that its client names reads it once.
func TestStateCostsNothing(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		s := newSessionWorld(w)
		var c *countingRows
		w.wrap = func(h store.Handle) store.Handle { c = &countingRows{Handle: h}; return c }
		w.start()
		check := func(what string, wantReads, wantPuts int) {
			t.Helper()
			if reads, puts := c.take(); reads != wantReads || puts != wantPuts {
				t.Errorf("%s: %d reads and %d batches with state, want %d and %d", what, reads, puts, wantReads, wantPuts)
			}
		}
		s.run(alice, "", "get", "get", "get")
		check("a task in a context of its own", 0, 0)
		s.run(alice, "c", "get", "get", "get")
		check("a task in a context that is named", 1, 0)
		s.run(alice, "c", "set temp:a=1", "get")
		check("a task that keeps its own", 1, 0)
		s.run(alice, "c", "set a=1 b=1")
		check("a task that sets some", 1, 1)
		s.run(alice, "", "get", "get", "get")
		check("a task in a context of its own, with others that have state", 0, 0)
	})
}

// A task whose context cannot be read does not run without its state.
func TestStateThatCannotBeRead(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		s := newSessionWorld(w)
		var c *countingRows
		w.wrap = func(h store.Handle) store.Handle { c = &countingRows{Handle: h}; return c }
		w.start()
		waits := w.await(s.begin(alice, "c", "set a=1", "asks b=1"))
		fail := func(err error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.fail = err
		}
		for _, failure := range []error{store.ErrDataLoss, store.ErrUnavailable} {
			fail(failure)
			m := w.message(a2a.NewTextPart("get"))
			m.ContextID = "c"
			if _, err := w.sendAs(alice, m); !errors.Is(err, failure) {
				t.Errorf("Send() to a context that cannot be read = %v, want %v", err, failure)
			}
			answer := w.decision(waits.ID, approve(w.pending(waits)[0]))
			if _, err := w.sendAs(alice, answer); !errors.Is(err, failure) {
				t.Errorf("Send() of a decision in a context that cannot be read = %v, want %v", err, failure)
			}
			s.want(s.run(alice, "", "get"), "") // others are not affected
		}
		fail(nil)
		w.wantState(w.send(w.decision(waits.ID, approve(w.pending(waits)[0]))), a2a.TaskStateCompleted)
		s.want(s.gets(waits.ID), "a=1")
	})
}

// The state of a context ends with its last task.
func TestStateEndsWithLastTask(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		s := newSessionWorld(w)
		w.start()
		first, second := w.await(s.begin(alice, "c", "set a=1")), w.await(s.begin(alice, "c", "get"))
		remove := func(id a2a.TaskID) {
			t.Helper()
			parsed, _ := store.ParseTaskID(string(id))
			w.must(w.store.Delete(w.ctx(), store.System(), parsed, nil))
		}
		remove(first.ID)
		third := w.await(s.begin(alice, "c", "get"))
		s.want(s.gets(third.ID), "a=1")
		remove(second.ID)
		remove(third.ID)
		s.want(s.run(alice, "c", "get"), "")
	})
}
