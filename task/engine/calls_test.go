package engine_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Arguments that were small enough to be asked for are small enough to be run: what the
// log says of them is what was checked.
func TestArgumentsAreMeasuredAsTheyAreKept(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		runs := newCounted()
		w.tools.extra = []tool.Tool{&fake{name: "pay", gated: true, call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			runs.enter(ctx)
			return args{}, nil
		}}}
		w.cfg.Limits.Args = 1000
		w.startWith(&outlet{}, callsOf("pay", `{"note":"`+strings.Repeat("<", 600)+`"}`))
		id := w.begin(w.message(a2a.NewTextPart("go")))
		synctest.Wait()
		if err := w.decide(bob, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Approve}); err != nil {
			t.Fatal(err)
		}
		w.ended(id)
		if n := runs.count(); n != 1 {
			t.Errorf("the approved call ran %d times, want 1", n)
		}
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
			&streamer{fake: fake{name: "quiet", gated: true}, stream: func(tool.Context, map[string]any) iter.Seq2[*tool.Result, error] {
				return func(yield func(*tool.Result, error) bool) {
					<-said
					if yield(&tool.Result{Content: "hello", Streaming: true}, nil) {
						yield(&tool.Result{Content: "done"}, nil)
					}
				}
			}},
		}
		w.cfg.Limits = task.Limits{Task: 8 << 20, ToolTimeout: 5 * time.Minute}
		w.startWith(&outlet{}, callsOf("noisy", `{}`, "quiet", `{}`))
		id := w.begin(w.message(a2a.NewTextPart("go")))
		time.Sleep(time.Minute)
		if err := w.decide(bob, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Approve}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4*time.Minute + time.Second)
		synctest.Wait()
		p, err := w.store.Read(context.Background(), store.System(), mustID(id), store.After(0), store.Limit{Events: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Events {
			if strings.Contains(string(e.Data), task.ErrLogFull.Error()) {
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
		w.cfg.Provider = func(ctx context.Context, _ tool.ConfirmationRequest) (bool, error) {
			asked.Add(1)
			<-ctx.Done()
			over.Add(1)
			return false, ctx.Err()
		}
		w.cfg.CrashPoint = func(point string) {
			if point != engine.PointWoken || id == "" {
				return
			}
			if pending := w.waiting(id); len(pending) == 1 {
				if err := w.decide(bob, id, approval.Answer{ID: pending[0].ID, Verb: approval.Reject}); err != nil {
					t.Error(err)
				}
			}
		}
		w.startWith(r, callsOf("pay", `{}`))
		id = w.begin(w.message(a2a.NewTextPart("go")))
		synctest.Wait()
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
					return &task.Step{Ask: &task.Ask{Message: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("which?"))}}
				}
				<-go1
				return &task.Step{State: []byte(`1`)}
			}}
		})
		got := w.send(w.message(a2a.NewTextPart("go")))
		w.wantState(got, a2a.TaskStateInputRequired)
		answer := w.message(a2a.NewTextPart("this"))
		answer.TaskID = got.ID
		w.begin(answer)
		synctest.Wait()
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
		for _, d := range w.dueOf(id) {
			t.Errorf("work of kind %s is still due at %s", d.Kind, d.Time.Time())
		}
	})
}

// What a call may set of the state is bounded, however it ends.
func TestStateOfFailedCallIsBounded(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var found bool
		w.tools.extra = []tool.Tool{
			&fake{name: "set", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				return nil, errors.Join(ctx.State().Set("k", strings.Repeat("x", 1<<20)), errTool)
			}},
			&fake{name: "read", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				_, found = ctx.State().Get("k")
				return args{}, nil
			}},
		}
		w.startWith(&outlet{}, callsOf("set", `{}`), callsOf("read", `{}`))
		w.ended(w.begin(w.message(a2a.NewTextPart("go"))))
		if found {
			t.Error("a call that failed has set 1 MiB of the state; at most 64 KiB are kept")
		}
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
		id := w.begin(w.message(a2a.NewTextPart("go")))
		synctest.Wait()
		if n := w.tools.count("write"); n != 0 {
			t.Errorf("write ran %d times before it was known whether its sibling is approved, want 0", n)
		}
		r.set(false)
		time.Sleep(2 * time.Second)
		w.onlyOne(id)
	})
}

// A step that a slow planner has made is not thrown away because a late result came
// meanwhile.
func TestLateResultCostsNoPlan(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		runs := newCounted()
		t.Cleanup(runs.open)
		w.tools.extra = []tool.Tool{&fake{name: "slow", is: tool.Annotations{Idempotent: true}, call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			runs.enter(ctx)
			runs.hold()
			return args{}, nil
		}}}
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
