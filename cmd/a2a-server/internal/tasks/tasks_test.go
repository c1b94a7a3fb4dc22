package tasks

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"a2a-server/client"
	"a2a-server/task"
)

// Whoever looks after a task sees which job of a tool it waits for, so that they can ask there.
func TestJobOfATaskIsShown(t *testing.T) {
	t.Parallel()
	for shown, metadata := range map[string]string{
		"job         build-7\\u202e of build\n": `{"` + task.ProgressKey + `": {"callId": "c1.1", "tool": "build", "done": 3, "job": "build-7\u202e"}}`,
		"":                                      `{"` + task.ProgressKey + `": {"callId": "c1.1", "tool": "build", "done": 3}}`,
	} {
		got, err := taskText(nil, &client.TaskDetail{A2A: json.RawMessage(`{"id": "t1", "metadata": ` + metadata + `}`)}, 200, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(got, shown) || shown == "" && strings.Contains(got, "job") {
			t.Errorf("the task is shown as %q, want %q", got, shown)
		}
	}
}
