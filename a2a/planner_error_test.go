package a2a_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"

	"a2a-server/a2a"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool/agent"
)

// plan is a planner that has only Plan.
type plan func() (*task.Step, error)

func (p plan) Plan(context.Context, *task.Progress) (*task.Step, error) { return p() }

// failingPlanner is a planner that refuses messages with an error.
type failingPlanner struct {
	plan
	err error
}

func (f failingPlanner) Accept(agent.ReadonlyContext, *task.Request) (*sdk.Message, error) {
	if f.err == nil {
		panic("SECRET")
	}
	return nil, f.err
}

// The client of a planner that fails learns that it was the planner, and its own words where they are
// meant for clients; the log has the cause.
func TestPlannerThatFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		planner task.Planner
		status  int
		want    string
		logged  bool
	}{
		"any error":    {failingPlanner{err: errors.New("SECRET")}, 500, "the planner of this agent has failed, so that the message was not read", true},
		"a panic":      {failingPlanner{}, 500, "the planner of this agent has failed", true},
		"a field":      {failingPlanner{err: task.Invalid("message.parts", "are in Latin")}, 400, "message.parts are in Latin", false},
		"of the SDK":   {failingPlanner{err: sdk.NewError(sdk.ErrUnsupportedOperation, "no Latin")}, 400, `"message":"no Latin"`, false},
		"only a plan":  {plan(func() (*task.Step, error) { return &task.Step{End: &task.End{State: sdk.TaskStateCompleted}}, nil }), 200, `"TASK_STATE_COMPLETED"`, false},
		"of that plan": {plan(func() (*task.Step, error) { return nil, errors.New("no Latin") }), 200, "The task failed: no Latin", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := &lines{}
			r := startRoomy(t, func(e *engine.Config, c *a2a.Config) {
				e.Planner, c.Log = tc.planner, zerolog.New(said).Level(zerolog.InfoLevel)
			})
			resp, body := r.response(r.request(http.MethodPost, "/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"salve"}]}}`)) //nolint:bodyclose // response reads and closes it
			if resp.StatusCode != tc.status || !strings.Contains(body, tc.want) || strings.Contains(body, "SECRET") || strings.Contains(said.String(), "internal error") != tc.logged {
				t.Errorf("status %d and %s, want %d and %q; the log: %s", resp.StatusCode, body, tc.status, tc.want, said)
			}
		})
	}
}
