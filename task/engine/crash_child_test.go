//go:build unix

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"a2a-server/a2a/dialect"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/store/boltstore"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/planner/direct"
	"a2a-server/tool"
)

// childEnv, when set, makes this test binary the process that the crash suite
// kills. Its value is a childConfig.
const childEnv = "TASK_CRASH_CHILD"

func TestMain(m *testing.M) {
	if config := os.Getenv(childEnv); config != "" {
		os.Exit(crashChild(config))
	}
	goleak.VerifyTestMain(m)
}

// phase says what a child is there for.
type phase string

const (
	phaseWork   phase = "work"   // gets into every situation, and dies in the end
	phaseFinish phase = "finish" // brings everything to its end, and exits
)

// childConfig is what a child is told.
type childConfig struct {
	Dir   string
	Phase phase
	Point string // where it kills itself; "": nowhere
	N     int    // the how manieth time
}

// line is what a child tells its parent, as a line of JSON in one write. What it
// says was acknowledged, or shown, before the line was written.
type line struct {
	What     string         `json:"what"` // sent, decided, canceled, shown, ended, hits or failed
	Scene    string         `json:"scene,omitempty"`
	Task     string         `json:"task,omitempty"`
	Approval string         `json:"approval,omitempty"`
	Verb     approval.Verb  `json:"verb,omitempty"`
	State    a2a.TaskState  `json:"state,omitempty"` // ended: as the engine shows it
	Parts    int            `json:"parts,omitempty"` // ended: of its first artifact
	Events   []shown        `json:"events,omitempty"`
	Hits     map[string]int `json:"hits,omitempty"` // of each point; the last line
	Error    string         `json:"error,omitempty"`
}

// shown is a public event as a follower got it.
type shown struct {
	Seq  uint64 `json:"seq"`
	Pub  uint64 `json:"pub"`
	Data string `json:"data"`
}

// entry is a line of the ledger: one run of a tool, written by the tool. Phase is
// how often the call had been suspended before.
type entry struct {
	Task  string         `json:"task"`
	Call  string         `json:"call"`
	Tool  string         `json:"tool"`
	Phase int            `json:"phase"`
	Kept  int            `json:"kept,omitempty"` // by a job: what it is entered again with, or was told is durable
	Args  map[string]any `json:"args"`
}

type child struct {
	childConfig
	engine *engine.Engine
	store  store.Handle
	ledger *os.File
	follow sync.WaitGroup

	mu   sync.Mutex
	out  io.Writer
	hits map[string]int
	runs map[string]int           // of unsure, by task
	held map[string]chan struct{} // by scene; closed when its tool has been entered and holds
	free map[string]chan struct{} // by scene; closed to let the tool continue
}

// childTime is the longest that a child may live. It is far longer than one takes.
const childTime = 3 * time.Minute

func crashChild(config string) int {
	c := &child{out: os.Stdout, hits: map[string]int{}, runs: map[string]int{}, held: map[string]chan struct{}{}, free: map[string]chan struct{}{}}
	err := json.Unmarshal([]byte(config), &c.childConfig)
	if err == nil {
		err = c.live()
	}
	if err != nil {
		c.say(line{What: "failed", Error: err.Error()})
		return 3
	}
	c.sayHits()
	return 0
}

func (c *child) live() error {
	for i := range scenes {
		c.held[scenes[i].name], c.free[scenes[i].name] = make(chan struct{}), make(chan struct{})
	}
	var err error
	if c.ledger, err = os.OpenFile(filepath.Join(c.Dir, "ledger"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	db, err := boltstore.Options{Hook: c.at}.Open(filepath.Join(c.Dir, "store.db"))
	if err != nil {
		return err
	}
	if c.store, err = db.Handle(); err != nil {
		return err
	}
	policy, err := approval.NewPolicy(approval.PolicyConfig{Gates: crashGates})
	if err != nil {
		return err
	}
	c.engine, err = engine.New(engine.Config{
		Store: c.store, Tools: tool.NewRegistry(tool.NewToolset("crash", c.tools()...)), Policy: policy,
		Planner: direct.New(direct.Config{}), Presenter: dialect.New(dialect.Config{Keywords: true}),
		Limits: task.Limits{Turns: 24, Window: 8 << 10}, CrashPoint: c.at,
		Log: zerolog.New(os.Stderr).Level(zerolog.WarnLevel),
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), childTime, errors.New("the child took too long"))
	defer cancel()
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.engine.Run(running) }()
	if err := c.workload(ctx); err != nil {
		stop()
		return errors.Join(err, <-ended)
	}
	if c.Phase == phaseWork {
		c.sayHits()
		die()
	}
	c.follow.Wait()
	stop()
	return errors.Join(<-ended, c.store.Close(), db.Close())
}

// at kills the process at its point. Whoever is about to do what it may not do yet
// gets the time to do it.
func (c *child) at(point string) {
	c.mu.Lock()
	c.hits[point]++
	now := point == c.Point && c.hits[point] == c.N
	c.mu.Unlock()
	if now {
		for range 1000 {
			runtime.Gosched()
		}
		die()
	}
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // it is on its way
}

func (c *child) say(l line) {
	data, err := json.Marshal(l)
	if err != nil {
		panic(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.out.Write(append(data, '\n')) // a parent that is gone needs nothing
}

func (c *child) sayHits() {
	c.mu.Lock()
	hits := map[string]int{}
	for p, n := range c.hits {
		hits[p] = n
	}
	c.mu.Unlock()
	c.say(line{What: "hits", Hits: hits})
}

// lanes is how many scenes are played at once.
const lanes = 4

// workload plays all scenes. It returns when each is where this phase wants it.
func (c *child) workload(ctx context.Context) error {
	errs := make([]error, lanes)
	var wg sync.WaitGroup
	for lane := range lanes {
		wg.Go(func() {
			for i := lane; i < len(scenes) && errs[lane] == nil; i += lanes {
				if err := c.play(ctx, &scenes[i]); err != nil {
					errs[lane] = fmt.Errorf("scene %s: %w", scenes[i].name, err)
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// play is a client that wants one scene done. It begins again in each process, as a
// client does that got no answer: it sends the same message, and decides what is
// pending.
func (c *child) play(ctx context.Context, s *scene) error {
	work := c.Phase == phaseWork
	sent, err := c.engine.Send(ctx, engine.Send{By: alice, Message: s.message()})
	if err != nil {
		return fmt.Errorf("send: %w", err)
	}
	if sent.Direct != nil {
		return fmt.Errorf("send was answered with a message: %s", sent.Direct.Parts[0].Text())
	}
	id := sent.Task
	c.say(line{What: "sent", Scene: s.name, Task: id.String()})
	if s.repeat {
		again, err := c.engine.Send(ctx, engine.Send{By: alice, Message: s.message()})
		if err != nil {
			return fmt.Errorf("send again: %w", err)
		}
		if again.Task != id || !again.Duplicate {
			return fmt.Errorf("the same message again = %+v; want a duplicate and task %s", again, id)
		}
	}
	c.follow.Go(func() { c.watch(ctx, id) })
	wakes, stop := c.store.Watch(store.System(), id)
	defer stop()
	for {
		v, err := c.store.Read(ctx, store.System(), id, store.After(0), store.Limit{Events: 1, Bytes: 1})
		if err != nil {
			return err
		}
		holds := false
		select {
		case <-c.held[s.name]:
			holds = true
		default:
		}
		switch h := &v.Header; {
		case h.Phase == store.Final && (work || h.Due == 0):
			return c.ended(ctx, s, id)
		case h.Phase == store.Final: // something is still to be done elsewhere
		case s.cancel && (!work || holds || h.Phase == store.Parked || h.State == task.StateInputRequired):
			var over *task.StateError
			err := c.engine.Cancel(ctx, alice, id)
			if err == nil {
				c.say(line{What: "canceled", Scene: s.name, Task: id.String()})
			} else if !errors.As(err, &over) {
				return fmt.Errorf("cancel: %w", err)
			}
		case work && s.leave && (holds || !s.hold && (h.Phase == store.Parked || h.State == task.StateInputRequired)):
			return nil
		default:
			if err := c.decideAll(ctx, s, id); err != nil {
				return err
			}
		}
		var held <-chan struct{}
		if !holds {
			held = c.held[s.name]
		}
		select {
		case <-wakes:
		case <-held:
		case <-ctx.Done():
			return fmt.Errorf("%w: task %s is in state %d, phase %d, with %d pending approvals and %d due rows",
				context.Cause(ctx), id, v.Header.State, v.Header.Phase, v.Header.Pending, v.Header.Due)
		}
	}
}

// ended says how the engine shows a task at its end.
func (c *child) ended(ctx context.Context, s *scene, id store.TaskID) error {
	v, err := c.engine.Get(ctx, alice, id.String())
	if err != nil {
		return fmt.Errorf("get: %w", err)
	}
	got, err := v.Task(task.ViewOptions{HistoryLength: -1})
	if err != nil {
		return fmt.Errorf("get: %w", err)
	}
	l := line{What: "ended", Scene: s.name, Task: id.String(), State: got.Status.State}
	if len(got.Artifacts) > 0 {
		l.Parts = len(got.Artifacts[0].Parts)
	}
	c.say(l)
	return nil
}

// watch follows a task from its beginning and says what it was shown.
func (c *child) watch(ctx context.Context, id store.TaskID) {
	err := c.engine.Follow(ctx, alice, id, 0, engine.UntilEnd, func(page []engine.Event) error {
		l := line{What: "shown", Task: id.String()}
		for _, e := range page {
			l.Events = append(l.Events, shown{e.Seq, e.Pub, string(e.Data)})
		}
		c.say(l)
		return nil
	})
	if err != nil && ctx.Err() == nil {
		c.say(line{What: "failed", Task: id.String(), Error: "follow: " + err.Error()})
	}
}

// decideAll decides whatever is pending and is for this scene to decide.
func (c *child) decideAll(ctx context.Context, s *scene, id store.TaskID) error {
	page, err := c.store.Rows(ctx, store.System(), store.RowQuery{Kind: "approval", Task: id, Limit: 1000})
	if err != nil {
		return err
	}
	for _, row := range page.Rows {
		var a approval.Approval
		if err := json.Unmarshal(row.Value, &a); err != nil {
			return err
		}
		if a.State != approval.Pending {
			continue
		}
		verb := s.verb
		switch {
		case a.Kind == approval.KindOutcome:
			verb = s.outcome
		case a.Deadline != nil && !a.Held:
			verb = "" // its deadline is the point
		}
		if verb == "" {
			continue
		}
		err := c.decide(ctx, s, &a, verb)
		if closed := (*approval.Error)(nil); a.Held && errors.As(err, &closed) {
			continue // nobody waits for the answer any longer
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", verb, a.ID, err)
		}
		c.say(line{What: "decided", Scene: s.name, Task: a.Task, Approval: a.ID, Verb: verb})
		if s.early {
			c.release(s.name)
		}
	}
	return nil
}

func (c *child) release(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.free[name]:
	default:
		close(c.free[name])
	}
}

func (c *child) decide(ctx context.Context, s *scene, a *approval.Approval, verb approval.Verb) error {
	var edited, response any
	if verb == approval.Edit {
		edited = s.edited()
	}
	if verb == approval.Respond {
		response = map[string]any{"ok": true}
	}
	if s.api {
		answer := approval.Answer{ID: a.ID, Verb: verb, Digest: a.Digest}
		if edited != nil {
			answer.Args, _ = json.Marshal(edited) // plain values
		}
		if response != nil {
			answer.Response, _ = json.Marshal(response)
		}
		id, _ := store.ParseTaskID(a.Task)
		return c.engine.Decide(ctx, engine.Decision{By: alice, Via: "api", Scope: engine.ScopeFor(alice, auth.Read), Task: id, Answers: []approval.Answer{answer}})
	}
	d := map[string]any{"id": a.ID, "decision": string(verb)}
	if edited != nil {
		d["arguments"] = edited
	}
	if response != nil {
		d["response"] = response
	}
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"type": "approval_response", "decisions": []any{d}}))
	m.ID, m.TaskID = "decision "+a.ID, a2a.TaskID(a.Task)
	if _, err := c.engine.Send(ctx, engine.Send{By: alice, Message: m}); err != nil || !s.repeat {
		return err
	}
	again, err := c.engine.Send(ctx, engine.Send{By: alice, Message: m})
	if err == nil && !again.Duplicate {
		err = fmt.Errorf("the same decision again = %+v, want a duplicate", again)
	}
	return err
}

// ran writes a run into the ledger.
func (c *child) ran(ctx tool.Context, name string, a map[string]any) error {
	e := entry{Task: ctx.TaskID(), Call: ctx.FunctionCallID(), Tool: name, Args: a}
	if _, ok := tool.Resumed(ctx); ok {
		e.Phase = 1
	}
	return c.record(e)
}

func (c *child) record(e entry) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = c.ledger.Write(append(data, '\n'))
	return err
}

// hold keeps a tool running in the first process, when its scene wants that.
func (c *child) hold(ctx tool.Context, a map[string]any) error {
	name, _ := a["key"].(string)
	if holds, _ := a["hold"].(bool); !holds || c.Phase != phaseWork {
		return nil
	}
	c.mu.Lock()
	select {
	case <-c.held[name]:
	default:
		close(c.held[name])
	}
	c.mu.Unlock()
	select {
	case <-c.free[name]:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// job is a tool that keeps what it has done: first that it has begun, then, after it has
// held, that it is halfway. It says what it was told is durable.
func (c *child) job(name string) func(tool.Context, map[string]any) (map[string]any, error) {
	return func(ctx tool.Context, a map[string]any) (map[string]any, error) {
		e := entry{Task: ctx.TaskID(), Call: ctx.FunctionCallID(), Tool: name, Args: a}
		if r, ok := tool.Resumed(ctx); ok {
			e.Phase = 1
			if err := json.Unmarshal(r.State, &e.Kept); err != nil || len(r.Answers) > 0 {
				return nil, fmt.Errorf("entered again with %s, %v: %w", r.State, r.Answers, err)
			}
		}
		if err := c.record(e); err != nil {
			return nil, err
		}
		for n := e.Kept + 1; n <= 2; n++ {
			if err := tool.Checkpoint(ctx, json.RawMessage(strconv.Itoa(n))); err != nil {
				return nil, err
			}
			if err := c.record(entry{Call: e.Call, Tool: name + " kept", Args: map[string]any{"key": a["key"]}, Kept: n}); err != nil {
				return nil, err
			}
			if err := c.hold(ctx, a); err != nil {
				return nil, err
			}
		}
		return map[string]any{"ok": true}, nil
	}
}

// unsure is a tool that does not know what came of its first run in each process.
func (c *child) unsure(ctx tool.Context, a map[string]any) (map[string]any, error) {
	if err := c.ran(ctx, "unsure", a); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs[ctx.TaskID()]++; c.runs[ctx.TaskID()] == 1 {
		return nil, fmt.Errorf("%w: no answer", tool.ErrOutcomeUnknown)
	}
	return map[string]any{"ok": true}, nil
}

// asksAndWaits is a tool that waits for the answer to a question. It says which answer it
// got.
func (c *child) asksAndWaits(name string) func(tool.Context, map[string]any) (map[string]any, error) {
	return func(ctx tool.Context, a map[string]any) (map[string]any, error) {
		if err := c.ran(ctx, name, a); err != nil {
			return nil, err
		}
		answer, err := tool.AskAndWait(ctx, tool.Ask{Kind: tool.AskQuestion, Hint: "which one?"})
		if err != nil {
			return nil, err
		}
		got := map[string]any{"key": a["key"], "state": answer.State, "response": answer.Response}
		return map[string]any{"ok": true}, c.record(entry{Call: ctx.FunctionCallID(), Tool: name + " answered", Args: got})
	}
}

// remote is a tool whose calls continue elsewhere, and have to be told when they are
// canceled.
type remote struct {
	fake
	tell func(callID string, state json.RawMessage) error
}

func (r *remote) StopJob(ctx tool.Context, state json.RawMessage) error {
	return r.tell(ctx.FunctionCallID(), state)
}

func (c *child) tools() []tool.Tool {
	plain := func(name string) func(tool.Context, map[string]any) (map[string]any, error) {
		return func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			if err := c.ran(ctx, name, a); err != nil {
				return nil, err
			}
			return map[string]any{"ok": true}, c.hold(ctx, a)
		}
	}
	suspending := func(name string, s func(a map[string]any) *tool.Suspension) func(tool.Context, map[string]any) (map[string]any, error) {
		return func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			if err := c.ran(ctx, name, a); err != nil {
				return nil, err
			}
			if _, ok := tool.Resumed(ctx); !ok {
				return nil, s(a)
			}
			return map[string]any{"ok": true}, c.hold(ctx, a)
		}
	}
	after := func(d time.Duration) func(map[string]any) *tool.Suspension {
		return func(a map[string]any) *tool.Suspension {
			state, _ := json.Marshal(a) // a map that was JSON
			return &tool.Suspension{Wake: time.Now().Add(d), State: state}
		}
	}
	tools := []tool.Tool{
		&fake{name: "echo", is: tool.Annotations{ReadOnly: true}, call: plain("echo")},
		&fake{name: "write", call: plain("write")},
		&fake{name: "again", is: tool.Annotations{Idempotent: true}, call: plain("again")},
		&fake{name: "transfer", gated: true, call: plain("transfer")},
		&fake{name: "job", call: c.job("job")},
		&fake{name: "charge", gated: true, call: c.job("charge")},
		&fake{name: "unsure", call: c.unsure},
		&fake{name: "pay", gated: true, is: tool.Annotations{Idempotent: true}, call: plain("pay")},
		&fake{name: "confirm", call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			if err := tool.RequestConfirmation(ctx, "really?", a); err != nil {
				return nil, err
			}
			return plain("confirm")(ctx, a)
		}},
		&fake{name: "question", call: suspending("question", func(map[string]any) *tool.Suspension {
			return &tool.Suspension{Asks: []tool.Ask{{Kind: tool.AskQuestion, Hint: "which one?"}}}
		})},
		&fake{name: "held", call: c.asksAndWaits("held")},
		&fake{name: "held_safe", is: tool.Annotations{ReadOnly: true}, call: c.asksAndWaits("held_safe")},
		&fake{name: "nap", call: suspending("nap", after(5*time.Millisecond))},
		&fake{name: "sleep", call: suspending("sleep", after(200*time.Millisecond))},
		&remote{
			fake: fake{name: "remote", call: suspending("remote", after(time.Hour))},
			tell: func(callID string, state json.RawMessage) error {
				e := entry{Call: callID, Tool: "remote told"}
				if err := json.Unmarshal(state, &e.Args); err != nil {
					return err
				}
				return c.record(e)
			},
		},
		&streamer{fake: fake{name: "stream", is: tool.Annotations{ReadOnly: true}}, stream: func(ctx tool.Context, a map[string]any) iter.Seq2[*tool.Result, error] {
			return func(yield func(*tool.Result, error) bool) {
				if err := c.ran(ctx, "stream", a); err != nil {
					yield(nil, err)
					return
				}
				for i := range chunks {
					if i == chunks/2 {
						if err := c.hold(ctx, a); err != nil {
							yield(nil, err)
							return
						}
					}
					if !yield(&tool.Result{Content: fmt.Sprintf("chunk %d of a stream that continues for a while;", i), Streaming: true}, nil) {
						return
					}
				}
				yield(&tool.Result{Content: "done"}, nil)
			}
		}},
	}
	for _, g := range crashGates {
		tools = append(tools, &fake{name: g.Tool, gated: true, call: plain(g.Tool)})
	}
	return tools
}
