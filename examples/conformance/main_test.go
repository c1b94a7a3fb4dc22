package main

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	a2aserver "a2a-server"
	"a2a-server/a2aservertest"
)

func TestScenarios(t *testing.T) {
	t.Parallel()
	s := a2aservertest.New(t, a2aserver.Config{Planner: kit{}})
	send := func(id string) *a2a.Task {
		m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("go"))
		m.ID = id + "-1"
		return s.SendMessage(m)
	}
	for id, want := range map[string]string{
		"tck-complete-task": "", "tck-artifact-text": "Generated text content", "tck-stream-artifact-chunked": "chunk-1 \nchunk-2",
	} {
		task := s.Wait(send(id).ID, a2a.TaskStateCompleted)
		if got := s.Text(task); want != "" && got != want {
			t.Errorf("%s: the task says %q, want %q", id, got, want)
		}
	}
	for id, media := range map[string]string{"tck-artifact-file": "", "tck-artifact-file-url": "https://example.com/output.txt"} {
		part := s.Wait(send(id).ID, a2a.TaskStateCompleted).Artifacts[0].Parts[0]
		if part.Filename != "output.txt" || string(part.URL()) != media {
			t.Errorf("%s: the part is %+v", id, part)
		}
	}
	if task := send("tck-reject-task"); task.Status.State != a2a.TaskStateRejected {
		t.Errorf("it is %s, want rejected", task.Status.State)
	}
	if task := send("tck-input-required"); task.Status.State != a2a.TaskStateInputRequired {
		t.Errorf("it is %s, want that it asks", task.Status.State)
	}
}
