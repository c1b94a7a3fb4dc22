package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"a2a-server/task"
	"a2a-server/tool/agent"
)

// Planner plays the scenarios of a file; see [Load]. It is safe for concurrent use, and Plan
// is a pure function of its argument.
type Planner struct {
	scenarios []scenario
	byName    map[string]*scenario
}

var _ interface {
	task.Planner
	task.Accepter
	task.InlinePlanner
} = (*Planner)(nil)

func newPlanner(scenarios []scenario) *Planner {
	p := &Planner{scenarios: scenarios, byName: make(map[string]*scenario, len(scenarios))}
	for i := range scenarios {
		p.byName[scenarios[i].name] = &scenarios[i]
	}
	return p
}

// Inline returns true.
func (p *Planner) Inline() bool { return true }

// Accept returns nil if a scenario that creates a task matches. Otherwise it returns the
// direct message of the scenario, the error of a scenario that begins with an error step, or,
// if none matches, a message that lists the scenarios.
func (p *Planner) Accept(_ agent.ReadonlyContext, r *task.Request) (*a2a.Message, error) {
	if r.Message == nil {
		return nil, errors.New("the request has no message")
	}
	s := p.match(r.Message, false /* answers */)
	if s == nil {
		return answer(r.Message, a2a.ContentParts{a2a.NewTextPart(p.listing())}), nil
	}
	w := newRenderer(r.Message)
	switch first := s.steps[0]; first.kind { //nolint:exhaustive // the others are steps of a task
	case directMessage:
		parts := w.parts(first.content)
		if w.err != nil {
			return nil, fmt.Errorf("scenario %q: %w", s.name, w.err)
		}
		return answer(r.Message, parts), nil
	case failing:
		text := w.text(first.text)
		if w.err != nil {
			return nil, fmt.Errorf("scenario %q: %w", s.name, w.err)
		}
		return nil, a2a.NewError(first.is, text)
	}
	return nil, nil
}

// answer returns a direct message in the context of m.
func answer(m *a2a.Message, parts a2a.ContentParts) *a2a.Message {
	return &a2a.Message{ID: uuid.NewString(), ContextID: m.ContextID, Role: a2a.MessageRoleAgent, Parts: parts}
}

// match returns the first scenario that matches m, nil if none does.
func (p *Planner) match(m *a2a.Message, answers bool) *scenario {
	for i := range p.scenarios {
		if p.scenarios[i].when.fits(m, answers) {
			return &p.scenarios[i]
		}
	}
	return nil
}

// listing returns a text that lists the scenarios that a first message can play.
func (p *Planner) listing() string {
	var b strings.Builder
	b.WriteString("No scenario of the script fits this message. Those for a first message, and when they play:\n")
	for i := range p.scenarios {
		if s := &p.scenarios[i]; !s.when.followUp {
			fmt.Fprintf(&b, "- %s: %s\n", s.name, s.when.describe())
		}
	}
	return b.String()
}

// position is where the scenario of a task continues. It is on disk.
type position struct {
	Scenario string `json:"scenario"`
	Next     int    `json:"next"`            // index of the step
	Chunk    int    `json:"chunk,omitempty"` // pieces of that step that have been published
}

// Plan returns the scenario's next step: all its output up to and including the next call,
// wait, ask or end. Long output is split into several steps. The error comes from an error
// step, or means that the file has changed too much to continue.
func (p *Planner) Plan(_ context.Context, progress *task.Progress) (*task.Step, error) {
	if len(progress.Messages) == 0 || progress.Messages[len(progress.Messages)-1].Message == nil {
		return nil, fmt.Errorf("plan task %s: it has no message", progress.Task)
	}
	newest := progress.Messages[len(progress.Messages)-1].Message
	at, err := p.resume(progress, newest)
	if err != nil {
		return nil, err
	}
	s := p.byName[at.Scenario]
	b := &builder{progress: progress, renderer: newRenderer(newest)}
	step, err := b.build(s, at)
	var scripted scriptedError
	switch {
	case errors.As(err, &scripted):
		return nil, scripted
	case err != nil:
		return nil, fmt.Errorf("scenario %q: %w", s.name, err)
	}
	return step, nil
}

// resume returns where to continue. Its scenario exists.
func (p *Planner) resume(progress *task.Progress, newest *a2a.Message) (position, error) {
	if len(progress.Steps) == 0 {
		s := p.match(newest, false /* answers */)
		if s == nil {
			return position{}, fmt.Errorf("plan task %s: no scenario fits its message any more", progress.Task)
		}
		return position{Scenario: s.name}, nil
	}
	last := &progress.Steps[len(progress.Steps)-1]
	if last.Asked {
		if s := p.match(newest, true /* answers */); s != nil {
			return position{Scenario: s.name}, nil
		}
	}
	var at position
	if err := json.Unmarshal(last.State, &at); err != nil {
		return at, fmt.Errorf("plan task %s: read where its scenario is: %w", progress.Task, err)
	}
	if p.byName[at.Scenario] == nil {
		return at, fmt.Errorf("plan task %s: its scenario %q is not in the script any more", progress.Task, at.Scenario)
	}
	if at.Next < 0 || at.Chunk < 0 {
		return at, fmt.Errorf("plan task %s: its scenario cannot be at step %d, piece %d", progress.Task, at.Next, at.Chunk)
	}
	return at, nil
}
