package tool_test

import (
	"strings"
	"testing"

	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/functiontool"
)

type (
	embeds  struct{ tool.CallableTool }
	holds   struct{ inner tool.CallableTool }
	nested  struct{ embeds }
	unwraps struct{ embeds }
	twice   struct{ tool.Tool }
)

func (h *holds) Name() string                                              { return h.inner.Name() }
func (h *holds) Description() string                                       { return "" }
func (h *holds) IsLongRunning() bool                                       { return false }
func (h *holds) RequiresApproval() bool                                    { return false }
func (h *holds) Schema() map[string]any                                    { return nil }
func (h *holds) Call(tool.Context, map[string]any) (map[string]any, error) { return nil, nil }
func (u unwraps) Unwrap() tool.Tool                                        { return u.CallableTool }

// bare is a tool without declarations; the tools below add to it, or hold others.
type bare struct{}

func (bare) Name() string                                              { return "pay" }
func (bare) Description() string                                       { return "" }
func (bare) IsLongRunning() bool                                       { return false }
func (bare) RequiresApproval() bool                                    { return false }
func (bare) Schema() map[string]any                                    { return nil }
func (bare) Call(tool.Context, map[string]any) (map[string]any, error) { return nil, nil }

type (
	asks    struct{ bare }
	always  struct{ bare }
	ownGate struct{ tool.CallableTool }
	byHand  struct {
		bare
		inner tool.CallableTool
	}
	inStruct struct {
		bare
		of struct{ inner tool.CallableTool }
	}
	inSlice struct {
		bare
		tries []tool.CallableTool
	}
	labeled struct {
		asks
		label string
	}
	oneOfTwo struct { // whose Unwrap shows one of them
		bare
		first, second tool.CallableTool
	}
	adds       struct{ tool.CallableTool }
	unwrapping interface {
		tool.CallableTool
		tool.Unwrapper
	}
	promoted struct{ unwrapping } // its Unwrap skips the gate of what it embeds
)

func (asks) Gate(agent.ReadonlyContext, map[string]any) (bool, error)    { return true, nil }
func (always) RequiresApproval() bool                                    { return true }
func (ownGate) Gate(agent.ReadonlyContext, map[string]any) (bool, error) { return false, nil }
func (adds) Gate(agent.ReadonlyContext, map[string]any) (bool, error)    { return true, nil }
func (a adds) Unwrap() tool.Tool                                         { return a.CallableTool }
func (o oneOfTwo) Unwrap() tool.Tool                                     { return o.first }

// A wrapper that hides the gate of the tool in it is refused with the way to mend it; one
// with Unwrap is not, and the gate asks.
func TestWrapperThatHides(t *testing.T) {
	t.Parallel()
	gated, err := functiontool.New(functiontool.Config{
		Name: "pay", Gate: func(agent.ReadonlyContext, map[string]any) (bool, error) { return true, nil },
	}, func(tool.Context, struct{}) (string, error) { return "paid", nil })
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		tool tool.Tool
		want []string // what the error says; nil: none
	}{
		"embedded":             {embeds{gated}, []string{"tool_test.embeds holds", "hides its gate", "Unwrap() tool.Tool"}},
		"embedded by pointer":  {&embeds{gated}, []string{"*tool_test.embeds holds", "hides its gate"}},
		"in a field":           {&holds{gated}, []string{"*tool_test.holds holds", "hides its gate"}},
		"in an embedded type":  {nested{embeds{gated}}, []string{"tool_test.nested holds", "hides its gate"}},
		"a wrapper, embedded":  {twice{unwraps{embeds{gated}}}, []string{"tool_test.twice holds", "hides its gate"}},
		"below one that shows": {unwraps{embeds{embeds{gated}}}, []string{"tool_test.embeds holds", "hides its gate"}},
		"with its own gate":    {ownGate{asks{}}, []string{"tool_test.ownGate holds"}},
		"without a gate":       {byHand{inner: always{}}, []string{"tool_test.byHand holds"}},
		"in a struct":          {inStruct{of: struct{ inner tool.CallableTool }{asks{}}}, []string{"tool_test.inStruct holds"}},
		"in a slice":           {inSlice{tries: []tool.CallableTool{asks{}}}, []string{"tool_test.inSlice holds"}},
		"one of two":           {oneOfTwo{first: labeled{label: "1"}, second: labeled{label: "2"}}, []string{"tool_test.oneOfTwo holds"}},
		"the one it shows":     {oneOfTwo{first: labeled{label: "1"}}, nil},
		"Unwrap is promoted":   {promoted{adds{bare{}}}, []string{"tool_test.promoted holds"}},
		"unwraps":              {unwraps{embeds{gated}}, nil},
		"not wrapped":          {gated, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tool.NewRegistry(tool.NewToolset("own", tc.tool))
			_, err := r.Static()
			if len(tc.want) == 0 {
				if ask, _ := tool.NeedsApproval(nil, tc.tool, nil); err != nil || !ask {
					t.Errorf("Static() = %v, and NeedsApproval() = %t", err, ask)
				}
				return
			}
			if err == nil {
				t.Fatal("Static() = nil, want an error")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Static() = %v, want it to say %q", err, want)
				}
			}
			if e, err := r.Lookup(nil, "pay"); err == nil {
				t.Errorf("Lookup() = %v, want an error", e)
			}
		})
	}
}
