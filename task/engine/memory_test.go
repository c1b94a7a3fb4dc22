package engine_test

import (
	"context"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// diary is a Memory that remembers who has searched it, and finds what is in it.
type diary struct {
	searched []string
	found    *agent.MemorySearchResponse
	err      error
}

type tagged struct{}

func (d *diary) Search(ctx agent.ReadonlyContext, query string) (*agent.MemorySearchResponse, error) {
	tag, _ := ctx.Value(tagged{}).(string)
	d.searched = append(d.searched, ctx.Tenant()+"/"+ctx.UserID()+"/"+ctx.SessionID()+": "+query+tag)
	return d.found, d.err
}

// A tool searches the agent's memory as the caller of its task. Without a memory, and
// with one that fails, the tool gets an error; one that finds nothing says so.
func TestToolsSearchMemory(t *testing.T) {
	for name, tt := range map[string]struct {
		memory  *diary
		results int
		failed  bool
	}{
		"none": {nil, 0, true}, "nothing": {&diary{}, 0, false}, "down": {&diary{err: errDown}, 0, true},
		"found": {&diary{found: &agent.MemorySearchResponse{Results: []agent.MemoryResult{{Content: "blue"}}}}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				var got *agent.MemorySearchResponse
				var err error
				w.tools.extra = []tool.Tool{&fake{name: "recall", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
					got, err = ctx.SearchMemory(context.WithValue(ctx, tagged{}, "!"), "color")
					return args{}, nil
				}}}
				w.start(func(cfg *engine.Config) {
					if tt.memory != nil {
						cfg.Memory = tt.memory
					}
				})
				m := w.calls("recall", args{})
				m.ContextID = "ours"
				w.wantState(w.ended(w.begin(m)), a2a.TaskStateCompleted)
				if (err != nil) != tt.failed || !tt.failed && len(got.Results) != tt.results {
					t.Errorf("SearchMemory() = %v, %v, want %d results, failed %v", got, err, tt.results, tt.failed)
				}
				if tt.memory != nil && (len(tt.memory.searched) != 1 || tt.memory.searched[0] != "acme/alice/ours: color!") {
					t.Errorf("it was searched by %q", tt.memory.searched)
				}
			})
		})
	}
}
