package engine_test

import (
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// A tool that lists the artifacts of its task gets their names in their order, not in
// that of their making.
func TestArtifactNamesAreSorted(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(t *testing.T, w *world) {
		made := []string{"pears", "apples", "Zebra", "10", "9", "oranges", "émile"}
		var names []string
		w.tools.extra = []tool.Tool{
			&fake{name: "save", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				for _, name := range made {
					if _, err := ctx.Artifacts().Save(ctx, name, agent.Part{Text: name}); err != nil {
						return nil, err
					}
				}
				return map[string]any{"ok": true}, nil
			}},
			&fake{name: "list", gated: true, call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				var err error
				names, err = ctx.Artifacts().List(ctx)
				return map[string]any{"ok": true}, err
			}},
		}
		w.start()
		got := w.send(w.calls("save", args{}, "list", args{}))
		w.wantState(got, a2a.TaskStateInputRequired)
		w.wantState(w.send(w.decision(got.ID, approve(w.pending(got)[0]))), a2a.TaskStateCompleted)
		if !slices.IsSorted(names) {
			t.Errorf("List() = %q, want them sorted", names)
		}
		for _, name := range made {
			if !slices.Contains(names, name) {
				t.Errorf("List() = %q, want %q among them", names, name)
			}
		}
	})
}
