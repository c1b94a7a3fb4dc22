package e2e_test

import (
	"errors"
	"testing"

	"a2a-server/task"
	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/functiontool"
)

// The hooks of a Config see what tools return before clients do.
func TestHooksOfAConfig(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"store": "memory"})
	failing := functiontool.Must(functiontool.New(functiontool.Config{Name: "failing", Description: "fails"},
		func(tool.Context, struct{}) (string, error) { return "", errors.New("broken") }))
	c.Tools = append(c.Tools, tool.NewToolset("more", failing))
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
