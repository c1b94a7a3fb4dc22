package sim

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"testing"
	"time"

	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// fakeContext is what a tool of these tests runs with.
type fakeContext struct {
	tool.Context                 // nil: the tools use nothing else
	ctx          context.Context //nolint:containedctx // it is one
	task, call   string
	state        fakeState
}

// fakeState is the state of a context.
type fakeState map[string]any

func (s fakeState) Get(key string) (any, bool)      { v, ok := s[key]; return v, ok }
func (s fakeState) All() iter.Seq2[string, any]     { return maps.All(s) }
func (s fakeState) Set(key string, value any) error { return nil }

func (c *fakeContext) Done() <-chan struct{}  { return c.ctx.Done() }
func (c *fakeContext) Err() error             { return c.ctx.Err() }
func (c *fakeContext) Value(key any) any      { return c.ctx.Value(key) }
func (c *fakeContext) TaskID() string         { return c.task }
func (c *fakeContext) FunctionCallID() string { return c.call }
func (c *fakeContext) State() agent.State     { return c.state }

// invoke runs a tool as an engine does.
func invoke(t tool.Tool, ctx tool.Context) (err error) {
	defer func() {
		if recover() != nil {
			err = errTool
		}
	}()
	if s, ok := tool.As[tool.StreamingTool](t); ok {
		for r, e := range s.CallStreaming(ctx, map[string]any{"n": 1}) {
			if e != nil || r != nil && r.Error != "" {
				err = errTool
			}
		}
		return err
	}
	c, _ := tool.As[tool.CallableTool](t)
	_, err = c.Call(ctx, map[string]any{"n": 1})
	return err
}

func TestToolsGoEveryWay(t *testing.T) {
	t.Parallel()
	coverage := NewCoverage()
	for seed := range uint64(150) {
		s := NewScheduler(Seeded(seed))
		b := NewToolbox(s, coverage, AllTraits())
		p := s.Process("p")
		for i, traits := range AllTraits() {
			ctx, cancel := context.WithCancel(context.Background())
			if seed%3 == 0 {
				p.AtDeath(cancel)
			} else {
				s.Process("client").After(0, cancel)
			}
			p.Go(func() { _ = invoke(b.tool(p, traits, 0), &fakeContext{ctx: ctx, task: "t", call: fmt.Sprint(i)}) })
		}
		s.Settle(0)
		if seed%3 == 0 {
			p.Kill()
		}
		for range 3 { // one that streams may block later
			b.ReleaseAll()
			s.Settle(time.Second)
		}
		if f := s.failure; f != nil {
			t.Fatalf("seed %d: %v", seed, f)
		}
		for _, r := range b.Ledger.Runs {
			if r.Returned == p.dead && seed%3 != 0 {
				t.Fatalf("seed %d: %+v in a process that is dead: %v", seed, r, p.dead)
			}
			if r.Entry != 1 || r.Result && !r.Effect {
				t.Fatalf("seed %d: %+v", seed, r)
			}
		}
		s.Close()
	}
	for _, traits := range AllTraits() {
		if coverage.counts["tool "+traits.Name()] == 0 {
			t.Errorf("%s was never entered", traits.Name())
		}
		for _, way := range waysOf[traits.Form] {
			if coverage.counts[fmt.Sprintf("%s tool %s", traits.Form, way)] == 0 {
				t.Errorf("no %s tool went the way %q", traits.Form, way)
			}
		}
	}
}

func TestToolsDeclareTheirTraits(t *testing.T) {
	t.Parallel()
	s := NewScheduler(Replayed(Tape{}))
	defer s.Close()
	b := NewToolbox(s, NewCoverage(), AllTraits())
	r := b.Registry(s.Process("p"))
	names := map[string]bool{}
	for _, traits := range AllTraits() {
		e, err := r.Lookup(nil, traits.Name())
		if err != nil {
			t.Fatal(err)
		}
		names[traits.Name()] = true
		_, streams := tool.As[tool.StreamingTool](e.Tool)
		_, cancels := tool.As[tool.CancellableTool](e.Tool)
		ask, _ := tool.NeedsApproval(nil, e.Tool, nil)
		is := tool.AnnotationsOf(e.Tool)
		if streams != (traits.Form == Streaming) || cancels != (traits.Form == Long) || ask != traits.Gated ||
			is.ReadOnly != (traits.Effect == ReadOnly) || is.Idempotent != (traits.Effect == Idempotent) || e.Digest != b.Digest(traits, 0) {
			t.Errorf("%s: streams %v, cancels %v, asks %v, %+v", traits.Name(), streams, cancels, ask, is)
		}
	}
	if len(names) != 42 {
		t.Errorf("%d tools, want 42", len(names))
	}
}

func TestToolsComeAndGo(t *testing.T) {
	t.Parallel()
	s := NewScheduler(Replayed(Tape{}))
	defer s.Close()
	b := NewToolbox(s, NewCoverage(), AllTraits())
	r := b.Registry(s.Process("p"))
	lookup := func(name string) (string, error) {
		e, err := r.Lookup(nil, name)
		if err != nil {
			return "", err
		}
		return e.Digest, nil
	}
	before, err := lookup("once_plain")
	if err != nil {
		t.Fatal(err)
	}
	b.Change("once_plain")
	if after, err := lookup("once_plain"); err != nil || after == before {
		t.Errorf("a tool that has changed: %v, digest %s as before", err, after)
	}
	b.Remove("once_plain")
	if _, err := lookup("once_plain"); !errors.Is(err, tool.ErrUnknownTool) {
		t.Errorf("a tool that is gone: %v", err)
	}
	b.Fail(Plain)
	if _, err := lookup("readonly_plain"); err == nil || errors.Is(err, tool.ErrUnknownTool) {
		t.Errorf("a toolset that fails: %v", err)
	}
	if _, err := lookup("readonly_long"); err != nil {
		t.Errorf("a tool of another toolset: %v", err)
	}
	b.Restore()
	if _, err := lookup("once_plain"); err != nil {
		t.Errorf("after Restore: %v", err)
	}
}
