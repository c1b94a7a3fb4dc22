package tool_test

import (
	"strings"
	"testing"

	"a2a-server/tool"
)

func TestConfirmMatching(t *testing.T) {
	t.Parallel()
	set := dynamic("d", named("read_a"), named("write_a"))
	writes := tool.ConfirmMatching(func(name string) bool { return strings.HasPrefix(name, "write") })
	r := tool.NewRegistry(tool.WithConfirmation(set, writes))
	for name, want := range map[string]bool{"read_a": false, "write_a": true} {
		if e, err := r.Lookup(nil, name); err != nil || e.Tool.RequiresApproval() != want {
			t.Errorf("%s: %v, %v, want that it asks: %v", name, e, err, want)
		}
	}
	all := tool.NewRegistry(tool.WithConfirmation(set, tool.ConfirmMatching(nil)))
	if e, err := all.Lookup(nil, "read_a"); err != nil || !e.Tool.RequiresApproval() {
		t.Errorf("without a function: %v, %v", e, err)
	}
	broken := tool.NewRegistry(tool.WithConfirmation(set, tool.ConfirmMatching(func(string) bool { panic("boom") })))
	if tools, err := broken.Tools(nil); len(tools) > 0 || err == nil {
		t.Errorf("of a function that panics: %v, %v", tools, err)
	}
}
