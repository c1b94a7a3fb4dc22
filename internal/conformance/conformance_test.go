package conformance

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	diff "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// endToEnd is a case: what clients do, and what has to come of it.
type endToEnd struct {
	name  string
	play  func(*scene)
	set   map[string]string // configuration of a server of its own; nil: all share one
	alone bool              // each binding has a server of its own
	// needs is what a binding has to have, or the case is not played over it; nil: nothing.
	needs func(binding) bool
	// differs lists what is not equal on all bindings.
	differs []difference
}

// difference says for which bindings a case has other results, and why. With
// several, each binding is compared with those that have the same ones.
type difference struct {
	on  func(binding) bool
	why string
}

// legacy are the bindings of 0.3.
func legacy(b binding) bool { return b.version == "0.3" }

// proto03 are the bindings whose messages are those of the protobuf package a2a.v1.
func proto03(b binding) bool { return legacy(b) && !strings.HasPrefix(b.name, "JSON-RPC") }

// binding returns the name of the binding in all versions.
func (b binding) binding() string { return strings.TrimSuffix(b.name, "-"+b.version) }

// named returns the bindings whose names begin with one of prefixes.
func named(prefixes ...string) func(binding) bool {
	return func(b binding) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(b.name, p) })
	}
}

func lists(b binding) bool   { return b.lists }
func resumes(b binding) bool { return b.resumes }

// TestCases plays every case over every binding.
func TestCases(t *testing.T) {
	t.Parallel()
	shared := newWorld(t, nil)
	seen := map[string]bool{}
	met := &meetings{by: map[string]map[string]bool{}}
	t.Cleanup(func() { met.check(t, len(cases())) })
	for _, c := range cases() {
		if seen[c.name] {
			t.Errorf("two cases are called %q", c.name)
		}
		seen[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			met.plays()
			w := shared
			if c.set != nil && !c.alone {
				w = newWorld(t, c.set)
			}
			got := map[string]string{} // transcripts by binding
			var mu sync.Mutex
			t.Run("on", func(t *testing.T) {
				for _, b := range c.bindings() {
					t.Run(b.name, func(t *testing.T) {
						t.Parallel()
						w := w
						if c.alone {
							w = newWorld(t, c.set)
						}
						out, faults := c.run(t, w, b)
						met.add(b, faults)
						mu.Lock()
						defer mu.Unlock()
						got[b.name] = out
					})
				}
			})
			if !t.Failed() {
				c.compare(t, got)
			}
		})
	}
}

// bindings are those that the case is played over.
func (c *endToEnd) bindings() []binding {
	return slices.DeleteFunc(bindings(), func(b binding) bool { return c.needs != nil && !c.needs(b) })
}

// meetings are the errors that clients have met.
type meetings struct {
	mu     sync.Mutex
	played int
	by     map[string]map[string]bool // names by binding
}

func (m *meetings) plays() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.played++
}

func (m *meetings) add(b binding, faults map[string]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by[b.name] == nil {
		m.by[b.name] = map[string]bool{}
	}
	maps.Copy(m.by[b.name], faults)
}

// check checks that the cases reach every error that can be reached, if all were played.
func (m *meetings) check(t *testing.T, all int) {
	t.Helper()
	if m.played != all {
		return // some were chosen
	}
	for _, b := range bindings() {
		if d := diff.Diff(reachable(b), slices.Sorted(maps.Keys(m.by[b.name]))); d != "" {
			t.Errorf("the errors that clients of %s meet (-want +got):\n%s", b.name, d)
		}
	}
}

// run plays a case over a binding, and returns what its clients got, and the errors among
// that.
func (c *endToEnd) run(t *testing.T, w *world, b binding) (transcript string, met map[string]bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s := &scene{T: t, world: w, on: b, ctx: ctx, seen: map[string]bool{}, count: map[string]int{}, met: map[string]bool{}}
	defer func() {
		if t.Failed() && testing.Verbose() {
			t.Logf("up to here:\n%s", s.transcript())
		}
	}()
	c.play(s)
	return s.transcript(), s.met
}

// compare checks that what bindings got is equal, but for the declared differences.
func (c *endToEnd) compare(t *testing.T, got map[string]string) {
	t.Helper()
	groups := map[string][]string{} // names of bindings by the differences that they have
	for _, b := range c.bindings() {
		key := make([]byte, len(c.differs))
		for i, d := range c.differs {
			key[i] = '-'
			if d.on(b) {
				key[i] = '+'
			}
		}
		groups[string(key)] = append(groups[string(key)], b.name)
	}
	for _, same := range groups {
		for _, other := range same[1:] {
			if d := diff.Diff(strings.Split(got[same[0]], "\n"), strings.Split(got[other], "\n")); d != "" {
				t.Errorf("what %s got (-) and %s (+) differs:\n%s", same[0], other, d)
			}
		}
	}
	keys := slices.Sorted(maps.Keys(groups))
	for i, a := range keys {
		for _, b := range keys[i+1:] {
			if got[groups[a][0]] == got[groups[b][0]] {
				t.Errorf("%v and %v are declared to differ, and do not: %+v", groups[a], groups[b], c.differs)
			}
		}
	}
	for i, d := range c.differs {
		if d.why == "" || !slices.ContainsFunc(c.bindings(), d.on) {
			t.Errorf("difference %d has no reason, or no binding", i)
		}
	}
}

// cases is the table.
func cases() []endToEnd {
	return slices.Concat(messageCases(), historyCases(), approvalCases(), cancelCases(), listCases(), streamCases(), refusalCases(), cardCases(), pushCases())
}
