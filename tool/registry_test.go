package tool_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/toolconfirmation"
)

// asked is a toolset that has to be asked each time.
type asked struct {
	name string
	f    func() ([]tool.Tool, error)
}

func (a asked) Name() string                                     { return a.name }
func (a asked) Tools(agent.ReadonlyContext) ([]tool.Tool, error) { return a.f() }

type callable struct {
	*plain
	calls
}

func (c callable) Schema() map[string]any { return c.schema }

func named(name string) tool.Tool {
	return callable{plain: &plain{name: name, schema: map[string]any{
		"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}, "required": []string{"n"},
	}}}
}

func dynamic(name string, tools ...tool.Tool) tool.Toolset {
	return asked{name, func() ([]tool.Tool, error) { return tools, nil }}
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	bad := callable{plain: &plain{name: "bad", schema: map[string]any{"type": "objekt"}}}
	var none tool.Tool
	var nilTool *plain
	panicking := asked{"p", func() ([]tool.Tool, error) { panic("boom") }}
	failing := asked{"f", func() ([]tool.Tool, error) { return nil, errors.New("no connection") }}
	tests := []struct {
		name   string
		sets   []tool.Toolset
		tools  []string
		err    string // of Tools, "" for none
		lookup map[string]string
	}{
		{name: "empty", lookup: map[string]string{"a": `tool "a": there is no such tool`}},
		{
			name:   "static and dynamic, in order",
			sets:   []tool.Toolset{dynamic("d", named("c")), tool.NewToolset("s", named("b"), named("a"))},
			tools:  []string{"c", "b", "a"},
			lookup: map[string]string{"a": "", "b": "", "c": "", "x": `tool "x": there is no such tool`},
		},
		{
			name:   "collision of static ones",
			sets:   []tool.Toolset{tool.NewToolset("one", named("a"), named("b")), tool.NewToolset("two", named("a"))},
			err:    `toolsets "one" and "two" both have a tool called "a"`,
			lookup: map[string]string{"a": `toolsets "one" and "two" both`, "b": ""},
		},
		{
			name:   "collision of a static and a dynamic one",
			sets:   []tool.Toolset{dynamic("one", named("a")), tool.NewToolset("two", named("a"), named("b"))},
			err:    `toolsets "one" and "two" both have a tool called "a"`,
			lookup: map[string]string{"a": "both have a tool", "b": ""},
		},
		{
			name:   "collision within one",
			sets:   []tool.Toolset{dynamic("one", named("a"), named("a"))},
			err:    `toolset "one" has two tools called "a"`,
			lookup: map[string]string{"a": "two tools"},
		},
		{
			name:   "bad schema",
			sets:   []tool.Toolset{tool.NewToolset("s", named("a"), bad)},
			tools:  []string{"a"},
			err:    `toolset "s": tool "bad": compile a JSON schema`,
			lookup: map[string]string{"a": "", "bad": `toolset "s": tool "bad"`},
		},
		{
			name:   "toolsets that fail",
			sets:   []tool.Toolset{panicking, failing, tool.NewToolset("s", named("a"))},
			tools:  []string{"a"},
			err:    "toolset \"p\" panicked: boom\ntoolset \"f\": no connection",
			lookup: map[string]string{"a": "", "x": `look up tool "x": toolset "p" panicked`},
		},
		{
			name:   "tools that are none",
			sets:   []tool.Toolset{tool.NewToolset("n", none), tool.NewToolset("v", nilTool), tool.NewToolset("e", named("")), dynamic("d", named("a"))},
			tools:  []string{"a"},
			err:    "toolset \"n\": tool 0 is nil\ntoolset \"v\" panicked: runtime error: invalid memory address or nil pointer dereference\ntoolset \"e\": tool 0 has no name",
			lookup: map[string]string{"a": "", "": `look up tool ""`},
		},
		{
			name:   "a confirmation that is spelt wrong",
			sets:   []tool.Toolset{tool.WithConfirmation(tool.NewToolset("s", named("delete")), tool.ConfirmNamed("delte"))},
			err:    `toolset "s" has no tool "delte"`,
			lookup: map[string]string{"delete": "check its spelling"},
		},
		{
			name:  "filtered",
			sets:  []tool.Toolset{tool.Filter(tool.NewToolset("s", named("a"), named("b")), tool.StringPredicate([]string{"b"}))},
			tools: []string{"b"}, lookup: map[string]string{"a": "no such tool", "b": ""},
		},
		{
			name:   "a predicate that panics",
			sets:   []tool.Toolset{tool.Filter(tool.NewToolset("s", named("a")), func(agent.ReadonlyContext, tool.Tool) bool { panic("boom") })},
			err:    `the predicate of toolset "s" panicked: boom`,
			lookup: map[string]string{"a": "panicked"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := tool.NewRegistry(tt.sets...)
			for range 2 { // the second time from what is kept
				tools, err := r.Tools(nil)
				wantError(t, "Tools()", err, tt.err)
				var names []string
				for _, tl := range tools {
					names = append(names, tl.Name())
				}
				if diff := cmp.Diff(tt.tools, names); diff != "" {
					t.Errorf("Tools() (-want +got):\n%s", diff)
				}
				for name, want := range tt.lookup {
					e, err := r.Lookup(nil, name)
					wantError(t, fmt.Sprintf("Lookup(%q)", name), err, want)
					if want == "" && (e == nil || e.Tool.Name() != name || e.Toolset == "" || len(e.Digest) != 64) {
						t.Errorf("Lookup(%q) = %+v", name, e)
					}
					if strings.Contains(want, "no such tool") && !errors.Is(err, tool.ErrUnknownTool) {
						t.Errorf("Lookup(%q) = %v, want ErrUnknownTool", name, err)
					}
				}
			}
		})
	}
}

// wantError checks that err has the text want in it; "" is no error.
func wantError(t *testing.T, what string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: error %v, want %q", what, err, want)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	current := named("a")
	r := tool.NewRegistry(asked{"d", func() ([]tool.Tool, error) { return []tool.Tool{current}, nil }})
	digest := func() string {
		e, err := r.Lookup(nil, "a")
		if err != nil {
			t.Fatal(err)
		}
		return e.Digest
	}
	// {"description":"does a","name":"a","parameters":{"properties":{"n":{"type":"integer"}},"required":["n"],"type":"object"}}
	const want = "ef3ae4e8fefdb1e22bf61caa2c7c8ecaf1696c1d5d56e6cd89cb5331946eb845"
	if got := digest(); got != want {
		t.Errorf("Digest = %s, want %s", got, want)
	}
	current = named("a") // the same, made again
	if got := digest(); got != want {
		t.Errorf("Digest of the same definition = %s, want %s", got, want)
	}
	current = callable{plain: &plain{name: "a", schema: map[string]any{"type": "object"}}}
	if got := digest(); got == want {
		t.Error("another definition has the same digest")
	}
	some := named("a")
	before := want
	for _, says := range [][]string{nil, {"read-only"}, {"read-only", "idempotent"}, {"destructive"}} { // with the same schema
		current = claimant{some, says}
		if got := digest(); (got == before) != (says == nil) {
			t.Errorf("Digest with the claims %q = %s, before it was %s", says, got, before)
		} else {
			before = got
		}
	}
}

// claimant is a tool that passes on claims about it.
type claimant struct {
	tool.Tool

	says []string
}

func (c claimant) Unwrap() tool.Tool { return c.Tool }
func (c claimant) Claims() []string  { return c.says }
func (c claimant) Trusted() bool     { return false }

func TestRegistryConcurrently(t *testing.T) {
	t.Parallel()
	r := tool.NewRegistry(
		asked{"d", func() ([]tool.Tool, error) { return []tool.Tool{named("a")}, nil }},
		tool.WithConfirmation(tool.NewToolset("s", named("b"))),
	)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				for _, name := range []string{"a", "b"} {
					e, err := r.Lookup(nil, name)
					if err != nil {
						t.Error(err)
						return
					}
					if err := e.Schema.Validate(map[string]any{"n": 1.0}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
}

// seen is a tool that counts how often its schema is read.
type seen struct {
	callable
	reads *atomic.Int64
}

func (s seen) Schema() map[string]any {
	s.reads.Add(1)
	return s.callable.Schema()
}

// The schemas of static toolsets, which may be thousands, are compiled before a list of tools has to be in time.
func TestNewRegistryCompiles(t *testing.T) {
	t.Parallel()
	var reads atomic.Int64
	counted, _ := named("a").(callable)
	r := tool.NewRegistry(tool.NewToolset("s", seen{counted, &reads}), dynamic("d", named("b")))
	before := reads.Load()
	if tools, err := r.Tools(nil); err != nil || len(tools) != 2 {
		t.Fatal(len(tools), err)
	}
	if after := reads.Load(); before == 0 || after != before {
		t.Errorf("NewRegistry read a schema %d times, a list afterwards %d times; want it once, before", before, after-before)
	}
}

func TestNewRegistryOfNil(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("NewRegistry(nil) does not panic")
		}
	}()
	tool.NewRegistry(nil)
}

func TestSuspension(t *testing.T) {
	t.Parallel()
	s := &tool.Suspension{Asks: []tool.Question{{Kind: tool.AskQuestion}}}
	if errors.Is(s, tool.ErrConfirmationRequired) {
		t.Error("a question is taken for a confirmation")
	}
	s.Asks = append(s.Asks, tool.Question{Kind: tool.AskConfirm})
	if err := fmt.Errorf("call: %w", s); !errors.Is(err, tool.ErrConfirmationRequired) {
		t.Error("a confirmation is not found")
	}
	if errors.Is(s, tool.ErrConfirmationRejected) {
		t.Error("a question is taken for a rejection")
	}
	if got, ok := errors.AsType[*tool.Suspension](fmt.Errorf("call: %w", s)); !ok || got != s {
		t.Error("a suspension is not found")
	}
	if want := "the call is suspended until it is answered (question, confirm)"; s.Error() != want {
		t.Errorf("Error() = %s, want %s", s, want)
	}
}

func TestContextValues(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	if _, ok := tool.Resumed(ctx); ok || tool.Confirmation(ctx) != nil {
		t.Error("an empty context has a resumption or a confirmation")
	}
	if _, ok := tool.Resumed(tool.ContextWithCallValues(ctx, &tool.CallValues{Resumption: nil})); ok {
		t.Error("Resumed() = true with none")
	}
	r := &tool.Resumption{State: []byte(`1`)}
	if got, ok := tool.Resumed(tool.ContextWithCallValues(ctx, &tool.CallValues{Resumption: r})); !ok || got != r {
		t.Errorf("Resumed() = %v, %v", got, ok)
	}
	c := &toolconfirmation.ToolConfirmation{Confirmed: true}
	if got := tool.Confirmation(tool.ContextWithCallValues(ctx, &tool.CallValues{Confirmation: c})); got != c {
		t.Errorf("Confirmation() = %v", got)
	}
}

func BenchmarkLookup(b *testing.B) {
	for name, set := range map[string]tool.Toolset{
		"static":  tool.WithConfirmation(tool.NewToolset("s", named("a"))),
		"dynamic": dynamic("d", named("a")),
	} {
		r := tool.NewRegistry(set)
		args := map[string]any{"n": 1.0}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Lookup(nil, "a"); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/validate", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e, err := r.Lookup(nil, "a")
				if err != nil {
					b.Fatal(err)
				}
				if err := e.Schema.Validate(args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
