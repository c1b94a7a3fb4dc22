package a2aserver_test

import (
	"errors"
	"testing"

	"a2a-server/task"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// failing is a tool that fails.
type failing struct{}

func (failing) Name() string           { return "failing" }
func (failing) Description() string    { return "fails" }
func (failing) IsLongRunning() bool    { return false }
func (failing) RequiresApproval() bool { return false }
func (failing) Schema() map[string]any { return nil }
func (failing) Call(tool.Context, map[string]any) (map[string]any, error) {
	return nil, errors.New("broken")
}

// The hooks of a Config see what tools return before clients do.
func TestHooksOfAConfig(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"store": "memory"})
	c.Tools = append(c.Tools, tool.NewToolset("more", failing{}))
	add := func(r *task.Result, what string) {
		r.Error, r.Content = "", []byte(`"`+r.Call.Name+" "+what+" "+string(r.Outcome)+`"`)
	}
	c.AfterHooks = []task.AfterHook{func(_ agent.ReadonlyContext, c tool.ToolCall, r *task.Result) error {
		if c.Name == "echo" {
			add(r, "after")
		}
		return nil
	}}
	c.ErrorHooks = []task.AfterHook{func(_ agent.ReadonlyContext, _ tool.ToolCall, r *task.Result) error {
		add(r, "error")
		return nil
	}}
	in := start(t, c)
	for call, want := range map[string]string{"/echo text=hello": "echo after ok", "/failing": "failing error error"} {
		got := in.send(t, call, call)
		if len(got.Artifacts) != 1 || got.Artifacts[0].Parts[0].Text != want || got.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("%s: %+v, want %q", call, got, want)
		}
	}
}
