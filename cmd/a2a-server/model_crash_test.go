//go:build unix

package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"a2a-server/internal/modeltest"
)

// talk is a conversation with a server whose planner is a model. It is the same each time that it
// is played.
type talk struct {
	id      string
	unknown bool // somebody was asked whether the transfer took effect
}

// play plays the conversation to its end, or until the server dies.
func (k *talk) play(ctx context.Context, c *client) (*taskState, error) {
	send := func(message object) (*taskState, error) {
		var sent struct{ Task *taskState }
		message["role"] = "ROLE_USER"
		err := c.call(ctx, "SendMessage", object{"message": message}, &sent)
		return sent.Task, err
	}
	now, err := send(object{"messageId": "m1", "parts": []any{object{"text": "Please transfer 250 to alice"}}})
	for err == nil && !now.Status.ended() {
		var asked []question
		if asked, err = now.Status.questions(); err != nil || len(asked) != 1 {
			return now, fmt.Errorf("the task is %s with %d questions: %w", now.Status.State, len(asked), err)
		}
		k.id = now.ID
		decision := object{"id": asked[0].ID, "decision": "approve"}
		if asked[0].Kind == "outcome" {
			k.unknown = true
			decision = object{"id": asked[0].ID, "decision": "respond", "response": object{"transferred": 250}}
		}
		now, err = send(object{"messageId": "decision about " + asked[0].ID, "taskId": now.ID, "parts": []any{object{"data": object{"type": "approval_response", "decisions": []any{decision}}}}})
	}
	return now, err
}

// A conversation with a model survives the death of the server at any point: the approved call has
// run at most once, the last text is whole, and a step that is in the log is not asked for again.
func TestKilledModel(t *testing.T) {
	t.Parallel()
	dialects := []modeltest.Dialect{modeltest.OpenAI, modeltest.Ollama, modeltest.VLLM}
	for i, at := range []string{
		"task.created:1", "task.launch:1", "task.woken:1", "task.chunks:1", "task.chunks:2", "task.chunks:4", "task.step:1", "task.step:2", "task.step:4",
		"boltstore.applied:1", "boltstore.applied:2", "boltstore.applied:4", "boltstore.applied:7", "boltstore.committed:1", "boltstore.committed:3", "boltstore.committed:6",
	} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			modelCrash(t, dialects[i%len(dialects)], at)
		})
	}
}

func modelCrash(t *testing.T, dialect modeltest.Dialect, crashAt string) {
	t.Helper()
	model := &modeltest.Endpoint{Dialect: dialect, Model: "m", Split: 9, Answer: func(r *modeltest.Request) modeltest.Answer {
		a := modeltest.Bank(r)
		a.Pause = time.Millisecond // text comes in several chunks
		return a
	}}
	endpoint := httptest.NewServer(model)
	t.Cleanup(endpoint.Close)
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte("planner: {kind: llm, llm: {url: "+endpoint.URL+"/v1, model: m}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	var k talk
	var done *taskState
	for _, at := range []string{crashAt, ""} {
		p := startProcess(t, at, "--data", dir, "--config", file)
		t.Cleanup(func() { p.end(syscall.SIGKILL) })
		var err error
		if p.url != "" {
			transport := &http.Transport{}
			done, err = k.play(ctx, &client{url: p.url, http: &http.Client{Transport: transport}})
			transport.CloseIdleConnections()
		}
		if err != nil && (at == "" || !p.killedBy(syscall.SIGKILL)) {
			t.Fatalf("with %q: %v\n%s", at, err, p.said())
		}
		p.end(syscall.SIGTERM)
		if at != "" && !p.killedBy(syscall.SIGKILL) {
			t.Error("the server did not die at its point")
		}
	}
	runs := ledgerOf(t, dir)["alice"]
	if runs > 1 || runs == 0 && !k.unknown {
		t.Errorf("money was transferred %d times", runs)
	}
	said := ""
	for i := range done.Artifacts {
		if done.Artifacts[i].ArtifactID == "s2" {
			said = done.Artifacts[i].text()
		}
	}
	if done.Status.State != completed || strings.Count(said, "The bank says: ") != 1 || !strings.Contains(said, "250") {
		t.Errorf("the task is %s, and the model says %q", done.Status.State, said)
	}
	steps := map[int]int{} // times that a step was asked for, by the messages of the conversation
	for _, r := range model.Requests() {
		steps[len(r.Messages)]++
	}
	if steps[1]+steps[3] > 3 || len(steps) != 2 {
		t.Errorf("the steps were asked for %v times, and the server died once", steps)
	}
}
