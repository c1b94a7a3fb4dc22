package a2a_test

import (
	"context"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
	"a2a-server/tool/agent"
)

// wirePlanners are the planners that a case can name. A task of one takes its steps in order.
var wirePlanners = map[string]task.Planner{
	"greets":  wirePlanner{accept: greet, steps: []task.Step{wireEnd("done")}},
	"asks":    wirePlanner{steps: []task.Step{wireAsk("one?"), wireAsk("two?"), wireAsk("three?"), wireEnd("done")}},
	"refuses": wirePlanner{accept: refuse},
	"updates": wirePlanner{steps: []task.Step{
		{
			Output: []task.Output{
				{},
				{Metadata: map[string]any{"urn:progress": map[string]any{"percent": 50, "of": "m1"}}},
				{Status: wireMessage("nearly"), Metadata: map[string]any{"percent": 90}},
				{Artifact: &task.ArtifactPiece{
					ID: "report", Name: "Report", Parts: wireParts("one"),
					Extensions: []string{"urn:citations"}, Metadata: map[string]any{"urn:citations": []any{1}},
				}},
				{Artifact: &task.ArtifactPiece{ID: "report", Parts: wireParts(" two"), Append: true, Last: true}},
				{Artifact: &task.ArtifactPiece{ID: "list", Parts: wireParts("a"), Extensions: []string{"urn:lines"}, Metadata: map[string]any{"lines": 2}}},
				{Artifact: &task.ArtifactPiece{ID: "list", Parts: wireParts("b"), Append: true, Last: true}},
				{Artifact: &task.ArtifactPiece{ID: "list", Parts: wireParts("c1"), Append: true, Last: true}},
			},
			Ask: &task.InputRequest{},
		},
		{Ask: &task.InputRequest{Auth: true}},
		wireEnd("done"),
	}},
}

type wirePlanner struct {
	accept func(*a2a.Message) (*a2a.Message, error)
	steps  []task.Step
}

func (wirePlanner) Inline() bool { return true }

func (p wirePlanner) Accept(_ agent.ReadonlyContext, r *task.Request) (*a2a.Message, error) {
	if p.accept == nil {
		return nil, nil
	}
	return p.accept(r.Message)
}

func (p wirePlanner) Plan(_ context.Context, progress *task.Progress) (*task.Step, error) {
	return &p.steps[len(progress.Steps)], nil
}

func wireParts(text string) []*a2a.Part { return []*a2a.Part{a2a.NewTextPart(text)} }

func wireMessage(text string) *a2a.Message {
	return &a2a.Message{ID: "says " + text, Role: a2a.MessageRoleAgent, Parts: wireParts(text)}
}

func wireAsk(text string) task.Step {
	return task.Step{Ask: &task.InputRequest{Message: wireMessage(text)}}
}

func wireEnd(text string) task.Step {
	return task.Step{End: &task.End{State: a2a.TaskStateCompleted, Message: wireMessage(text)}}
}

// greet answers a hello by a message.
func greet(m *a2a.Message) (*a2a.Message, error) {
	if m.Parts[0].Text() != "hello" {
		return nil, nil
	}
	answer := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("hello yourself"))
	answer.ContextID = m.ContextID
	return answer, nil
}

// refuse refuses a message by the error that the message names.
func refuse(m *a2a.Message) (*a2a.Message, error) {
	name := m.Parts[0].Text()
	err, known := map[string]error{
		"task": a2a.ErrTaskNotFound, "cancel": a2a.ErrTaskNotCancelable, "push": a2a.ErrPushNotificationNotSupported,
		"operation": a2a.ErrUnsupportedOperation, "content": a2a.ErrUnsupportedContentType, "agent": a2a.ErrInvalidAgentResponse,
		"card": a2a.ErrExtendedCardNotConfigured, "extension": a2a.ErrExtensionSupportRequired, "version": a2a.ErrVersionNotSupported,
		"params": a2a.ErrInvalidParams, "internal": a2a.ErrInternalError,
	}[name]
	if !known {
		return nil, fmt.Errorf("no case names %q", name)
	}
	return nil, a2a.NewError(err, "no "+name)
}
