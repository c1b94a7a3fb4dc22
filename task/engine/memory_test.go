package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"a2a-server/auth"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/searchtool"
)

// Without a memory of the program's, tools search the ended tasks of their owner in their
// context: messages and results, and nothing of another owner, tenant or context.
func TestToolsSearchEarlierTasks(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var seen []agent.MemoryResult // that Rank got
		var found []string
		w.tools.extra = []tool.Tool{
			&fake{name: "note", call: func(_ tool.Context, a map[string]any) (map[string]any, error) {
				text, _ := a["text"].(string)
				return args{"result": "kept " + text}, nil
			}},
			&fake{name: "recall", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				got, err := ctx.SearchMemory(ctx, "harbor invoice")
				if err != nil {
					return nil, err
				}
				found = nil
				for _, m := range got.Results {
					found = append(found, m.Author+": "+m.Content)
					if path, _ := m.Metadata["path"].(string); !strings.Contains(path, "/") || m.Score <= 0 || m.Time.IsZero() {
						t.Errorf("SearchMemory() has %+v", m)
					}
				}
				return args{}, nil
			}},
		}
		w.start(func(cfg *engine.Config) {
			cfg.Rank = func(ctx context.Context, query string, entries []agent.MemoryResult) ([]agent.MemoryResult, error) {
				seen = entries
				return searchtool.Rank(ctx, query, entries)
			}
		})
		run := func(by auth.Principal, in, name string, a args) {
			t.Helper()
			m := w.calls(name, a)
			m.ContextID = in
			sent, err := w.sendAs(by, m)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.engine.Await(w.ctx(), sent); err != nil {
				t.Fatal(err)
			}
		}
		other := alice
		other.Tenant = "other"
		run(bob, "shared", "note", args{"text": "harbor invoice of bob"})
		run(other, "shared", "note", args{"text": "harbor invoice of another tenant"})
		run(alice, "elsewhere", "note", args{"text": "harbor invoice elsewhere"})
		run(alice, "shared", "note", args{"text": "harbor invoice 17"})
		run(alice, "shared", "note", args{"text": "weather"})
		run(alice, "shared", "recall", args{})
		if !slices.Contains(found, `note: {"result":"kept harbor invoice 17"}`) {
			t.Errorf("SearchMemory() found %q", found)
		}
		for _, m := range seen {
			if strings.Contains(m.Content, "bob") || strings.Contains(m.Content, "tenant") || strings.Contains(m.Content, "elsewhere") || strings.Contains(m.Content, "recall") {
				t.Errorf("the memory has %+v", m)
			}
		}
		if len(found) == 0 || len(seen) < 2 {
			t.Errorf("SearchMemory() found %q among %v", found, seen)
		}
	})
}
