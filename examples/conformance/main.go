// Command conformance is the agent that A2A's conformance kit tests (github.com/a2aproject/a2a-tck): the
// beginning of a message's id names the scenario of its task. The server's protocol, store and streams
// are those of every other agent.
//
//	go run ./examples/conformance
//	./run_tck.py --sut-host http://127.0.0.1:8080
package main

import (
	"context"
	"log"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	a2aserver "a2a-server"
	"a2a-server/task"
	"a2a-server/tool/agent"
)

// direct is the beginning of the id of a message that is answered by a message, without a task.
const direct = "tck-message-response"

// scenarios are the steps of a task by the beginning of the id of its first message. A longer one comes
// before its own beginning. A task that has taken all its steps completes.
var scenarios = []struct {
	prefix string
	steps  []task.Step
}{
	{"tck-artifact-text", []task.Step{artifact(a2a.NewTextPart("Generated text content"))}},
	{"tck-artifact-file-url", []task.Step{artifact(file(a2a.NewFileURLPart("https://example.com/output.txt", "text/plain")))}},
	{"tck-artifact-file", []task.Step{artifact(file(a2a.NewRawPart([]byte("tck"))))}},
	{"tck-artifact-data", []task.Step{artifact(a2a.NewDataPart(map[string]any{"key": "value", "count": 42}))}},
	{"tck-stream-artifact-text", []task.Step{artifact(a2a.NewTextPart("Streamed text content"))}},
	{"tck-stream-artifact-file", []task.Step{artifact(file(a2a.NewRawPart([]byte("tck"))))}},
	{"tck-stream-artifact-chunked", []task.Step{{Output: []task.Output{
		{Artifact: &task.ArtifactPiece{ID: "chunks", Parts: []*a2a.Part{a2a.NewTextPart("chunk-1 ")}}},
		{Artifact: &task.ArtifactPiece{ID: "chunks", Parts: []*a2a.Part{a2a.NewTextPart("chunk-2")}, Append: true, Last: true}},
	}}}},
	{"tck-stream-ordering-001", []task.Step{artifact(a2a.NewTextPart("Ordered output"))}},
	{"tck-stream-001", []task.Step{artifact(a2a.NewTextPart("Stream hello from TCK"))}},
	{"tck-stream-003", []task.Step{artifact(a2a.NewTextPart("Stream task lifecycle"))}},
	{"tck-delayed-complete", []task.Step{{Wait: 2 * time.Second}, end(a2a.TaskStateCompleted, "Done after delay")}},
	{"test-resubscribe-message-id", []task.Step{{Wait: 4 * time.Second}}},
	{"tck-input-required", []task.Step{{Ask: &task.InputRequest{}}}},
	{"tck-reject-task", []task.Step{end(a2a.TaskStateRejected, "rejected")}},
	{"", []task.Step{end(a2a.TaskStateCompleted, "Hello from TCK")}},
}

func artifact(part *a2a.Part) task.Step {
	return task.Step{Output: []task.Output{{Artifact: &task.ArtifactPiece{ID: "output", Parts: []*a2a.Part{part}, Last: true}}}}
}

func file(part *a2a.Part) *a2a.Part {
	part.Filename, part.MediaType = "output.txt", "text/plain"
	return part
}

func end(state a2a.TaskState, text string) task.Step {
	return task.Step{End: &task.End{State: state, Message: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))}}
}

// kit is the planner that plays the scenarios.
type kit struct{}

// Inline reports that Plan is pure and fast.
func (kit) Inline() bool { return true }

// Accept answers the message that wants no task.
func (kit) Accept(_ agent.ReadonlyContext, r *task.Request) (*a2a.Message, error) {
	if strings.HasPrefix(r.Message.ID, direct) {
		return a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("Direct message response")), nil
	}
	return nil, nil
}

// Plan returns the next step of a task's scenario.
func (kit) Plan(_ context.Context, p *task.Progress) (*task.Step, error) {
	for _, s := range scenarios {
		if !strings.HasPrefix(p.Messages[0].Message.ID, s.prefix) {
			continue
		}
		if done := len(p.Steps); done < len(s.steps) {
			return &s.steps[done], nil
		}
		break
	}
	return &task.Step{End: &task.End{State: a2a.TaskStateCompleted}}, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	settings := a2aserver.DefaultSettings()
	settings.Store, settings.GRPC.Listen = "memory", "127.0.0.1:8081"
	server, err := a2aserver.New(a2aserver.Config{Settings: settings, Planner: kit{}})
	if err != nil {
		log.Fatal(err) //nolint:gocritic // nothing to clean up
	}
	if err := server.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
