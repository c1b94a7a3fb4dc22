package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"a2a-server/tool"
)

// wait goes the ways that ask while the tool runs, and wait for the answers.
func (t *simTool) wait(ctx tool.Context, r *Run) (map[string]any, error) {
	r.Effect = t.rarely(r, 3) // and does not know the outcome of the rest
	questions := 1
	switch r.Way { //nolint:exhaustive // the others ask one
	case WaitsTwice:
		questions = 2
	case WaitsLate:
		t.b.block(ctx, t.p, r, false /* heeds */)
	}
	for i := range questions {
		a := tool.Question{Kind: tool.AskQuestion, Hint: fmt.Sprintf("run %d asks %d", r.N, i)}
		switch r.Way { //nolint:exhaustive // the others ask a question
		case WaitsForForm:
			a.Kind, a.Schema = tool.AskForm, schemaOfN
		case WaitsForAuth:
			a.Kind = tool.AskAuth
		case WaitsBadly:
			a.Kind = tool.AskForm
		}
		answer, err := t.askAndWait(ctx, r, a)
		switch {
		case err == nil && answer.State == tool.AnswerRejected && t.choose(r, 2) == 1:
			return nil, errTool
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		}
		if t.rarely(r, 4) {
			t.p.Sleep(time.Duration(1+t.choose(r, 30)) * time.Millisecond)
		}
	}
	switch r.Way { //nolint:exhaustive // the others return a result
	case WaitsAndAsks:
		if r.Answers == 0 {
			return nil, &tool.Suspension{Asks: []tool.Question{{Kind: tool.AskQuestion, Hint: "which one?"}}}
		}
	case WaitsUnsure:
		return t.unsure(r)
	}
	return r.done()
}

// askAndWait asks a question, and tells the model its outcome. With WaitsBriefly the tool does
// not wait for long.
func (t *simTool) askAndWait(ctx tool.Context, r *Run, a tool.Question) (tool.Answer, error) {
	var own context.Context = ctx
	switch r.Way { //nolint:exhaustive // the others wait as long as their call runs
	case WaitsBriefly:
		c, giveUp := context.WithCancel(ctx)
		defer giveUp()
		stop := t.p.After(time.Duration(t.choose(r, 40))*time.Millisecond, giveUp)
		defer stop()
		own = c
	case WaitsLate:
		own = context.WithoutCancel(ctx)
	}
	answer, err := tool.AskAndWait(own, a)
	switch {
	case err == nil:
		t.b.coverage.Count("a held call is told: " + answer.State)
	case errors.Is(err, tool.ErrNoAnswer):
		t.b.coverage.Count("a held call is told that there is no answer")
	case ctx.Err() == nil && own.Err() != nil:
		t.b.coverage.Count("a held call does not wait any longer")
	default:
		t.b.coverage.Count("a held call is told to end")
	}
	t.b.s.Note("%s run %d asked %q: %s, %v", t.p.name, r.N, a.Hint, answer.State, err)
	if t.b.Answered != nil {
		t.b.Answered(r, a, answer, err, own.Err() != nil || ctx.Err() != nil)
	}
	return answer, err
}
