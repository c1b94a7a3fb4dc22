package tool_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// caller is the context of a caller.
type caller struct {
	context.Context //nolint:containedctx // it is one
	tenant, user    string
	roles           []string
}

func (c caller) InvocationID() string               { return "" }
func (c caller) AgentName() string                  { return "" }
func (c caller) AppName() string                    { return "" }
func (c caller) UserID() string                     { return c.user }
func (c caller) SessionID() string                  { return "" }
func (c caller) TaskID() string                     { return "" }
func (c caller) Tenant() string                     { return c.tenant }
func (c caller) Roles() []string                    { return c.roles }
func (c caller) Branch() string                     { return "" }
func (c caller) UserContent() *agent.Content        { return nil }
func (c caller) ReadonlyState() agent.ReadonlyState { return nil }

func by(user string, roles ...string) agent.ReadonlyContext {
	return caller{Context: context.Background(), user: user, roles: roles}
}

// counted is a tool that counts how often it is read.
type counted struct {
	callable
	reads *atomic.Int64
}

func (c counted) Name() string { c.reads.Add(1); return c.callable.Name() }

func (c counted) Schema() map[string]any { c.reads.Add(1); return c.callable.Schema() }

func many(n int) []tool.Tool {
	all := make([]tool.Tool, n)
	for i := range all {
		all[i] = named(fmt.Sprintf("tool_%04d", i))
	}
	return all
}

func namesOf(t testing.TB, ts interface {
	Tools(ctx agent.ReadonlyContext) ([]tool.Tool, error)
}, ctx agent.ReadonlyContext,
) string {
	t.Helper()
	tools, err := ts.Tools(ctx)
	if err != nil {
		t.Errorf("Tools() = %v", err)
	}
	var all []string
	for _, tl := range tools {
		all = append(all, tl.Name())
	}
	return strings.Join(all, " ")
}

// While a toolset returns the same slice, its tools are read once, whatever is put around
// it; when it returns another one, that is what counts.
func TestSameSliceIsReadOnce(t *testing.T) {
	t.Parallel()
	var reads atomic.Int64
	make1 := func(name string) tool.Tool {
		c, _ := named(name).(callable)
		return counted{c, &reads}
	}
	current := []tool.Tool{make1("a"), make1("b")}
	set := asked{"d", func() ([]tool.Tool, error) { return current, nil }}
	r := tool.NewRegistry(tool.NewToolset("s", named("s")), tool.WithConfirmation(set))
	look := func() string {
		t.Helper()
		var got []string
		for range 3 {
			got = []string{namesOf(t, r, by("u", "admin"))}
			for _, name := range []string{"s", "a", "b", "c"} {
				if e, err := r.Lookup(by("u", "admin"), name); err == nil {
					got = append(got, fmt.Sprint(e.Tool.Name(), e.Tool.RequiresApproval()))
				}
			}
		}
		return strings.Join(got, ", ")
	}
	if got, want := look(), "s a b, sfalse, atrue, btrue"; got != want {
		t.Errorf("tools = %s, want %s", got, want)
	}
	before := reads.Load()
	_ = look()
	readsOfTest := reads.Load() - before // the test itself reads names
	before = reads.Load()
	_ = look()
	if again := reads.Load() - before; again != readsOfTest || readsOfTest != 3*4 {
		t.Errorf("a slice that is known is read %d times, want the %d of the test itself", again, 3*4)
	}
	current = []tool.Tool{current[1], make1("c")}
	if got, want := look(), "s b c, sfalse, btrue, ctrue"; got != want {
		t.Errorf("after a change: tools = %s, want %s", got, want)
	}
	current = current[:1] // the same array
	if got, want := look(), "s b, sfalse, btrue"; got != want {
		t.Errorf("of a shorter slice: tools = %s, want %s", got, want)
	}
	current = nil
	if got, want := look(), "s, sfalse"; got != want {
		t.Errorf("without tools: tools = %s, want %s", got, want)
	}
}

func TestFor(t *testing.T) {
	t.Parallel()
	a := tool.Audience{Roles: []string{"ops", "admin"}, Callers: []string{"alice", "acme/bob", ""}}
	r := tool.NewRegistry(tool.For(tool.NewToolset("s", named("a")), a), tool.NewToolset("all", named("b")))
	a.Roles[0] = "none" // it was copied
	for name, tt := range map[string]struct {
		ctx agent.ReadonlyContext
		in  bool
	}{
		"no context":                  {nil, false},
		"anonymous":                   {by(""), false},
		"anonymous of a tenant":       {caller{tenant: "acme", Context: t.Context()}, false},
		"somebody":                    {by("eve", "user"), false},
		"a caller":                    {by("alice"), true},
		"a role":                      {by("eve", "user", "ops"), true},
		"a role without a name":       {by("", "admin"), true},
		"a caller of a tenant":        {caller{tenant: "acme", user: "bob", Context: t.Context()}, true},
		"the same of no tenant":       {by("bob"), false},
		"a caller of another tenant":  {caller{tenant: "evil", user: "bob", Context: t.Context()}, false},
		"a caller in any tenant":      {caller{tenant: "evil", user: "alice", Context: t.Context()}, true},
		"a role that is part of one":  {by("eve", "op"), false},
		"a role in other capitals":    {by("eve", "OPS"), false},
		"a caller with a role's name": {by("ops"), false},
	} {
		want := "b"
		if tt.in {
			want = "a b"
		}
		if got := namesOf(t, r, tt.ctx); got != want {
			t.Errorf("%s: tools = %s, want %s", name, got, want)
		}
		if _, err := r.Lookup(tt.ctx, "a"); (err == nil) != tt.in {
			t.Errorf("%s: Lookup() = %v", name, err)
		}
	}
	if got := namesOf(t, tool.For(tool.NewToolset("s", named("a")), tool.Audience{}), by("alice", "admin")); got != "" {
		t.Errorf("for nobody: tools = %s, want none", got)
	}
}

// A toolset that makes a new slice each time costs time, not memory without end.
func TestManySlices(t *testing.T) {
	t.Parallel()
	tools := many(1000)
	r := tool.NewRegistry(asked{"d", func() ([]tool.Tool, error) { return slices.Clone(tools), nil }}, dynamic("e", named("e")))
	for i := range 500 {
		if _, err := r.Lookup(nil, tools[i].Name()); err != nil {
			t.Fatal(err)
		}
		if i%50 > 0 {
			continue
		}
		if all, err := r.Tools(nil); len(all) != 1001 || err != nil {
			t.Fatalf("%d tools, %v", len(all), err)
		}
	}
}

// What fails is not kept: the next call asks again.
func TestFailureIsNotKept(t *testing.T) {
	t.Parallel()
	tools := []tool.Tool{named("a")}
	down := true
	r := tool.NewRegistry(asked{"d", func() ([]tool.Tool, error) {
		if down {
			return nil, context.DeadlineExceeded
		}
		return tools, nil
	}}, dynamic("e", named("b")))
	for range 2 {
		for _, down = range []bool{true, false} {
			all, err := r.Tools(nil)
			_, lookup := r.Lookup(nil, "a")
			if want := map[bool]int{true: 1, false: 2}[down]; len(all) != want || (err != nil) != down || (lookup != nil) != down {
				t.Errorf("down %v: %d tools, %v, Lookup() = %v", down, len(all), err, lookup)
			}
		}
	}
}

func TestSliceThatChangesConcurrently(t *testing.T) {
	t.Parallel()
	var current atomic.Pointer[[]tool.Tool]
	current.Store(&[]tool.Tool{named("a"), named("b")})
	set := asked{"d", func() ([]tool.Tool, error) { return *current.Load(), nil }}
	r := tool.NewRegistry(tool.WithConfirmation(set, tool.ConfirmNamed("b")), dynamic("e", named("e")))
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			ctx := by("u", fmt.Sprint(n%3))
			for i := range 200 {
				if n == 0 {
					current.Store(&[]tool.Tool{named("a"), named("b"), named(fmt.Sprint("c", i))})
				}
				e, err := r.Lookup(ctx, "b")
				if err != nil || !e.Tool.RequiresApproval() {
					t.Errorf("Lookup(b) = %v, %v", e, err)
					return
				}
				all, err := r.Tools(ctx)
				if err != nil || all[0].Name() != "a" || all[len(all)-1].Name() != "e" {
					t.Errorf("Tools() = %v, %v", all, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff("a b c199 e", namesOf(t, r, nil)); diff != "" {
		t.Errorf("after the last change (-want +got):\n%s", diff)
	}
}

// BenchmarkThousandTools looks up one of a thousand tools, and lists them all.
func BenchmarkThousandTools(b *testing.B) {
	tools := many(1000)
	const last = "tool_0999"
	for _, c := range []struct {
		name string
		sets []tool.Toolset
	}{
		{"static", []tool.Toolset{tool.NewToolset("s", tools...)}},
		{"dynamic", []tool.Toolset{dynamic("d", tools...)}},
		{"for", []tool.Toolset{tool.For(dynamic("d", tools...), tool.Audience{Roles: []string{"ops"}})}},
		{"confirmed", []tool.Toolset{tool.WithConfirmation(dynamic("d", tools...))}},
		{"fresh", []tool.Toolset{tool.Filter(dynamic("d", tools...), tool.AllowAll())}},
		{"five", []tool.Toolset{
			tool.NewToolset("s", tools[:500]...), dynamic("a", tools[500:600]...), dynamic("b", tools[600:700]...),
			dynamic("c", tools[700:800]...), dynamic("d", tools[800:]...),
		}},
	} {
		r := tool.NewRegistry(c.sets...)
		ctx := by("alice", "user", "ops")
		b.Run(c.name+"/lookup", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Lookup(ctx, last); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/list", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if all, err := r.Tools(ctx); len(all) != 1000 || err != nil {
					b.Fatal(len(all), err)
				}
			}
		})
	}
}
