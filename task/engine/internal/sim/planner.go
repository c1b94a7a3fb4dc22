package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
	"a2a-server/tool/agent"
)

// Plan is the content of a message of the simulation.
type Plan struct {
	Steps []PlanStep    `json:"steps"`
	End   a2a.TaskState `json:"end,omitempty"` // "": completed
}

// PlanStep is a step: calls, a question, a wait, or nothing but output.
type PlanStep struct {
	Calls  []PlanCall `json:"calls,omitempty"`
	Ask    bool       `json:"ask,omitempty"`
	Wait   int        `json:"wait,omitempty"` // ms
	Output bool       `json:"output,omitempty"`
	Fail   bool       `json:"fail,omitempty"` // the planner fails
	Slow   int        `json:"slow,omitempty"` // ms that a slow planner takes
}

// PlanCall is a call of a plan.
type PlanCall struct {
	Tool  string `json:"tool"`
	N     int    `json:"n"`
	Alias string `json:"alias,omitempty"`
}

// part returns the plan as a part of a message.
func (p *Plan) part() *a2a.Part {
	var data map[string]any
	if err := json.Unmarshal(mustJSON(p), &data); err != nil {
		panic(err)
	}
	return a2a.NewDataPart(map[string]any{"plan": data})
}

func planOf(m *a2a.Message) (*Plan, error) {
	for _, part := range m.Parts {
		data, _ := part.Data().(map[string]any)
		plan, ok := data["plan"]
		if !ok {
			continue
		}
		p := &Plan{}
		return p, json.Unmarshal(mustJSON(plan), p)
	}
	return nil, errors.New("the message has no plan")
}

// planner follows the first message of a task, step by step.
type planner struct {
	p      *Process
	inline bool
	asked  func(*Process) // when it is asked; nil: nobody wants to know
}

var _ task.Planner = (*planner)(nil)

func (p *planner) Inline() bool { return p.inline }

// Accept answers a message without a plan directly.
func (p *planner) Accept(_ agent.ReadonlyContext, r *task.Request) (*a2a.Message, error) {
	if _, err := planOf(r.Message); err != nil {
		return &a2a.Message{ID: "direct", Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart(err.Error())}}, nil
	}
	return nil, nil
}

var errPlan = errors.New("the planner says no")

// speak says wholeText and takes so many milliseconds for it. After an odd number it takes back what
// it has said.
func (p *planner) speak(ctx context.Context, progress *task.Progress, slow int) error {
	first, then, again := "one ", "two", false
	if slow%2 == 1 {
		first, then, again = "three ", wholeText, true
	}
	if err := progress.Say(first, false); err != nil {
		return err
	}
	over := make(chan struct{})
	stop := p.p.After(time.Duration(slow)*time.Millisecond, func() { close(over) })
	if p.p.Wait(over, ctx.Done()) == 1 {
		stop()
		return context.Cause(ctx)
	}
	return progress.Say(then, again)
}

func (p *planner) Plan(ctx context.Context, progress *task.Progress) (*task.Step, error) {
	if p.asked != nil {
		p.asked(p.p)
	}
	plan, err := planOf(progress.Messages[0].Message)
	if err != nil {
		return nil, err
	}
	n := len(progress.Steps)
	if n >= len(plan.Steps) {
		end := &task.End{State: plan.End}
		if end.State == "" {
			end.State = a2a.TaskStateCompleted
		}
		return &task.Step{End: end}, nil
	}
	s := &plan.Steps[n]
	if !p.inline && s.Slow > 0 {
		if err := p.speak(ctx, progress, s.Slow); err != nil {
			return nil, err
		}
	}
	step := &task.Step{State: json.RawMessage(fmt.Sprint(n + 1)), Wait: time.Duration(s.Wait) * time.Millisecond}
	if s.Fail {
		return nil, errPlan
	}
	if s.Output {
		step.Output = []task.Output{{Artifact: &task.ArtifactPiece{ID: fmt.Sprint("out", n), Parts: a2a.ContentParts{a2a.NewTextPart("output")}, Last: true}}}
	}
	if s.Ask {
		step.Ask = &task.InputRequest{Message: &a2a.Message{ID: fmt.Sprint("ask", n), Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart("what next?")}}}
	}
	for _, c := range s.Calls {
		step.Calls = append(step.Calls, task.PlannedCall{Tool: c.Tool, Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, c.N)), Alias: c.Alias})
	}
	return step, nil
}

// wholeText is what a planner that speaks says in a step, whatever it says on the way.
const wholeText = "one two"

// saidText is the text that a planner has published for a step.
type saidText struct {
	step     int
	text     string
	complete bool
}

var saidID = regexp.MustCompile(`^s(\d+)$`)
