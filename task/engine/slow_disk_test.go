package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/tool"
)

// slowDisk is a store that, while it is held, commits a batch only when it is told to.
type slowDisk struct {
	store.Handle
	mu    sync.Mutex
	held  bool
	queue []*heldBatch // oldest first
}

type heldBatch struct {
	ctx    context.Context //nolint:containedctx // of a queued call
	batch  *store.Batch
	commit *store.Commit
}

func (d *slowDisk) Append(ctx context.Context, b *store.Batch) *store.Commit {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.held {
		return d.Handle.Append(ctx, b)
	}
	q := &heldBatch{ctx: ctx, batch: b, commit: store.NewCommit()}
	d.queue = append(d.queue, q)
	return q.commit
}

func (d *slowDisk) hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = true
}

// waiting returns how many batches wait.
func (d *slowDisk) waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.queue)
}

// let commits the batch at a place of the queue.
func (d *slowDisk) let(i int) {
	d.mu.Lock()
	q := d.queue[i]
	d.queue = append(d.queue[:i:i], d.queue[i+1:]...)
	d.mu.Unlock()
	r, err := d.Handle.Append(q.ctx, q.batch).Wait()
	q.commit.Answer(r, err)
}

// drain commits all that waits, and what comes of it, once nothing else can happen.
func (d *slowDisk) drain() {
	for synctest.Wait(); d.waiting() > 0; synctest.Wait() {
		d.let(0)
	}
}

// release commits all that waits, and holds nothing any more.
func (d *slowDisk) release() {
	for d.waiting() > 0 {
		d.let(0)
	}
	d.mu.Lock()
	d.held = false
	d.mu.Unlock()
}

// onSlowDisk runs a test in a bubble, on a slow disk that is not held yet.
func onSlowDisk(t *testing.T, test func(t *testing.T, w *world, d *slowDisk)) {
	t.Helper()
	inMemory(t, func(t *testing.T, w *world) {
		d := &slowDisk{}
		w.wrap = func(h store.Handle) store.Handle {
			d.Handle = h
			return d
		}
		t.Cleanup(d.release)
		test(t, w, d)
	})
}

// A tool is entered when its start is in the log of the disk, and not before: for a new
// task, after an approval, beside a sibling that runs, and in a later step.
func TestToolIsEnteredAfterItsStartIsDurable(t *testing.T) {
	t.Parallel()
	approve := func(w *world, id a2a.TaskID) {
		if err := w.decide(alice, id, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Approve}); err != nil {
			w.t.Error(err)
		}
	}
	for name, play := range map[string]struct {
		begin []any // calls of a task that is there before
		goOn  func(w *world, id a2a.TaskID)
	}{
		"a new task":       {nil, func(w *world, _ a2a.TaskID) { w.begin(w.calls("pay", args{"n": 1})) }},
		"an approved call": {[]any{"gated", args{"n": 1}}, approve},
		"beside a sibling": {[]any{"block", args{}, "gated", args{"n": 1}}, approve},
		"a later step":     {[]any{"block", args{}}, func(w *world, _ a2a.TaskID) { w.tools.release() }},
	} {
		t.Run(name, func(t *testing.T) {
			onSlowDisk(t, func(t *testing.T, w *world, d *slowDisk) {
				entered, early := 0, 0
				call := func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
					entered++
					if !d.started(ctx.TaskID(), ctx.FunctionCallID()) {
						early++
					}
					return map[string]any{"ok": true}, nil
				}
				w.tools.extra = []tool.Tool{&fake{name: "pay", call: call}, &fake{name: "gated", gated: true, call: call}}
				if name == "a later step" {
					w.cfg.Planner = &stepper{n: 2, inline: true, step: func(i int) *task.Step {
						return &task.Step{Calls: []task.PlannedCall{{Tool: []string{"block", "pay"}[i]}}}
					}}
				}
				w.start()
				id := a2a.TaskID("")
				if play.begin != nil {
					id = w.begin(w.calls(play.begin...))
				}
				synctest.Wait()
				d.hold()
				go play.goOn(w, id)
				d.drain()
				if entered != 1 || early > 0 {
					t.Errorf("the tool was entered %d times, %d times before its start was durable", entered, early)
				}
			})
		})
	}
}

// started reports whether the disk has the start of a call.
func (d *slowDisk) started(id, call string) bool {
	v, err := d.Read(context.Background(), store.System(), mustID(a2a.TaskID(id)), store.After(0), store.Limit{})
	if err != nil {
		return false
	}
	for _, e := range v.Events {
		var s struct{ Call string }
		if e.Kind == "call.started.v1" && json.Unmarshal(e.Data, &s) == nil && s.Call == call {
			return true
		}
	}
	return false
}

// toTurn commits what waits, up to the first change by a turn of a task, which goes on waiting.
func (d *slowDisk) toTurn(id a2a.TaskID) {
	for synctest.Wait(); d.waiting() > 0; synctest.Wait() {
		if b := d.queue[0].batch; b.Task == mustID(id) && b.Fence != nil && b.Rev != nil {
			return
		}
		d.let(0)
	}
}

// A start waits for the disk, or a question does. If what it depends on changes meanwhile, it is not written,
// and the call is judged again.
func TestCallIsJudgedAgainAfterWaitingForTheDisk(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		amount int // 1: the grant covers it
		change func(w *world, gone *atomic.Bool)
		asks   bool
	}{
		"nothing changes":         {1, func(*world, *atomic.Bool) {}, false},
		"the maker is withdrawn":  {1, func(_ *world, gone *atomic.Bool) { gone.Store(true) }, true},
		"the grant ends":          {1, func(*world, *atomic.Bool) { pass(2 * time.Hour) }, true},
		"a gate denies the start": {1, func(w *world, _ *atomic.Bool) { w.freeze("send_mail", approval.ActionDeny) }, false},
		"a gate denies what asks": {2, func(w *world, _ *atomic.Bool) { w.freeze("send_mail", approval.ActionDeny) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			onSlowDisk(t, func(t *testing.T, w *world, d *slowDisk) {
				var gone atomic.Bool
				w.cfg.Current = func(_ context.Context, was auth.Principal) (auth.Principal, error) {
					if gone.Load() {
						return auth.Principal{}, &auth.WithdrawnError{Why: "their key has gone"}
					}
					return was, nil
				}
				w.cfg.Limits = patient(1, 1)
				w.mailing(mails(approval.GrantTerms{}))
				w.grantOf(boss, w.mail(alice, "", args{"amount": 1}), approval.GrantRequest{Scope: approval.GrantTime, For: time.Hour})
				w.takeTheTurn()
				id := w.begun(alice, w.calls("send_mail", args{"amount": tc.amount}))
				d.hold()
				w.tools.release()
				d.toTurn(id)
				if d.waiting() == 0 {
					t.Fatal("no batch of the turn waits")
				}
				tc.change(w, &gone)
				for synctest.Wait(); d.waiting() > 1; synctest.Wait() {
					d.let(1) // of the sweep after a reload
				}
				d.release()
				synctest.Wait()
				want := 1 // by the call that made the grant
				if name == "nothing changes" {
					want = 2
				}
				if n := w.tools.count("send_mail"); n != want || len(w.waiting(id)) > 0 != tc.asks {
					t.Errorf("send_mail ran %d times, want %d; %d questions wait; the task is %s", n, want, len(w.waiting(id)), w.get(id).Status.State)
				}
			})
		})
	}
}

// A decision waits for the disk. If its sender is withdrawn meanwhile, it does not count; if the gates are
// replaced, it is judged by the new ones.
func TestDecisionIsJudgedAgainAfterWaitingForTheDisk(t *testing.T) {
	t.Parallel()
	const nothing, withdrawn, role, strict = "nothing changes", "the sender is withdrawn", "the sender has no role", "a gate needs two people"
	for _, change := range []string{nothing, withdrawn, role, strict} {
		for _, kind := range []approval.DecisionType{approval.Approve, approval.Edit} {
			for _, working := range []bool{false, true} { // another call of the task runs
				t.Run(fmt.Sprintf("%s, %s, working %t", change, kind, working), func(t *testing.T) {
					onSlowDisk(t, func(t *testing.T, w *world, d *slowDisk) {
						var now atomic.Value
						now.Store(nothing)
						current := func(_ context.Context, was auth.Principal) (auth.Principal, error) {
							switch now.Load() {
							case withdrawn:
								return was, &auth.WithdrawnError{Why: "their key has gone"}
							case role:
								was.Roles = nil
							}
							return was, nil
						}
						w.cfg.Current = current
						w.start()
						pairs := []any{"transfer", args{"amount": 1, "to": "x"}}
						if working {
							pairs = append(pairs, "block", args{})
						}
						id := w.begin(w.calls(pairs...))
						synctest.Wait()
						decision := approval.Decision{ID: w.onlyOne(id).ID, Type: kind}
						if kind == approval.Edit {
							decision.Args = json.RawMessage(`{"amount":2,"to":"x"}`)
						}
						d.hold()
						said := make(chan error, 1)
						go func() {
							renewing := w.engine.Approvals().Renewing(func(ctx context.Context) (auth.Principal, error) { return current(ctx, boss) })
							said <- renewing.Decide(w.ctx(), boss, decision)
						}()
						synctest.Wait()
						if d.waiting() != 1 {
							t.Fatalf("%d batches wait", d.waiting())
						}
						if now.Store(change); change == strict {
							w.replace(approval.Gate{Name: "two", Tool: "transfer", Terms: approval.Terms{People: 2}})
						}
						for synctest.Wait(); d.waiting() > 1; synctest.Wait() {
							d.let(1) // of the sweep after a reload
						}
						d.release()
						synctest.Wait()
						err := <-said
						w.tools.release()
						synctest.Wait()
						want := change == nothing || change == strict && kind == approval.Approve // which was asked under one gate
						if n := w.tools.count("transfer"); n == 1 != want {
							t.Errorf("transfer ran %d times; the decision: %v", n, err)
						}
					})
				})
			}
		}
	}
}

// freeze reloads the engine with a gate for a tool.
func (w *world) freeze(name string, action approval.Action) {
	w.t.Helper()
	w.replace(approval.Gate{Name: "frozen", Tool: name, Action: action})
}

// replace reloads the engine with other gates.
func (w *world) replace(gates ...approval.Gate) {
	w.t.Helper()
	p, err := approval.NewPolicy(approval.PolicyConfig{Gates: gates})
	w.must(err)
	w.engine.Reload(tool.NewRegistry(tool.NewToolset("test", w.tools.all()...)), p, nil)
}

// A tool that streams runs ahead of the disk by a window, and waits for it then. What it
// has handed over is shown when the disk has it.
func TestToolIsAheadOfTheDiskByAWindow(t *testing.T) {
	onSlowDisk(t, func(t *testing.T, w *world, d *slowDisk) {
		const chunk, window, all = 1000, 20_000, 500
		handed := 0
		w.cfg.Limits = task.Limits{Window: window}
		w.startTools(&streamer{fake: fake{name: "pour"}, stream: func(_ tool.Context, _ map[string]any, yield func(*tool.Result, error) bool) {
			d.hold()
			for range all {
				if !yield(piece(strings.Repeat("x", chunk)), nil) {
					return
				}
				handed++
			}
		}})
		id := w.begun(alice, w.calls("pour", args{}))
		if most := (window/chunk + 1) * 4; handed == 0 || handed > most {
			t.Errorf("the tool has handed over %d chunks to a disk that takes none, want at most %d", handed, most)
		}
		if got := w.get(id); len(got.Artifacts) > 0 {
			t.Errorf("%d chunks are shown that the disk does not have", len(got.Artifacts[0].Parts))
		}
		d.drain()
		got := w.ended(id)
		if w.wantState(got, a2a.TaskStateCompleted); len(got.Artifacts[0].Parts) != all {
			t.Errorf("the artifact has %d parts, want %d", len(got.Artifacts[0].Parts), all)
		}
	})
}

// A turn that waits for the disk before it reads its task back keeps no other turn from
// reading its own.
func TestReadingBackWaitsForNoOtherTask(t *testing.T) {
	onSlowDisk(t, func(t *testing.T, w *world, d *slowDisk) {
		gates := map[string]chan struct{}{"first": make(chan struct{}), "second": make(chan struct{})}
		w.startTools(&streamer{fake: fake{name: "pour"}, stream: func(_ tool.Context, a map[string]any, yield func(*tool.Result, error) bool) {
			for range 100 {
				yield(piece(strings.Repeat("x", 10_000)), nil)
			}
			for range gates[fmt.Sprint(a["gate"])] {
				yield(piece("piece"), nil)
			}
		}})
		first, second := w.begin(w.calls("pour", args{"gate": "first"})), w.begun(alice, w.calls("pour", args{"gate": "second"}))
		d.hold()
		gates["first"] <- struct{}{}
		synctest.Wait()
		close(gates["first"])
		synctest.Wait()
		if n := d.waiting(); n != 1 {
			t.Errorf("%d batches wait, want that of the piece: the first task cannot be read back before it", n)
		}
		close(gates["second"])
		synctest.Wait()
		if n := d.waiting(); n != 2 {
			t.Errorf("%d batches wait, want the result of the second task, too", n)
		}
		d.drain()
		for _, id := range []a2a.TaskID{first, second} {
			w.wantState(w.get(id), a2a.TaskStateCompleted)
		}
	})
}
