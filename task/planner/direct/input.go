package direct

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"a2a-server/task"
)

// next returns the step after a finished step: a question if its calls require input; the
// calls that an answer names; else the end.
func (p *Planner) next(at *task.Progress) *task.Step {
	last := at.Steps[len(at.Steps)-1]
	if !last.Asked {
		if prompts := prompts(last.Calls); prompts != "" {
			return ask(at, a2a.NewTextPart(prompts))
		}
		return &task.Step{End: end(at)}
	}
	answer := at.Messages[len(at.Messages)-1].Message
	switch calls, problems := read(answer, at.Tools); {
	case len(problems) > 0:
		return ask(at, p.listing(at.Tools, problems)...)
	case len(calls) > 0:
		return &task.Step{Calls: calls}
	}
	return &task.Step{End: end(at)}
}

// ask returns a step with a question.
func ask(at *task.Progress, parts ...*a2a.Part) *task.Step {
	return &task.Step{Ask: &task.InputRequest{Message: message(fmt.Sprintf("ask:%s:%d", at.Task, len(at.Steps)), parts...)}}
}

// message returns a message with an id derived from a name, and not random, so that repeating the plan
// gives the same.
func message(name string, parts ...*a2a.Part) *a2a.Message {
	id := uuid.NewSHA1(uuid.NameSpaceURL, []byte("urn:a2a-server:direct:"+name))
	return &a2a.Message{ID: id.String(), Role: a2a.MessageRoleAgent, Parts: parts}
}

// prompts returns the questions of a step's calls to the user, one per line, "" without any. A
// call that did not succeed asks nothing.
func prompts(calls []task.Result) string {
	var lines []string
	for i := range calls {
		r := &calls[i]
		if _, ok := verdictOf(r.Outcome); !ok || !r.Actions.RequireInput {
			continue
		}
		lines = append(lines, withText(r.Call.Name, cmp.Or(strings.TrimSpace(r.Actions.InputPrompt), "more input is needed")))
	}
	return strings.Join(lines, "\n")
}
