package mcptoolset_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"a2a-server/tool"
	"a2a-server/tool/mcptoolset"
)

// callContext is the context of a call, as far as these tools look at it.
type callContext struct {
	context.Context //nolint:containedctx // it is one
	others

	tenant, user string
}

// others are the methods that no tool here calls.
type others struct{ tool.Context }

func (c callContext) TaskID() string         { return "task-1" }
func (c callContext) FunctionCallID() string { return "c1.1" }
func (c callContext) Tenant() string         { return c.tenant }
func (c callContext) UserID() string         { return c.user }

// reports collects the progress of a call.
type reports struct {
	mu  sync.Mutex
	all []tool.Progress
}

func (r *reports) Report(_ context.Context, p tool.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, p)
}

func (r *reports) n() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all)
}

// open returns the toolset of a configuration, closed at the end.
func open(t testing.TB, c mcptoolset.Config) *mcptoolset.Toolset {
	t.Helper()
	set, err := mcptoolset.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	return set
}

// named returns the tool of that name.
func named(t testing.TB, set *mcptoolset.Toolset, name string) tool.StreamingTool {
	t.Helper()
	if one := find(t, set, name); one != nil {
		return one
	}
	t.Fatalf("there is no tool %s; problems: %q", name, set.Status().Problems)
	return nil
}

func find(t testing.TB, set *mcptoolset.Toolset, name string) tool.StreamingTool {
	t.Helper()
	all, err := set.Tools(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if one.Name() == name {
			if s, ok := one.(tool.StreamingTool); ok {
				return s
			}
		}
	}
	return nil
}

// names returns the names of the tools that are offered.
func names(t testing.TB, set *mcptoolset.Toolset) (out []string) {
	t.Helper()
	all, err := set.Tools(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		out = append(out, one.Name())
	}
	return out
}

// asking returns the configuration of a server that may ask people.
func asking(c mcptoolset.Config) mcptoolset.Config {
	c.Ask = true
	return c
}

// call runs a call and returns what it yields, without the final result's markers.
func call(ctx context.Context, t tool.StreamingTool, args map[string]any) (out []*tool.Result, err error) {
	return callAs(callContext{Context: ctx}, t, args)
}

func callAs(ctx callContext, t tool.StreamingTool, args map[string]any) (out []*tool.Result, err error) {
	for r, e := range t.CallStreaming(ctx, args) {
		if e != nil {
			return out, e
		}
		out = append(out, r)
	}
	return out, nil
}

// result is the final result of a call that has to succeed.
func result(t testing.TB, one tool.StreamingTool, args map[string]any) *tool.Result {
	t.Helper()
	all, err := call(t.Context(), one, args)
	if err != nil || len(all) == 0 {
		t.Fatalf("call %s = %v, %v", one.Name(), all, err)
	}
	return all[len(all)-1]
}

// eventually waits until ok.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("after a minute, still not: %s", what)
		}
	}
}
