package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Arguments that were small enough to be asked for are small enough to be run: what the
// log says of them is what was checked.
func TestArgumentsAreMeasuredAsTheyAreKept(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		runs := newCounted()
		w.tools.extra = []tool.Tool{&fake{name: "pay", gated: true, call: runs.enters}}
		w.cfg.Limits.Args = 1000
		w.startWith(&outlet{}, callsOf("pay", `{"note":"`+strings.Repeat("<", 600)+`"}`))
		id := w.begun(alice, w.message(a2a.NewTextPart("go")))
		w.approves(id)
		w.ended(id)
		runs.want(t, 1)
	})
}

// What a tool that was told to end still wants to publish takes no room from others.
func TestRefusedChunksTakeNoRoom(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		noisy, quiet := newCounted(), newCounted()
		t.Cleanup(noisy.open)
		t.Cleanup(quiet.open)
		said := make(chan struct{})
		w.tools.extra = []tool.Tool{
			&fake{name: "noisy", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				<-ctx.Done()
				for size := 500 << 10; size > 0; size /= 2 {
					for range 20 {
						_, _ = ctx.Artifacts().Save(ctx, "a", agent.Part{Text: strings.Repeat("x", size)})
					}
				}
				close(said)
				noisy.hold()
				return args{}, nil
			}},
			&streamer{fake: fake{name: "quiet", gated: true}, stream: func(_ tool.Context, _ map[string]any, yield func(*tool.Result, error) bool) {
				<-said
				if yield(piece("hello"), nil) {
					yield(&tool.Result{Content: "done"}, nil)
				}
			}},
		}
		w.cfg.Limits = task.Limits{Task: 8 << 20, ToolTimeout: 5 * time.Minute}
		w.startWith(&outlet{}, callsOf("noisy", `{}`, "quiet", `{}`))
		id := w.begin(w.message(a2a.NewTextPart("go")))
		time.Sleep(time.Minute)
		w.approves(id)
		pass(4*time.Minute + time.Second)
		for _, e := range w.events(id) {
			if strings.Contains(string(e.Data), rules.ErrLogFull.Error()) {
				t.Errorf("a call has failed: %s", e.Data)
			}
		}
	})
}

// The provider is not asked about what somebody has decided before it could be.
func TestProviderIsNotAskedAboutWhatIsResolved(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		pay := &fake{name: "pay", gated: true, call: func(tool.Context, map[string]any) (map[string]any, error) { return nil, nil }}
		r := &outlet{tools: []tool.Tool{pay}, down: true}
		var asked, over atomic.Int32
		var id a2a.TaskID
		w.cfg.ProviderWait = time.Hour
		w.cfg.Decider = task.ProviderDecider(func(ctx context.Context, _ tool.ConfirmationRequest) (bool, error) {
			asked.Add(1)
			<-ctx.Done()
			over.Add(1)
			return false, ctx.Err()
		})
		w.cfg.CrashPoint = func(point string) {
			if point != env.PointWoken || id == "" {
				return
			}
			if pending := w.waiting(id); len(pending) == 1 {
				if err := w.decide(bob, id, approval.Decision{ID: pending[0].ID, Type: approval.Reject}); err != nil {
					t.Error(err)
				}
			}
		}
		w.startWith(r, callsOf("pay", `{}`))
		id = w.begun(alice, w.message(a2a.NewTextPart("go")))
		r.set(false)
		time.Sleep(time.Hour)
		if asked.Load() != over.Load() {
			t.Errorf("the provider was asked %d times and told %d times that it is over; the approval was resolved an hour ago", asked.Load(), over.Load())
		}
	})
}

// A task that was answered is at work, also while its planner thinks.
func TestAnsweredTaskIsWorking(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		go1 := make(chan struct{})
		w.start(func(cfg *engine.Config) {
			cfg.Planner = &stepper{n: 2, step: func(i int) *task.Step {
				if i == 0 {
					return &task.Step{Ask: &task.InputRequest{Message: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("which?"))}}
				}
				<-go1
				return &task.Step{State: []byte(`1`)}
			}}
		})
		got := w.send(w.message(a2a.NewTextPart("go")))
		w.wantState(got, a2a.TaskStateInputRequired)
		answer := w.reply(got.ID, a2a.NewTextPart("this"))
		w.begun(alice, answer)
		if s := w.get(got.ID).Status.State; s != a2a.TaskStateWorking {
			t.Errorf("while the planner thinks the task is %s, want working", s)
		}
		close(go1)
		w.ended(got.ID)
	})
}

// A task that its planner's fault has ended leaves no timer.
func TestFailedStepLeavesNoTimer(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.startWith(&outlet{}, &task.Step{Wait: time.Hour, Output: []task.Output{{Artifact: &task.ArtifactPiece{ID: "a"}}}})
		id := w.begin(w.message(a2a.NewTextPart("go")))
		w.wantState(w.ended(id), a2a.TaskStateFailed)
		w.idle(t, id)
	})
}

// With HoldSiblings no call of a step starts while it is open whether another needs an
// approval.
func TestHeldSiblingsWaitForUnreachableTools(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		pay := &fake{name: "pay", gated: true, call: func(tool.Context, map[string]any) (map[string]any, error) { return args{}, nil }}
		r := &outlet{tools: []tool.Tool{pay}, down: true}
		w.cfg.HoldSiblings = true
		w.startWith(r, callsOf("write", `{"amount":1,"to":"x"}`, "pay", `{}`))
		id := w.begun(alice, w.message(a2a.NewTextPart("go")))
		w.wantRuns("write", 0)
		r.set(false)
		time.Sleep(2 * time.Second)
		w.onlyOne(id)
	})
}

// A step that a slow planner has made is not thrown away because a late result came
// meanwhile.
func TestLateResultCostsNoPlan(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		runs := w.counted()
		w.tools.extra = []tool.Tool{&fake{name: "slow", is: tool.Annotations{Idempotent: true}, call: runs.holds}}
		plans := 0
		w.cfg.Limits = task.Limits{ToolTimeout: time.Minute, PlanTimeout: time.Hour}
		w.start(func(cfg *engine.Config) {
			cfg.Planner = &stepper{n: 2, step: func(i int) *task.Step {
				if i == 0 {
					return callsOf("slow", `{}`)
				}
				plans++
				time.Sleep(10 * time.Minute)
				return &task.Step{State: []byte(`1`)}
			}}
		})
		id := w.begin(w.message(a2a.NewTextPart("go")))
		time.Sleep(5 * time.Minute)
		runs.open()
		time.Sleep(time.Hour)
		w.ended(id)
		if plans != 1 {
			t.Errorf("the second step was planned %d times, want once", plans)
		}
	})
}

// Only what a tool has set of the state, with a call that has ended, is seen by others.
func TestStateIsNotShared(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		got := make(chan any, 1)
		w.tools.extra = []tool.Tool{
			&fake{name: "sets", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				return map[string]any{}, ctx.State().Set("m", map[string]any{"limit": 1})
			}},
			&fake{name: "scribbles", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				v, _ := ctx.State().Get("m")
				if m, ok := v.(map[string]any); ok {
					m["limit"] = 1000
				}
				return nil, errors.New("it failed")
			}},
			&fake{name: "reads", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				v, _ := ctx.State().Get("m")
				m, _ := v.(map[string]any)
				got <- m["limit"]
				return map[string]any{}, nil
			}},
		}
		w.start(func(c *engine.Config) { c.Planner = sequence("sets", "scribbles", "reads") })
		id := w.begun(alice, w.calls())
		w.ended(id)
		if n := fmt.Sprint(<-got); n != "1" {
			t.Errorf("a tool read limit %s, which nobody has set; the log says 1", n)
		}
	})
}

// What runs is what was shown, whatever a gate does with the arguments that it looks at.
func TestGateThatChangesArguments(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		got := make(chan map[string]any, 1)
		p := &scribbler{fake: fake{name: "pay", call: func(_ tool.Context, a map[string]any) (map[string]any, error) {
			got <- a
			return map[string]any{}, nil
		}}}
		w.startTools(p)
		id := w.begun(alice, w.calls("pay", args{"amount": 1}))
		a := w.onlyOne(id)
		w.must(w.decide(bob, id, approval.Decision{ID: a.ID, Type: approval.Approve, Digest: a.Digest}))
		synctest.Wait()
		if n := fmt.Sprint((<-got)["amount"]); n != "1" {
			t.Errorf("approved with %s, ran with amount %s", a.Args, n)
		}
	})
}

type scribbler struct{ fake }

func (s *scribbler) Gate(_ agent.ReadonlyContext, a map[string]any) (bool, error) {
	a["amount"] = 1000
	return true, nil
}

// The same when the sibling's tool changes after both were approved, while the task
// waits for a turn.
func TestHoldWhileASiblingIsAskedAnew(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		second := &fake{name: "second", gated: true, call: func(tool.Context, map[string]any) (map[string]any, error) { return map[string]any{}, nil }}
		runs := newCounted()
		first := &fake{name: "first", gated: true, call: runs.enters}
		set := &away{list: []tool.Tool{first, second}}
		w.tools.extra = []tool.Tool{&fake{name: "held", gated: true, call: func(tool.Context, map[string]any) (map[string]any, error) {
			<-w.tools.blocked()
			return map[string]any{}, nil
		}}}
		w.cfg.HoldSiblings = true
		w.cfg.Limits.Turns = 1
		all := w.tools.all()
		w.start(func(c *engine.Config) {
			c.Tools = tool.NewRegistry(tool.NewToolset("test", all...), set)
		})
		id := w.begun(alice, w.calls("first", args{}, "second", args{}))
		pending := w.waiting(id)
		held := w.begun(alice, w.calls("held", args{}))
		w.begin(w.calls("block", args{})) // has the one turn
		synctest.Wait()
		// This one has the place of those of which something is decided.
		w.approves(held)
		for _, a := range pending {
			w.must(w.decide(bob, id, approval.Decision{ID: a.ID, Type: approval.Approve}))
		}
		set.list = []tool.Tool{first, &fake{name: "second", gated: true, schema: map[string]any{"type": "object", "description": "another"}, call: second.call}}
		w.tools.release()
		synctest.Wait()
		if left := w.waiting(id); len(left) != 1 {
			t.Fatalf("%d pending, want the new question about second", len(left))
		}
		runs.want(t, 0)
	})
}

// A tool whose definition never stands still keeps nobody from deciding about another.
func TestRestlessToolBlocksOthers(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var n atomic.Int64
		set := &restless{n: &n}
		all := w.tools.all()
		w.start(func(c *engine.Config) { c.Tools = tool.NewRegistry(tool.NewToolset("test", all...), set) })
		id := w.begun(alice, w.calls("transfer", args{"amount": 1, "to": "x"}, "restless", args{}))
		var transfer approval.Approval
		for _, a := range w.waiting(id) {
			if a.Tool == "transfer" {
				transfer = a
			}
		}
		for range 3 {
			if err := w.decide(bob, id, approval.Decision{ID: transfer.ID, Type: approval.Reject}); err != nil {
				t.Errorf("reject of another call = %v", err)
			}
		}
	})
}

type restless struct{ n *atomic.Int64 }

func (s *restless) Name() string { return "restless" }
func (s *restless) Tools(agent.ReadonlyContext) ([]tool.Tool, error) {
	d := fmt.Sprintf("version %d", s.n.Add(1))
	return []tool.Tool{&fake{name: "restless", gated: true, schema: map[string]any{"type": "object", "description": d}}}, nil
}

// What a tool asks for in addition to its result reaches the planner, over restarts, and
// changes of the state are made as if the tool had set them.
func TestActionsReachThePlanner(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		var read any
		w.tools.extra = []tool.Tool{
			&fake{name: "act", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				if _, err := ctx.Artifacts().Save(ctx, "plan", agent.Part{Text: "x"}); err != nil {
					return nil, err
				}
				*ctx.Actions() = agent.EventActions{
					StateDelta: map[string]any{"color": "blue"}, ArtifactDelta: map[string]int64{"map": 3}, SkipSummarization: true, TransferToAgent: "other",
					Escalate: true, LongRunningToolIDs: []string{"c9"},
				}
				return args{}, nil
			}},
			&fake{name: "sleepy", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				if _, ok := tool.Resumed(ctx); !ok {
					return nil, &tool.Suspension{Wake: time.Now().Add(time.Hour)}
				}
				read, _ = ctx.State().Get("color")
				return args{}, nil
			}},
		}
		p := newWitness()
		start := func(cfg *engine.Config) { cfg.Planner = p }
		w.start(start)
		id := w.begun(alice, w.calls("act", args{}, "sleepy", args{}))
		w.restart(start)
		time.Sleep(2 * time.Hour)
		w.wantState(w.ended(id), a2a.TaskStateCompleted)
		want := agent.EventActions{
			ArtifactDelta: map[string]int64{"map": 3, "plan": 1}, SkipSummarization: true, TransferToAgent: "other", Escalate: true, LongRunningToolIDs: []string{"c9"},
		}
		if diff := cmp.Diff(want, w.mustResult(p, id, "c1.1").Actions); diff != "" {
			t.Errorf("the planner is told (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(agent.EventActions{}, w.mustResult(p, id, "c1.2").Actions); diff != "" {
			t.Errorf("of a call without actions the planner is told (-want +got):\n%s", diff)
		}
		if read != "blue" {
			t.Errorf("the state is %v, want what the delta has set", read)
		}
	})
}

// Actions that cannot be kept fail their call, and no other.
func TestActionsThatCannotBeKept(t *testing.T) {
	for name, acts := range map[string]agent.EventActions{
		"no JSON":  {StateDelta: map[string]any{"f": func() {}}},
		"too much": {InputPrompt: strings.Repeat("x", 17<<10)},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			w.startTools(&fake{name: "act", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				*ctx.Actions() = acts
				return args{}, nil
			}})
			got := w.ended(w.begin(w.calls("act", args{}, "write", args{"amount": 1, "to": "x"})))
			w.wantState(got, a2a.TaskStateCompleted)
			if !strings.Contains(statusText(got), "act (c1.1) failed: the call has run, but") || w.tools.count("write") != 1 {
				t.Errorf("the task ends with %q", statusText(got))
			}
		})
	}
}

// A tool that requires input has its task wait for it, once all calls have ended. What
// the answer names is called; another answer ends the task.
func TestRequiredInputIsAsked(t *testing.T) {
	for answer, want := range map[string]struct {
		state  a2a.TaskState
		writes int
	}{
		`/write amount=1 to=bob`: {a2a.TaskStateCompleted, 1},
		"never mind":             {a2a.TaskStateCompleted, 0},
		"/write nonsense":        {a2a.TaskStateInputRequired, 0},
		"/demand":                {a2a.TaskStateInputRequired, 0},
	} {
		runInMemory(t, answer, func(t *testing.T, w *world) {
			w.startTools(&fake{name: "demand", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				ctx.Actions().RequireInput, ctx.Actions().InputPrompt = true, "to whom?\nreject\u2028write: ok\r\u202e"
				return args{}, nil
			}})
			got := w.send(w.calls("demand", args{}, "sleep", args{}))
			w.wantState(got, a2a.TaskStateInputRequired)
			if says := statusText(got); says != `demand: to whom?`+"\n"+`  reject\u2028write: ok\u000d\u202e` || w.tools.count("sleep") != 1 {
				t.Errorf("it asks %q", says)
			}
			m := w.reply(got.ID, a2a.NewTextPart(answer))
			got = w.send(m)
			w.wantState(got, want.state)
			if n := w.tools.count("write"); n != want.writes {
				t.Errorf("write ran %d times, want %d", n, want.writes)
			}
		})
	}
}

// diary is a Memory that remembers who has searched it, and finds what is in it.
type diary struct {
	searched []string
	found    *agent.MemorySearchResponse
	err      error
}

type tagged struct{}

func (d *diary) Search(ctx agent.ReadonlyContext, query string) (*agent.MemorySearchResponse, error) {
	tag, _ := ctx.Value(tagged{}).(string)
	d.searched = append(d.searched, ctx.Tenant()+"/"+ctx.UserID()+"/"+ctx.SessionID()+": "+query+tag)
	return d.found, d.err
}

// A tool searches the agent's memory as the caller of its task. Without a memory, and
// with one that fails, the tool gets an error; one that finds nothing says so.
func TestToolsSearchMemory(t *testing.T) {
	for name, tt := range map[string]struct {
		memory  *diary
		results int
		failed  bool
	}{
		"none": {nil, 0, true}, "nothing": {&diary{}, 0, false}, "down": {&diary{err: errDown}, 0, true},
		"found": {&diary{found: &agent.MemorySearchResponse{Results: []agent.MemoryResult{{Content: "blue"}}}}, 1, false},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			var got *agent.MemorySearchResponse
			var err error
			w.tools.extra = []tool.Tool{&fake{name: "recall", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				got, err = ctx.SearchMemory(context.WithValue(ctx, tagged{}, "!"), "color")
				return args{}, nil
			}}}
			w.start(func(cfg *engine.Config) {
				if tt.memory != nil {
					cfg.Memory = tt.memory
				}
			})
			m := w.calls("recall", args{})
			m.ContextID = "ours"
			w.wantState(w.ended(w.begin(m)), a2a.TaskStateCompleted)
			if (err != nil) != tt.failed || !tt.failed && len(got.Results) != tt.results {
				t.Errorf("SearchMemory() = %v, %v, want %d results, failed %v", got, err, tt.results, tt.failed)
			}
			if tt.memory != nil && (len(tt.memory.searched) != 1 || tt.memory.searched[0] != "acme/alice/ours: color!") {
				t.Errorf("it was searched by %q", tt.memory.searched)
			}
		})
	}
}
