package bench

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// newPeer returns the SDK's own server: its handler, its store in memory, its
// JSON-RPC binding.
func newPeer() *service {
	h := a2asrv.NewHandler(executor{}, a2asrv.WithLogger(slog.New(slog.DiscardHandler)))
	return &service{handler: a2asrv.NewJSONRPCHandler(h), release: func() {}, close: func() error { return nil }}
}

// executor is an agent that does what our tools do: the task, working, one artifact
// or its chunks, completed.
type executor struct{}

var _ a2asrv.AgentExecutor = executor{}

// callOf reads the call in a message, as the planner direct does.
func callOf(m *sdk.Message) (name string, text string, f flow, err error) {
	if m == nil || len(m.Parts) != 1 {
		return "", "", f, errors.New("a message of one part is wanted")
	}
	raw, err := json.Marshal(m.Parts[0].Data())
	if err != nil {
		return "", "", f, err
	}
	var c struct {
		Tool string
		Args struct {
			say
			flow
		}
	}
	err = json.Unmarshal(raw, &c)
	return c.Tool, c.Args.Text, c.Args.flow, err
}

func (executor) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		name, text, f, err := callOf(x.Message)
		if err != nil {
			yield(nil, err)
			return
		}
		if !yield(sdk.NewSubmittedTask(x, x.Message), nil) || !yield(sdk.NewStatusUpdateEvent(x, sdk.TaskStateWorking, nil), nil) {
			return
		}
		if name == "stream" {
			var id sdk.ArtifactID
			for i := range paced(ctx, f) {
				part := sdk.NewTextPart(chunkText(i))
				e := sdk.NewArtifactEvent(x, part)
				if i > 0 {
					e = sdk.NewArtifactUpdateEvent(x, id, part)
				}
				id = e.Artifact.ID
				if !yield(e, nil) {
					return
				}
			}
		} else if !yield(sdk.NewArtifactEvent(x, sdk.NewTextPart(text)), nil) {
			return
		}
		yield(sdk.NewStatusUpdateEvent(x, sdk.TaskStateCompleted, nil), nil)
	}
}

func (executor) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		yield(sdk.NewStatusUpdateEvent(x, sdk.TaskStateCanceled, nil), nil)
	}
}
