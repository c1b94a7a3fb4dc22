package engine_test

import (
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

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

func (s *shift) Gate(agent.ReadonlyContext, map[string]any) (ask bool, err error) {
	s.set.mu.Lock()
	defer s.set.mu.Unlock()
	s.set.checked[s.n] = true
	return s.set.gated(s.n), nil
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
		runInMemory(t, name, func(t *testing.T, w *world) {
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
