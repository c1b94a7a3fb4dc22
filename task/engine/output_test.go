package engine_test

import (
	"errors"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// A call that publishes more than limits.output ends with an error, whatever its tool
// makes of that; what it has published stands, and the log holds no more than that.
func TestOutputOfACallIsBounded(t *testing.T) {
	t.Parallel()
	const limit, pieces = 100_000, 60
	text := strings.Repeat("x", 4000)
	save := func(ctx tool.Context) error {
		_, err := ctx.Artifacts().Save(ctx, "page", agent.Part{Text: text})
		return err
	}
	var runs atomic.Int32 // of what pauses
	for _, tc := range []struct {
		name string
		tool func(refused *atomic.Int32) tool.Tool
	}{
		{"a stream", func(refused *atomic.Int32) tool.Tool {
			return &streamer{fake: fake{name: "flood"}, stream: func(tool.Context, map[string]any) iter.Seq2[*tool.Result, error] {
				return func(yield func(*tool.Result, error) bool) {
					for range pieces {
						if !yield(&tool.Result{Content: text, Streaming: true}, nil) {
							refused.Add(1)
							return
						}
					}
				}
			}}
		}},
		{"artifacts", func(refused *atomic.Int32) tool.Tool {
			return &fake{name: "flood", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				for range pieces {
					if err := save(ctx); err != nil {
						refused.Add(1)
						return nil, err
					}
				}
				return args{}, nil
			}}
		}},
		{"artifacts, and the tool does not mind", func(refused *atomic.Int32) tool.Tool {
			return &fake{name: "flood", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				for range pieces {
					if err := save(ctx); errors.Is(err, task.ErrOutput) {
						refused.Add(1)
					}
				}
				return args{}, nil
			}}
		}},
		{"artifacts, and a question", func(refused *atomic.Int32) tool.Tool {
			return &fake{name: "flood", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				for range pieces {
					if err := save(ctx); err != nil {
						refused.Add(1)
					}
				}
				return nil, tool.RequestConfirmation(ctx, "more?", nil)
			}}
		}},
		{"artifacts, and a pause after each", func(refused *atomic.Int32) tool.Tool {
			return &fake{name: "flood", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				if err := save(ctx); err != nil {
					refused.Add(1)
					return nil, err
				}
				if runs.Add(1) == pieces*2 {
					return args{}, nil
				}
				return nil, &tool.Suspension{Wake: time.Now()}
			}}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			eachDisk(t, func(t *testing.T, w *world) {
				var refused atomic.Int32
				w.tools.extra = []tool.Tool{tc.tool(&refused)}
				w.start(func(c *engine.Config) { c.Limits.Output = limit })
				id := w.begin(w.calls("flood", args{}))
				got := w.ended(id)
				w.wantState(got, a2a.TaskStateFailed)
				if text := statusText(got); !strings.Contains(text, "may publish 100000") {
					t.Errorf("status = %q, want that the call has published too much", text)
				}
				if refused.Load() == 0 {
					t.Error("the tool was refused nothing")
				}
				if len(got.Artifacts) == 0 {
					t.Error("nothing of what the call has published stands")
				}
				if n := w.header(id).Bytes; n > limit+50_000 {
					t.Errorf("the log has %d bytes, want little more than the %d that a call may publish", n, limit)
				}
			})
		})
	}
}

// What one call publishes is no other's.
func TestOutputIsOfOneCall(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(t *testing.T, w *world) {
		w.start(func(c *engine.Config) { c.Limits.Output = 20_000 })
		calls := []any{}
		for range 8 {
			calls = append(calls, "stream", args{"n": 50})
		}
		w.wantState(w.send(w.calls(calls...)), a2a.TaskStateCompleted)
	})
}
