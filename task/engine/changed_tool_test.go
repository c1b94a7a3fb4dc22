package engine_test

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// pause is a way in which an approved call comes to stand before it is entered again.
type pause string

const (
	onQuestion pause = "question" // suspended until somebody answers
	onTimer    pause = "timer"    // suspended until a time has come
	onOutcome  pause = "outcome"  // its process died, and a person says that it may run again
)

var pauses = []pause{onQuestion, onTimer, onOutcome}

// halted is a world in which an approved call of the gated tool pay, which declares
// nothing, has been entered once and stands.
type halted struct {
	*world
	by   pause
	kill killer
	pay  *fake
	runs *counted
	seen *witness
	id   a2a.TaskID
	call approval.Approval // of the call, approved
	wake time.Time         // of onTimer
}

// halt brings a call to where it stands. cfg is the world's, but for its planner and
// its limits.
func halt(t *testing.T, w *world, by pause, cfg engine.Config) *halted {
	t.Helper()
	h := enterPay(t, w, by, cfg)
	if by == onOutcome {
		h.die()
	}
	return h
}

// enterPay is halt up to the death of the process.
func enterPay(t *testing.T, w *world, by pause, cfg engine.Config) *halted {
	t.Helper()
	h := &halted{world: w, by: by, runs: newCounted(), seen: newWitness(), wake: time.Now().Add(time.Hour).Truncate(time.Second)}
	t.Cleanup(h.runs.open)
	h.pay = &fake{
		name: "pay", gated: true, call: h.enter,
		schema: map[string]any{"type": "object", "properties": map[string]any{"amount": map[string]any{"type": "number"}}, "required": []any{"amount"}},
	}
	w.tools.extra = []tool.Tool{h.pay}
	w.wrap = h.kill.wrap
	w.cfg = cfg
	w.cfg.Planner = h.seen
	w.cfg.Limits = task.Limits{ToolTimeout: 1000 * time.Hour}
	w.start()
	h.id = w.begin(w.calls("pay", args{"amount": 1}))
	h.call = w.onlyOne(h.id)
	w.must(w.decide(bob, h.id, approval.Answer{ID: h.call.ID, Verb: approval.Approve}))
	synctest.Wait()
	h.runs.want(t, 1)
	return h
}

// die ends the process, and starts another.
func (h *halted) die() {
	h.t.Helper()
	h.kill.die()
	h.restart()
	synctest.Wait()
}

// enter is what pay does: on its first run it comes to stand.
func (h *halted) enter(ctx tool.Context, _ map[string]any) (map[string]any, error) {
	if h.runs.enter(ctx) > 1 {
		return map[string]any{"ok": true}, nil
	}
	switch h.by {
	case onQuestion:
		return nil, &tool.Suspension{Asks: []tool.Ask{{Kind: tool.AskQuestion, Hint: "from which account?"}}}
	case onTimer:
		return nil, &tool.Suspension{Wake: h.wake}
	case onOutcome:
		return nil, h.runs.holdOr(ctx)
	}
	return nil, errors.New("no such pause")
}

// goOn does what lets the call be entered again. It returns the error of who had to
// answer for that.
func (h *halted) goOn() error {
	var err error
	switch h.by {
	case onQuestion:
		err = h.decide(bob, h.id, approval.Answer{ID: h.onlyOne(h.id).ID, Verb: approval.Respond, Response: []byte(`"mine"`)})
	case onTimer:
		time.Sleep(time.Until(h.wake) + 10*time.Millisecond)
	case onOutcome:
		a := h.onlyOne(h.id)
		if a.Kind != approval.KindOutcome {
			h.t.Fatalf("a person is asked about the %s, want the outcome", a.Kind)
		}
		err = h.decide(bob, h.id, approval.Answer{ID: a.ID, Verb: approval.Approve})
	}
	synctest.Wait()
	return err
}

// redefine restarts the engine with another definition of pay.
func (h *halted) redefine(schema map[string]any) {
	h.stop()
	h.pay.schema = schema
	h.restart()
	synctest.Wait()
}

// What was approved is what is entered, also when the call stood meanwhile: if the
// tool is another one by then, somebody is asked again. Whoever says something on the
// old terms is heard or told so; the tool is not entered either way.
func TestCallOfChangedToolIsAskedAnew(t *testing.T) {
	t.Parallel()
	for _, by := range pauses {
		runOnEachDisk(t, string(by), func(t *testing.T, w *world) {
			h := halt(t, w, by, engine.Config{})
			h.redefine(map[string]any{"type": "object", "description": "pays anybody"})
			var said *approval.Error
			if err := h.goOn(); err != nil && !errors.As(err, &said) {
				t.Fatalf("the answer = %v, want none or an approval.Error", err)
			}
			h.runs.want(t, 1)
			w.wantState(w.get(h.id), a2a.TaskStateInputRequired)
			asked := w.onlyOne(h.id)
			want := approval.KindCall
			if by == onOutcome { // what came of the first run is still what nobody knows
				want = approval.KindOutcome
			}
			if asked.Kind != want || asked.Ask != "" {
				t.Errorf("what is asked is %s %q, want the %s", asked.Kind, asked.Ask, want)
			}
			if asked.Definition == h.call.Definition || asked.Digest == h.call.Digest {
				t.Error("the new question is bound to the old definition")
			}
			// It has been entered with these arguments, which are in use.
			edit := approval.Answer{ID: asked.ID, Verb: approval.Edit, Args: json.RawMessage(`{"amount":2}`)}
			if err := w.decide(bob, h.id, edit); !errors.As(err, &said) || said.Reason != approval.ReasonNotAllowed {
				t.Errorf("an edit = %v, want %s", err, approval.ReasonNotAllowed)
			}
			w.must(w.decide(bob, h.id, approval.Answer{ID: asked.ID, Verb: approval.Approve}))
			w.wantState(w.ended(h.id), a2a.TaskStateCompleted)
			h.runs.want(t, 2)
		})
	}
}

// shifty is a toolset that makes its tool again each time that it is asked.
type shifty struct {
	mu      sync.Mutex
	made    int
	checked map[int]bool // numbers of tools whose gate was asked
	ran     []int
	gated   func(n int) bool // reports whether tool n asks
}

func (s *shifty) Name() string { return "shifty" }

func (s *shifty) Tools(agent.ReadonlyContext) ([]tool.Tool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	return []tool.Tool{&shift{fake: fake{name: "shift"}, set: s, n: s.made}}, nil
}

// shift is a tool of a shifty toolset. All of them have the same definition.
type shift struct {
	fake
	set *shifty
	n   int
}

func (s *shift) Gate(agent.ReadonlyContext, map[string]any) (ask bool, hint string, err error) {
	s.set.mu.Lock()
	defer s.set.mu.Unlock()
	s.set.checked[s.n] = true
	return s.set.gated(s.n), "", nil
}

func (s *shift) Call(tool.Context, map[string]any) (map[string]any, error) {
	s.set.mu.Lock()
	defer s.set.mu.Unlock()
	s.set.ran = append(s.set.ran, s.n)
	return map[string]any{"n": s.n}, nil
}

// A toolset may answer differently each time that it is asked. What runs is the very
// tool that was checked, not one that has its name.
func TestToolThatRunsIsTheOneThatWasChecked(t *testing.T) {
	t.Parallel()
	for name, gated := range map[string]func(int) bool{
		"never gated":   func(int) bool { return false },
		"at times odd":  func(n int) bool { return n%2 == 1 },
		"at times even": func(n int) bool { return n%2 == 0 },
		"every third":   func(n int) bool { return n%3 == 0 },
		"but the third": func(n int) bool { return n%3 != 0 },
	} {
		runOnEachDisk(t, name, func(t *testing.T, w *world) {
			set := &shifty{checked: map[int]bool{}, gated: gated}
			w.start(func(cfg *engine.Config) { cfg.Tools = tool.NewRegistry(set) })
			for range 12 {
				got := w.send(w.calls("shift", args{}))
				approved := got.Status.State == a2a.TaskStateInputRequired
				if approved {
					got = w.send(w.decision(got.ID, approve(w.pending(got)[0])))
				}
				w.wantState(got, a2a.TaskStateCompleted)
				set.mu.Lock()
				n := set.ran[len(set.ran)-1]
				if !approved && !set.checked[n] {
					t.Errorf("tool %d ran, which nobody had checked", n)
				}
				if !approved && gated(n) {
					t.Errorf("tool %d ran without the approval that it asks for", n)
				}
				set.mu.Unlock()
			}
		})
	}
}
