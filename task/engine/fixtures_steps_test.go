package engine_test

import (
	"context"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
	"a2a-server/tool/agent"
)

type agentCtx = agent.ReadonlyContext

// twoSteps is a planner that calls first, then exits, then ends.
type twoSteps struct{}

func (*twoSteps) Accept(agent.ReadonlyContext, *task.Request) (*a2a.Message, error) { return nil, nil }
func (*twoSteps) Inline() bool                                                      { return true }
func (*twoSteps) Plan(_ context.Context, p *task.Progress) (*task.Step, error) {
	switch len(p.Steps) {
	case 0:
		return &task.Step{Calls: []task.PlannedCall{{Tool: "first"}}}, nil
	case 1:
		return &task.Step{Calls: []task.PlannedCall{{Tool: "exits"}}}, nil
	}
	return &task.Step{End: &task.End{State: a2a.TaskStateCompleted}}, nil
}

// asksALot is a planner that makes a call, and then asks more than can be written.
type asksALot struct{ n int }

func (*asksALot) Accept(agent.ReadonlyContext, *task.Request) (*a2a.Message, error) { return nil, nil }
func (*asksALot) Inline() bool                                                      { return true }
func (p *asksALot) Plan(_ context.Context, at *task.Progress) (*task.Step, error) {
	if len(at.Steps) == 0 {
		return &task.Step{Calls: []task.PlannedCall{{Tool: "deadline"}}}, nil
	}
	n := p.n
	if n == 0 {
		n = 17 << 20
	}
	return &task.Step{Ask: &task.Ask{Message: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(strings.Repeat("?", n)))}}, nil
}
