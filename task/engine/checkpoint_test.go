package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// visit is one run of a keeper, as it was entered.
type visit struct {
	call    string
	state   string // "": it was not entered again
	answers int
}

// keeper is a tool that may keep something while it runs. run is called on its n-th
// entry.
type keeper struct {
	fake
	mu     sync.Mutex
	visits []visit
}

func newKeeper(name string, run func(ctx tool.Context, n int) (map[string]any, error)) *keeper {
	k := &keeper{fake: fake{name: name}}
	k.call = func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
		v := visit{call: ctx.FunctionCallID()}
		if r, ok := tool.Resumed(ctx); ok {
			if v.state = string(r.State); v.state == "" {
				v.state = "nothing"
			}
			v.answers = len(r.Answers)
		}
		k.mu.Lock()
		k.visits = append(k.visits, v)
		n := len(k.visits)
		k.mu.Unlock()
		return run(ctx, n)
	}
	return k
}

func (k *keeper) seen() []visit {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]visit{}, k.visits...)
}

// want checks how the tool was entered.
func (k *keeper) want(t *testing.T, want ...visit) {
	t.Helper()
	if got := k.seen(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s was entered as %v, want %v", k.name, got, want)
	}
}

// untilCut waits for the end of the call.
func untilCut(ctx tool.Context) (map[string]any, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// checkpoints returns the checkpoints in a task's log.
func (w *world) checkpoints(id a2a.TaskID) []string {
	w.t.Helper()
	var all []string
	for _, e := range w.events(id) {
		if e.Kind == "call.checkpoint.v1" {
			var kept struct{ State json.RawMessage }
			w.must(json.Unmarshal(e.Data, &kept))
			all = append(all, string(kept.State))
		}
	}
	return all
}

// A call whose process dies after a checkpoint is entered again with it: nobody is asked,
// whether the call was approved or needed no approval. The newest checkpoint counts.
func TestCallContinuesFromItsCheckpoint(t *testing.T) {
	t.Parallel()
	for _, gated := range []bool{false, true} {
		runOnEachDisk(t, fmt.Sprintf("gated %t", gated), func(t *testing.T, w *world) {
			job := newKeeper("job", func(ctx tool.Context, n int) (map[string]any, error) {
				if n == 3 {
					return map[string]any{"done": true}, nil
				}
				for i := range 2 {
					if err := tool.Checkpoint(ctx, fmt.Appendf(nil, `{"run":%d,"n":%d}`, n, i)); err != nil {
						t.Errorf("Checkpoint() = %v", err)
					}
				}
				return untilCut(ctx)
			})
			job.gated = gated
			k := w.killer()
			w.startTools(job)
			id := w.begin(w.calls("job", args{}))
			if gated {
				w.approves(id)
			}
			for range 2 {
				synctest.Wait()
				k.die()
				w.restart()
			}
			pass(time.Minute) // the second time after a pause
			job.want(t, visit{call: "c1.1"}, visit{"c1.1", `{"run":1,"n":1}`, 0}, visit{"c1.1", `{"run":2,"n":1}`, 0})
			w.wantState(w.get(id), a2a.TaskStateCompleted)
			asked := w.asked(id)
			if gated && len(asked) != 1 || !gated && len(asked) > 0 {
				t.Errorf("%v were asked", idsOf(asked))
			}
		})
	}
}

// A checkpoint is in the log of the disk when it returns, and not before, and what the
// tool published before it is, too.
func TestCheckpointReturnsWhenItIsDurable(t *testing.T) {
	onSlowDisk(t, func(t *testing.T, w *world, d *slowDisk) {
		returned := 0
		w.startTools(&streamer{fake: fake{name: "pour"}, stream: func(ctx tool.Context, _ map[string]any, yield func(*tool.Result, error) bool) {
			d.hold()
			for i := range 3 {
				yield(piece(fmt.Sprint("piece ", i)), nil)
				if err := tool.Checkpoint(ctx, fmt.Append(nil, i)); err != nil {
					t.Errorf("Checkpoint() = %v", err)
				}
				returned++
			}
		}})
		id := w.begin(w.calls("pour", args{}))
		for n := 0; n < 3; n++ {
			synctest.Wait()
			if kept := w.checkpoints(id); returned != n || len(kept) != n {
				t.Fatalf("%d checkpoints have returned, and %v are in the log, want %d", returned, kept, n)
			}
			for before := returned; returned == before; synctest.Wait() {
				d.let(0)
			}
		}
		d.drain()
		order := ""
		for _, e := range w.events(id) {
			if e.Kind == "call.checkpoint.v1" || e.Kind == "artifact" {
				order += e.Kind[:1]
			}
		}
		if order != "acacaca" { // and the mark of the last piece
			t.Errorf("the log has pieces and checkpoints as %q", order)
		}
	})
}

// A call that was told to end keeps nothing any more, whatever context its tool uses: its
// run may be over for everybody else. One that ignores its time limit is unknown, even
// after a checkpoint: nobody else can continue it.
func TestCutCallKeepsNothing(t *testing.T) {
	t.Parallel()
	for _, cancel := range []bool{false, true} {
		runInMemory(t, fmt.Sprintf("cancel %t", cancel), func(t *testing.T, w *world) {
			var late error
			runs := w.counted()
			w.cfg.Limits = task.Limits{ToolTimeout: time.Second, ToolGrace: time.Second}
			w.startTools(newKeeper("job", func(ctx tool.Context, _ int) (map[string]any, error) {
				if err := tool.Checkpoint(ctx, json.RawMessage(`"begun"`)); err != nil {
					t.Errorf("Checkpoint() = %v", err)
				}
				<-ctx.Done()
				late = tool.Checkpoint(context.WithoutCancel(ctx), json.RawMessage(`"late"`))
				runs.hold()
				return nil, late
			}))
			id := w.begun(alice, w.calls("job", args{}))
			if cancel {
				w.cancel(id)
			}
			pass(time.Minute)
			if late == nil || fmt.Sprint(w.checkpoints(id)) != `["begun"]` {
				t.Errorf("a checkpoint after the end of its call = %v, and %v are in the log", late, w.checkpoints(id))
			}
			if cancel {
				w.wantState(w.get(id), a2a.TaskStateCanceled)
				return
			}
			w.asksOutcome(id)
		})
	}
}

// What cannot be kept is an error for the tool, and harms nothing: neither what was kept
// before, nor the task, which can be read.
func TestStateThatCannotBeKept(t *testing.T) {
	t.Parallel()
	large := func(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("<", n-2) + `"`) }
	deep := func(n int) json.RawMessage { return json.RawMessage(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	for name, tc := range map[string]struct {
		state json.RawMessage
		kept  bool
	}{
		"nothing":      {nil, false},
		"empty":        {json.RawMessage{}, false},
		"no JSON":      {json.RawMessage(`{`), false},
		"two values":   {json.RawMessage(`1 2`), false},
		"too large":    {large(tool.MaxSuspensionState + 1), false},
		"too deep":     {deep(9_990), false},
		"large":        {large(tool.MaxSuspensionState), true},
		"deep":         {deep(900), true},
		"null":         {json.RawMessage(`null`), true},
		"braces":       {json.RawMessage(`"` + strings.Repeat(`[{\"`, 2000) + `"`), true},
		"wide":         {json.RawMessage(`[` + strings.Repeat(`[],`, 2000) + `1]`), true},
		"with spaces":  {json.RawMessage(" {\n\"a\" : 1 } "), true},
		"invalid text": {json.RawMessage("\"\xff\""), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, newBolt(t))
				job := newKeeper("job", func(ctx tool.Context, n int) (map[string]any, error) {
					if n > 1 {
						return map[string]any{"n": n}, nil
					}
					if err := tool.Checkpoint(ctx, json.RawMessage(`"before"`)); err != nil {
						t.Errorf("Checkpoint() = %v", err)
					}
					if err := tool.Checkpoint(ctx, tc.state); (err == nil) != tc.kept {
						t.Errorf("Checkpoint() = %v, want it kept: %t", err, tc.kept)
					}
					return untilCut(ctx)
				})
				k := w.killer()
				w.startTools(job)
				id := w.begun(alice, w.calls("job", args{}))
				k.crash()
				w.wantState(w.get(id), a2a.TaskStateCompleted)
				want := `"before"`
				if tc.kept {
					want = string(tc.state)
				}
				if got := job.seen(); len(got) != 2 || !sameJSON([]byte(got[1].state), []byte(want)) {
					t.Errorf("the tool was entered as %.200s, want the second time with %.100s", fmt.Sprint(got), want)
				}
			})
		})
	}
}

// A caller that does not wait any longer is told that its checkpoint may not be durable.
func TestCheckpointEndsWithItsContext(t *testing.T) {
	onSlowDisk(t, func(t *testing.T, w *world, d *slowDisk) {
		errEnough := errors.New("enough")
		var errs []error
		w.startTools(newKeeper("job", func(ctx tool.Context, _ int) (map[string]any, error) {
			d.hold()
			own, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(time.Second, func() { cancel(errEnough) })
			for range 2 { // the second one begins after the end of its context
				errs = append(errs, tool.Checkpoint(own, json.RawMessage(`1`)))
			}
			return map[string]any{}, nil
		}))
		id := w.begin(w.calls("job", args{}))
		time.Sleep(time.Minute)
		d.drain()
		w.wantState(w.get(id), a2a.TaskStateCompleted)
		if len(errs) != 2 || !errors.Is(errs[0], errEnough) || !errors.Is(errs[1], errEnough) {
			t.Errorf("Checkpoint() = %v, want why its context ended", errs)
		}
	})
}

// A tool that keeps something without pause delays neither a decision nor a cancel.
func TestCheckpointsDelayNobody(t *testing.T) {
	t.Parallel()
	w := newMemory(t) // in real time: the tool leaves none
	var failed error
	ended := make(chan struct{})
	w.startTools(newKeeper("busy", func(ctx tool.Context, _ int) (map[string]any, error) {
		defer close(ended)
		for {
			failed = tool.Checkpoint(ctx, json.RawMessage(`1`))
			if failed != nil {
				return nil, failed
			}
		}
	}))
	id := w.begin(w.calls("busy", args{}, "transfer", args{"amount": 1, "to": "x"}, "transfer", args{"amount": 2, "to": "x"}))
	for _, a := range w.waiting(id) {
		if err := w.decide(bob, id, approval.Decision{ID: a.ID, Type: approval.Approve}); err != nil {
			t.Errorf("to approve %s = %v", a.ID, err)
		}
	}
	if !w.soon(func() bool { return w.tools.count("transfer") == 2 }) {
		t.Errorf("%d approved calls ran while another kept something, want 2", w.tools.count("transfer"))
	}
	w.cancel(id)
	w.wantState(w.get(id), a2a.TaskStateCanceled)
	if !within(patience, ended) || failed == nil {
		t.Error("the tool of a canceled task keeps something forever")
	}
}

// Checkpoints fill a log only as far as results still fit into it: of their own call, and
// of its sibling.
func TestCheckpointsLeaveRoomForResults(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		full := make(chan struct{})
		state := json.RawMessage(`"` + strings.Repeat("x", 60_000) + `"`)
		result := strings.Repeat("y", 100_000)
		job := newKeeper("job", func(ctx tool.Context, _ int) (map[string]any, error) {
			defer close(full)
			for n := range 60 {
				if err := tool.Checkpoint(ctx, state); err != nil {
					if !errors.Is(err, rules.ErrLogFull) || n < 3 {
						t.Errorf("checkpoint %d = %v, want that the log is full, later", n, err)
					}
					return map[string]any{"text": result}, nil
				}
			}
			t.Error("60 checkpoints of 60 kB were kept, want a refusal")
			return nil, errTool
		})
		sibling := newKeeper("sibling", func(tool.Context, int) (map[string]any, error) {
			<-full
			return map[string]any{"text": result}, nil
		})
		seen := newWitness()
		w.cfg.Planner, w.cfg.Limits = seen, task.Limits{Task: 2 * fullTask, Event: fullEvent}
		w.startTools(job, sibling)
		id := w.begin(w.calls("job", args{}, "sibling", args{}))
		w.wantState(w.ended(id), a2a.TaskStateCompleted)
		for _, call := range []string{"c1.1", "c1.2"} {
			if r := w.mustResult(seen, id, call); r.Outcome != task.OutcomeOK {
				t.Errorf("call %s ended %s, %q", call, r.Outcome, r.Error)
			}
		}
		if n := w.header(id).Bytes; n > 2*fullTask {
			t.Errorf("the log has %d KiB, want at most %d", n>>10, 2*fullTask>>10)
		}
	})
}

// What a suspension keeps replaces a checkpoint. A suspension that keeps nothing, such as that
// of tool.RequestConfirmation, leaves the checkpoint.
func TestCheckpointsAndSuspensions(t *testing.T) {
	t.Parallel()
	suspends := func(state json.RawMessage) func(tool.Context) error {
		return func(tool.Context) error { return &tool.Suspension{Asks: []tool.Question{whichOne}, State: state} }
	}
	for name, tc := range map[string]struct {
		ends  func(ctx tool.Context) error // the first run
		state string                       // of the second
	}{
		"a suspension keeps its own": {suspends([]byte(`2`)), "2"},
		"a suspension keeps nothing": {suspends(nil), "1"},
		"a suspension keeps null":    {suspends([]byte(`null`)), "null"},
		"a confirmation":             {func(ctx tool.Context) error { return tool.RequestConfirmation(ctx, "really?", nil) }, "1"},
	} {
		runOnEachDisk(t, name, func(t *testing.T, w *world) {
			job := newKeeper("job", func(ctx tool.Context, n int) (map[string]any, error) {
				if n > 1 {
					return args{}, nil
				}
				return nil, errors.Join(tool.Checkpoint(ctx, []byte(`1`)), tc.ends(ctx))
			})
			w.startTools(job)
			id := w.begun(alice, w.calls("job", args{}))
			a := w.onlyOne(id)
			answer := approval.Decision{ID: a.ID, Type: approval.Respond, Response: []byte(`"the blue one"`)}
			if a.Kind == approval.KindCall {
				answer = approval.Decision{ID: a.ID, Type: approval.Approve}
			}
			w.restart() // what is kept is in the log
			w.must(w.decide(alice, id, answer))
			synctest.Wait()
			w.wantState(w.get(id), a2a.TaskStateCompleted)
			job.want(t, visit{"c1.1", "", 0}, visit{"c1.1", tc.state, 1})
		})
	}
}

// What a call has kept outlives a snapshot, and is there after a person has had it run
// again.
func TestCheckpointInASnapshot(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		job := newKeeper("job", func(ctx tool.Context, n int) (map[string]any, error) {
			if n > 1 {
				return map[string]any{}, nil
			}
			for range 40 { // so much that a snapshot is written
				if err := tool.Checkpoint(ctx, json.RawMessage(`"`+strings.Repeat("x", 60_000)+`"`)); err != nil {
					t.Errorf("Checkpoint() = %v", err)
				}
			}
			if err := tool.Checkpoint(ctx, json.RawMessage(`"last"`)); err != nil {
				t.Errorf("Checkpoint() = %v", err)
			}
			return nil, fmt.Errorf("no answer: %w", tool.ErrOutcomeUnknown)
		})
		w.startTools(job)
		id := w.begun(alice, w.calls("job", args{}))
		p, err := w.store.Read(context.Background(), store.System(), mustID(id), store.AtSnapshot(), store.Limit{})
		if err != nil || p.Snapshot == nil {
			t.Fatalf("there is no snapshot: %v", err)
		}
		w.restart()
		a := w.asksOutcome(id)
		w.must(w.decide(bob, id, approval.Decision{ID: a.ID, Type: approval.Approve}))
		synctest.Wait()
		job.want(t, visit{call: "c1.1"}, visit{"c1.1", `"last"`, 0})
		w.wantState(w.get(id), a2a.TaskStateCompleted)
	})
}

// Without a running call there is nothing to keep a checkpoint for.
func TestCheckpointAfterTheCall(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		left := make(chan context.Context, 1)
		w.startTools(newKeeper("job", func(ctx tool.Context, _ int) (map[string]any, error) {
			left <- context.WithoutCancel(ctx)
			return map[string]any{}, nil
		}))
		id := w.begun(alice, w.calls("job", args{}))
		w.wantState(w.get(id), a2a.TaskStateCompleted)
		if err := tool.Checkpoint(<-left, json.RawMessage(`1`)); err == nil {
			t.Error("a call that has ended keeps something")
		}
		if err := tool.Checkpoint(context.Background(), json.RawMessage(`1`)); !errors.Is(err, tool.ErrNoCheckpoint) {
			t.Errorf("Checkpoint() without a call = %v, want ErrNoCheckpoint", err)
		}
	})
}
