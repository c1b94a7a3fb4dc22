package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/engine/internal/call"
	"a2a-server/task/engine/internal/env"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// audits returns the audit of a task.
func (w *world) audits(id a2a.TaskID) []approval.Audit {
	w.t.Helper()
	var all []approval.Audit
	entries, err := w.store.Audit(w.ctx(), 0, 1000)
	w.must(err)
	for _, e := range entries {
		var a approval.Audit
		w.must(json.Unmarshal(e.Data, &a))
		if a.Task == string(id) {
			all = append(all, a)
		}
	}
	return all
}

func find(all []approval.Audit, what approval.AuditEvent) *approval.Audit {
	for i := range all {
		if all[i].What == what {
			return &all[i]
		}
	}
	return nil
}

// However long the error of a tool is, it ends that call, and the planner hears of it.
func TestLongErrorOfATool(t *testing.T) {
	for name, n := range map[string]int{"1 MiB": 1 << 20, "3 MiB": 3 << 20, "20 MiB": 20 << 20} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			seen := newWitness()
			w.tools.extra = []tool.Tool{&fake{name: "long", call: func(tool.Context, map[string]any) (map[string]any, error) {
				return nil, errors.New(strings.Repeat("x", n))
			}}}
			w.start(func(cfg *engine.Config) { cfg.Planner = seen })
			id := w.begun(alice, w.calls("long", args{}, "write", args{"amount": 1, "to": "x"}))
			got := w.ended(id)
			if text := statusText(got); len(text) > 1<<20 {
				t.Errorf("the status has %d bytes, an event may have %d", len(text), 1<<20)
			} else if strings.Contains(text, "store") || strings.Contains(text, "nobody knows") {
				t.Errorf("status %s %.300q", got.Status.State, text)
			}
			if _, ok := seen.result(id, "c1.1"); !ok {
				t.Errorf("the planner never heard of the call; task %s %.300q", got.Status.State, statusText(got))
			}
		})
	}
}

// Whatever a tool returns late, the audit says that it did.
func TestLateIsAudited(t *testing.T) {
	for name, c := range map[string]struct {
		result map[string]any
		err    error
	}{
		"small":        {result: map[string]any{"x": "y"}},
		"long result":  {result: map[string]any{"x": strings.Repeat("y", 17<<20)}},
		"long error":   {err: errors.New(strings.Repeat("y", 3<<20))},
		"longer error": {err: errors.New(strings.Repeat("y", 17<<20))},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			runs := w.counted()
			w.cfg.Limits = task.Limits{ToolTimeout: time.Minute}
			w.startTools(&fake{name: "late", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				runs.enter(ctx)
				runs.hold()
				return c.result, c.err
			}})
			id := w.begin(w.calls("late", args{}))
			time.Sleep(2 * time.Minute)
			w.onlyOne(id)
			runs.open()
			synctest.Wait()
			if find(w.audits(id), approval.AuditLate) == nil {
				t.Errorf("the tool has returned late, and the audit does not say so")
			}
		})
	}
}

// A late result belongs to the run that gave it, not to the one that somebody has
// allowed since.
func TestLateNamesItsAttempt(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		first, second := make(chan struct{}), make(chan struct{})
		runs := newCounted()
		w.cfg.Limits = task.Limits{ToolTimeout: time.Minute}
		w.startTools(&fake{name: "late", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			if runs.enter(ctx) == 1 {
				<-first
				return map[string]any{"run": 1}, nil
			}
			<-second
			return map[string]any{"run": 2}, nil
		}})
		id := w.begin(w.calls("late", args{}))
		time.Sleep(2 * time.Minute)
		w.approves(id)
		synctest.Wait()
		close(first)
		synctest.Wait()
		close(second)
		synctest.Wait()
		w.wantState(w.ended(id), a2a.TaskStateCompleted)
		if late := find(w.audits(id), approval.AuditLate); late == nil || late.Attempt != 1 {
			t.Errorf("audit of the late result = %+v, want attempt 1", late)
		}
	})
}

// A toolset may fail with as long an error as it likes: the call stays as it is.
func TestLongErrorOfAToolset(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		runs := newCounted()
		set := &away{err: errors.New(strings.Repeat("<html>", 3<<20)), list: []tool.Tool{&fake{name: "pay", gated: true, call: runs.enters}}}
		w.start(func(cfg *engine.Config) { cfg.Tools = tool.NewRegistry(set) })
		id := w.begun(alice, w.calls("pay", args{}))
		a := w.onlyOne(id)
		set.is.Store(true)
		err := w.decide(bob, id, approval.Decision{ID: a.ID, Type: approval.Approve})
		if err != nil {
			t.Errorf("Decide() = %.200v: the decision is refused because the tool cannot be looked up", err)
		}
		time.Sleep(time.Minute)
		set.is.Store(false)
		time.Sleep(time.Hour)
		runs.want(t, 1)
	})
}

// A tool that returns nothing makes no task that cannot be read, neither by clients nor
// by the tools that come after it.
func TestToolThatReturnsNothing(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var listed error
		w.tools.extra = []tool.Tool{
			&fake{name: "nothing", call: func(tool.Context, map[string]any) (map[string]any, error) { return nil, nil }},
			&fake{name: "lists", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				_, listed = ctx.Artifacts().List(ctx)
				return map[string]any{}, nil
			}},
		}
		w.start(func(c *engine.Config) { c.Planner = sequence("nothing", "lists") })
		id := w.begun(alice, w.calls())
		if listed != nil {
			t.Errorf("Artifacts().List() = %v", listed)
		}
		w.readable(id)
	})
}

// readable checks that a client of the SDK can read the task.
func (w *world) readable(id a2a.TaskID) {
	w.t.Helper()
	v, err := w.engine.Get(context.Background(), alice, string(id))
	w.must(err)
	if _, err := v.Task(task.ViewOptions{HistoryLength: -1}); err != nil {
		w.t.Errorf("the task cannot be read: %v; it is %s", err, v.AppendTask(nil, task.ViewOptions{}))
	}
}

// Nor does a person who says that the result of a call is null.
func TestRespondNull(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		runs := w.counted()
		w.cfg.Limits = task.Limits{ToolTimeout: time.Minute}
		w.startTools(&fake{name: "late", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			runs.hold()
			return map[string]any{}, nil
		}})
		id := w.begin(w.calls("late", args{}))
		time.Sleep(2 * time.Minute)
		w.must(w.decide(bob, id, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Respond, Response: []byte("null")}))
		synctest.Wait()
		w.readable(id)
	})
}

// A call that publishes more than limits.output ends with an error, whatever its tool
// makes of that; what it has published stands, and the log holds no more than that.
func TestOutputOfACallIsBounded(t *testing.T) {
	t.Parallel()
	const limit, pieces = 100_000, 60
	text := strings.Repeat("x", 4000)
	save := func(ctx tool.Context) error {
		_, err := ctx.Artifacts().Save(ctx, "page", agent.Part{Text: text})
		return err
	}
	var runs atomic.Int32 // of what pauses
	for _, tc := range []struct {
		name string
		tool func(refused *atomic.Int32) tool.Tool
	}{
		{"a stream", func(refused *atomic.Int32) tool.Tool {
			return &streamer{fake: fake{name: "flood"}, stream: func(_ tool.Context, _ map[string]any, yield func(*tool.Result, error) bool) {
				for range pieces {
					if !yield(piece(text), nil) {
						refused.Add(1)
						return
					}
				}
			}}
		}},
		{"artifacts", func(refused *atomic.Int32) tool.Tool {
			return &fake{name: "flood", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				for range pieces {
					if err := save(ctx); err != nil {
						refused.Add(1)
						return nil, err
					}
				}
				return args{}, nil
			}}
		}},
		{"artifacts, and the tool does not mind", func(refused *atomic.Int32) tool.Tool {
			return &fake{name: "flood", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				for range pieces {
					if err := save(ctx); errors.Is(err, call.ErrOutput) {
						refused.Add(1)
					}
				}
				return args{}, nil
			}}
		}},
		{"artifacts, and a question", func(refused *atomic.Int32) tool.Tool {
			return &fake{name: "flood", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				for range pieces {
					if err := save(ctx); err != nil {
						refused.Add(1)
					}
				}
				return nil, tool.RequestConfirmation(ctx, "more?", nil)
			}}
		}},
		{"artifacts, and a pause after each", func(refused *atomic.Int32) tool.Tool {
			return &fake{name: "flood", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				if err := save(ctx); err != nil {
					refused.Add(1)
					return nil, err
				}
				if runs.Add(1) == pieces*2 {
					return args{}, nil
				}
				return nil, &tool.Suspension{Wake: time.Now()}
			}}
		}},
	} {
		runInMemory(t, tc.name, func(t *testing.T, w *world) {
			var refused atomic.Int32
			w.tools.extra = []tool.Tool{tc.tool(&refused)}
			w.start(func(c *engine.Config) { c.Limits.Output = limit })
			id := w.begin(w.calls("flood", args{}))
			got := w.ended(id)
			w.wantState(got, a2a.TaskStateFailed)
			if text := statusText(got); !strings.Contains(text, "may publish 100000") {
				t.Errorf("status = %q, want that the call has published too much", text)
			}
			if refused.Load() == 0 {
				t.Error("the tool was refused nothing")
			}
			if len(got.Artifacts) == 0 {
				t.Error("nothing of what the call has published stands")
			}
			if n := w.header(id).Bytes; n > limit+50_000 {
				t.Errorf("the log has %d bytes, want little more than the %d that a call may publish", n, limit)
			}
		})
	}
}

// What one call publishes is no other's.
func TestOutputIsOfOneCall(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start(func(c *engine.Config) { c.Limits.Output = 20_000 })
		calls := []any{}
		for range 8 {
			calls = append(calls, "stream", args{"n": 50})
		}
		w.wantState(w.send(w.calls(calls...)), a2a.TaskStateCompleted)
	})
}

// errSilence is what a tool returns whose request was sent and not answered.
var errSilence = fmt.Errorf("POST /payments: connection reset: %w", tool.ErrOutcomeUnknown)

// A call whose tool does not know what came of it is not failed: a person is asked, and
// reads what the tool says. If a repetition would do no harm, the call fails as after a
// timeout. In no case is it run again by itself.
func TestToolThatDoesNotKnow(t *testing.T) {
	t.Parallel()
	for _, is := range []tool.Annotations{
		{}, {ReadOnly: true}, {Idempotent: true}, {Destructive: true}, {Idempotent: true, Destructive: true},
	} {
		for _, verb := range []approval.DecisionType{approval.Approve, approval.Respond, approval.Reject} {
			runOnEachDisk(t, fmt.Sprintf("%+v %s", is, verb), func(t *testing.T, w *world) {
				pay := newKeeper("pay", func(_ tool.Context, n int) (map[string]any, error) {
					if n == 1 {
						return nil, errSilence
					}
					return map[string]any{"paid": n}, nil
				})
				pay.is = is
				seen := w.witness()
				w.startTools(pay)
				id := w.begun(alice, w.calls("pay", args{}))
				if is.ReadOnly || is.Idempotent {
					w.wantState(w.get(id), a2a.TaskStateFailed)
					if r := w.mustResult(seen, id, "c1.1"); r.Outcome != task.OutcomeError || !strings.Contains(r.Error, "connection reset") {
						t.Errorf("the planner was told %s, %q", r.Outcome, r.Error)
					}
					pay.want(t, visit{call: "c1.1"})
					return
				}
				got := w.get(id)
				w.wantState(got, a2a.TaskStateInputRequired)
				a := w.onlyOne(id)
				if a.Kind != approval.KindOutcome || !strings.Contains(a.Hint, "POST /payments: connection reset.") {
					t.Errorf("a person is asked about the %s: %q", a.Kind, a.Hint)
				}
				if !strings.Contains(statusText(got), "POST /payments: connection reset") {
					t.Errorf("the question does not say what the tool says: %s", statusText(got))
				}
				w.restart() // nobody forgets it
				answer := approval.Decision{ID: a.ID, Type: verb}
				if verb == approval.Respond {
					answer.Response = []byte(`"paid"`)
				}
				w.must(w.decide(bob, id, answer))
				synctest.Wait()
				w.ended(id)
				want := map[approval.DecisionType]task.Outcome{approval.Approve: task.OutcomeOK, approval.Respond: task.OutcomeResponded, approval.Reject: task.OutcomeUnknown}[verb]
				if r := w.mustResult(seen, id, "c1.1"); r.Outcome != want {
					t.Errorf("the call ended %s, want %s", r.Outcome, want)
				}
				if n := len(pay.seen()); n != 1 && verb != approval.Approve || n > 2 {
					t.Errorf("the tool was entered %d times", n)
				}
			})
		}
	}
}

// unknownError says that it wraps tool.ErrOutcomeUnknown, and panics when it is asked
// what it says.
type unknownError struct{}

func (unknownError) Error() string          { panic("no words") }
func (unknownError) Is(target error) bool   { return target == tool.ErrOutcomeUnknown }
func (unknownError) Unwrap() error          { return nil }
func (unknownError) As(target any) (_ bool) { return false }

// Whatever else a tool says or does, a call whose outcome it does not know is unknown: the
// doubt goes to a person.
func TestDoubtComesFirst(t *testing.T) {
	t.Parallel()
	ask := &tool.Suspension{Asks: []tool.Question{{Kind: tool.AskQuestion, Hint: "which one?"}}, Wake: time.Unix(0, 0)}
	for name, run := range map[string]func(ctx tool.Context) error{
		"and is suspended":       func(tool.Context) error { return errors.Join(ask, errSilence) },
		"and was rejected":       func(tool.Context) error { return errors.Join(tool.ErrConfirmationRejected, errSilence) },
		"and asks by the way":    func(ctx tool.Context) error { _ = tool.RequestConfirmation(ctx, "really?", nil); return errSilence },
		"and has kept something": func(ctx tool.Context) error { return errors.Join(tool.Checkpoint(ctx, []byte(`1`)), errSilence) },
		"and its error panics":   func(tool.Context) error { return unknownError{} },
		"and publishes too much": func(ctx tool.Context) error {
			for range 20 {
				_, _ = ctx.Artifacts().Save(ctx, "page", agent.Part{Text: strings.Repeat("x", 1000)})
			}
			return errSilence
		},
		"and was told to end": func(ctx tool.Context) error { <-ctx.Done(); return errSilence },
		"and hides it": func(tool.Context) error {
			return fmt.Errorf("first\u202e line\nsecond\x00 line: %w", tool.ErrOutcomeUnknown)
		},
		"and says nothing": func(tool.Context) error { return tool.ErrOutcomeUnknown },
		"and says too much": func(tool.Context) error {
			return fmt.Errorf("%s: %w", strings.Repeat("a very long story ", 100_000), tool.ErrOutcomeUnknown)
		},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			w.cfg.Limits = task.Limits{Output: 10_000, ToolTimeout: time.Second}
			w.startTools(newKeeper("pay", func(ctx tool.Context, _ int) (map[string]any, error) { return nil, run(ctx) }))
			id := w.begin(w.calls("pay", args{}))
			pass(time.Minute)
			w.wantState(w.get(id), a2a.TaskStateInputRequired)
			a := w.onlyOne(id)
			if a.Kind != approval.KindOutcome || len(a.Hint) > 20_000 || strings.ContainsAny(a.Hint, "\u202e\x00") {
				t.Errorf("a person is asked about the %s: %.400q", a.Kind, a.Hint)
			}
		})
	}
}

// A result that nobody waits for any more, and that nobody knows, is recorded as what it
// is, also if the tool's error does not say so itself.
func TestLateResultThatIsUnknown(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"says it": errSilence, "does not say it": &quiet{errSilence}} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			runs := w.counted()
			w.startTools(newKeeper("pay", func(tool.Context, int) (map[string]any, error) {
				runs.hold()
				return nil, err
			}))
			id := w.begun(alice, w.calls("pay", args{}))
			w.cancel(id)
			before := w.header(id)
			runs.open()
			synctest.Wait()
			after := w.header(id)
			w.wantState(w.get(id), a2a.TaskStateCanceled)
			if after.Fence != before.Fence || after.Pub != before.Pub || after.Pending != 0 {
				t.Errorf("the task was %+v, and is %+v", before, after)
			}
			said := ""
			for _, e := range w.audits(id) {
				if e.What == approval.AuditLate {
					said = e.Reason
				}
			}
			if !strings.Contains(said, tool.ErrOutcomeUnknown.Error()) || !strings.Contains(said, "connection reset") {
				t.Errorf("the late result is recorded as %q", said)
			}
		})
	}
}

// quiet wraps an error without its text.
type quiet struct{ err error }

func (*quiet) Error() string   { return "connection reset" }
func (q *quiet) Unwrap() error { return q.err }

// hasty is a tool with a time limit of its own.
type hasty struct {
	*keeper
	limit func() time.Duration
}

func (h *hasty) Timeout() time.Duration { return h.limit() }

// guarded wraps a tool.
type guarded struct{ tool.Tool }

func (g *guarded) Unwrap() tool.Tool { return g.Tool }

// A tool may have more or less time than others. One that says nothing useful has as much.
func TestToolWithATimeLimitOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		limit func() time.Duration
		want  time.Duration
	}{
		"less":     {func() time.Duration { return time.Second }, time.Second},
		"more":     {func() time.Duration { return time.Hour }, time.Hour},
		"none":     {func() time.Duration { return 0 }, time.Minute},
		"negative": {func() time.Duration { return -time.Hour }, time.Minute},
		"panics":   {func() time.Duration { panic("no time") }, time.Minute},
	} {
		for _, wrapped := range []bool{false, true} {
			runInMemory(t, fmt.Sprintf("%s wrapped %t", name, wrapped), func(t *testing.T, w *world) {
				var took time.Duration
				var h tool.Tool = &hasty{limit: tc.limit, keeper: newKeeper("slow", func(ctx tool.Context, _ int) (map[string]any, error) {
					begun := time.Now()
					<-ctx.Done()
					took = time.Since(begun)
					return nil, ctx.Err()
				})}
				if wrapped {
					h = &guarded{h}
				}
				w.cfg.Limits = task.Limits{ToolTimeout: time.Minute}
				w.startTools(h)
				id := w.begun(alice, w.calls("slow", args{}))
				pass(2 * time.Hour)
				w.asksOutcome(id)
				if took != tc.want {
					t.Errorf("the tool was told to end after %v, want %v", took, tc.want)
				}
			})
		}
	}
}

// A tool whose time is over may still say what it did, with the chunks that it has: a chunk that
// would be refused would hide its result. If it fails, maybe only because it was told to end, a
// person is asked.
func TestToolSaysWhatItDidWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end  *tool.Result
		err  error
		is   tool.Annotations
		want a2a.TaskState
	}{
		"result":         {&tool.Result{Content: "done"}, nil, tool.Annotations{}, a2a.TaskStateCompleted},
		"only canceled":  {nil, fmt.Errorf("wait: %w", context.Canceled), tool.Annotations{}, a2a.TaskStateInputRequired},
		"only stops":     {nil, nil, tool.Annotations{}, a2a.TaskStateInputRequired},
		"read-only":      {nil, context.Canceled, tool.Annotations{ReadOnly: true}, a2a.TaskStateFailed},
		"failed":         {nil, errors.New("signal: killed"), tool.Annotations{}, a2a.TaskStateInputRequired},
		"failed result":  {&tool.Result{Error: "wait: context canceled"}, nil, tool.Annotations{}, a2a.TaskStateInputRequired},
		"without effect": {nil, fmt.Errorf("%w: %w", tool.ErrNoEffect, context.Canceled), tool.Annotations{}, a2a.TaskStateFailed},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			w.cfg.Limits = task.Limits{ToolTimeout: time.Minute, ToolGrace: time.Second}
			w.startTools(&streamer{fake: fake{name: "slow", is: tc.is}, stream: func(ctx tool.Context, _ map[string]any, yield func(*tool.Result, error) bool) {
				<-ctx.Done()
				if yield(&tool.Result{Content: "the last words", Streaming: true}, nil) && (tc.end != nil || tc.err != nil) {
					yield(tc.end, tc.err)
				}
			}})
			id := w.begun(alice, w.calls("slow", args{}))
			pass(time.Hour)
			w.wantState(w.get(id), tc.want)
		})
	}
}

// A tool that fails after its time was over, in whatever way, may have had its effect: a person is asked about the
// outcome. If it says how its call stands, that counts.
func TestToolThatFailsWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end  func(ctx tool.Context) (map[string]any, error)
		want a2a.TaskState
	}{
		"fails":              {func(tool.Context) (map[string]any, error) { return nil, errors.New("signal: killed") }, a2a.TaskStateInputRequired},
		"panics":             {func(ctx tool.Context) (map[string]any, error) { panic(ctx.Err()) }, a2a.TaskStateInputRequired},
		"ends its goroutine": {func(tool.Context) (map[string]any, error) { runtime.Goexit(); return args{}, nil }, a2a.TaskStateInputRequired},
		"cannot keep its state": {func(ctx tool.Context) (map[string]any, error) {
			return nil, tool.Checkpoint(context.WithoutCancel(ctx), json.RawMessage(`1`))
		}, a2a.TaskStateInputRequired},
		"has no result": {func(tool.Context) (map[string]any, error) { return args{"a": broken{}}, nil }, a2a.TaskStateInputRequired},
		"had no effect": {func(tool.Context) (map[string]any, error) { return nil, tool.ErrNoEffect }, a2a.TaskStateFailed},
		"was rejected":  {func(tool.Context) (map[string]any, error) { return nil, tool.ErrConfirmationRejected }, a2a.TaskStateCanceled},
		"pauses":        {func(tool.Context) (map[string]any, error) { return nil, &tool.Suspension{Wake: time.Now()} }, a2a.TaskStateCompleted},
		"pauses and ends": {func(ctx tool.Context) (map[string]any, error) {
			return nil, errors.Join(&tool.Suspension{Wake: time.Now()}, ctx.Err())
		}, a2a.TaskStateInputRequired},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			w.cfg.Limits = task.Limits{ToolTimeout: time.Minute, ToolGrace: time.Second}
			runs := 0
			w.startTools(&fake{name: "slow", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				if runs++; runs > 1 {
					return args{}, nil
				}
				<-ctx.Done()
				return tc.end(ctx)
			}})
			id := w.begun(alice, w.calls("slow", args{}))
			pass(time.Hour)
			w.wantState(w.get(id), tc.want)
			if tc.want == a2a.TaskStateInputRequired {
				w.asksOutcome(id)
			}
			if runs > 1 && name != "pauses" {
				t.Errorf("it ran %d times", runs)
			}
		})
	}
}

// A tool that wants to be woken at an odd time has its call woken, or ended; the rest of
// its task continues.
func TestOddWakeTimes(t *testing.T) {
	for name, at := range map[string]time.Time{
		"the epoch": time.Unix(0, 0), "before it": time.Unix(-1, 0), "a moment after nothing": time.Time{}.Add(1), "the year 12000": time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			seen := newWitness()
			w.tools.extra = []tool.Tool{&fake{name: "odd", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				if _, ok := tool.Resumed(ctx); ok {
					return map[string]any{}, nil
				}
				return nil, &tool.Suspension{Wake: at}
			}}}
			w.start(func(c *engine.Config) { c.Planner = seen })
			id := w.begin(w.calls("odd", args{}, "write", args{"amount": 1, "to": "x"}))
			time.Sleep(time.Hour)
			got := w.get(id)
			if _, ok := seen.result(id, "c1.2"); !ok && got.Status.State.Terminal() {
				t.Errorf("the whole task is %s: %s", got.Status.State, statusText(got))
			}
		})
	}
}

// What a tool has returned before the server stops is recorded, as it is when it returns
// after that.
func TestResultReturnedBeforeStop(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		first, second := make(chan struct{}), make(chan struct{})
		returned := make(chan struct{})
		in := make(chan struct{})
		out := make(chan struct{})
		var armed atomic.Bool
		w.tools.extra = []tool.Tool{
			&fake{name: "a", call: func(tool.Context, map[string]any) (map[string]any, error) { <-first; return map[string]any{}, nil }},
			&fake{name: "b", call: func(tool.Context, map[string]any) (map[string]any, error) {
				<-second
				defer close(returned)
				return map[string]any{"paid": true}, nil
			}},
		}
		w.start(func(c *engine.Config) {
			c.CrashPoint = func(point string) {
				if point == env.PointStep && armed.CompareAndSwap(true, false) {
					close(in)
					<-out
				}
			}
		})
		id := w.begin(w.calls("a", args{}, "b", args{}))
		armed.Store(true)
		close(first) // the turn writes what came of a
		<-in
		close(second) // and b returns meanwhile
		<-returned
		synctest.Wait()
		stopped := w.stopping(0)
		synctest.Wait()
		close(out)
		<-stopped
		all := w.audits(id)
		ok := false
		for _, a := range all {
			ok = ok || a.Call == "c1.2" && (a.What == approval.AuditFinished || a.What == approval.AuditLate)
		}
		if !ok {
			t.Errorf("b has returned its result before the store was closed, and nothing says so: %+v", all)
		}
	})
}
