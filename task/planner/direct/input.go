package direct

import (
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"a2a-server/internal/visible"
	"a2a-server/task"
)

// maxPrompt bounds the part of a call in a question, in characters. MaxCalls of them fit into
// an event.
const maxPrompt = 2 << 10

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

// ask returns a step with a question. Its id is derived, so that repeating the plan gives
// the same.
func ask(at *task.Progress, parts ...*a2a.Part) *task.Step {
	name := fmt.Sprintf("urn:a2a-server:direct:ask:%s:%d", at.Task, len(at.Steps))
	return &task.Step{Ask: &task.InputRequest{Message: &a2a.Message{
		ID: uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String(), Role: a2a.MessageRoleAgent, Parts: parts,
	}}}
}

// prompts returns the questions of a step's calls to the user, one per line, "" without any. A
// call that did not succeed asks nothing. Invisible characters are escaped, and line breaks
// indented, so that a line cannot look like another call's.
func prompts(calls []task.Result) string {
	var lines []string
	for i := range calls {
		r := &calls[i]
		if _, ok := verdictOf(r.Outcome); !ok || !r.Actions.RequireInput {
			continue
		}
		prompt := strings.TrimSpace(r.Actions.InputPrompt)
		if prompt == "" {
			prompt = "more input is needed"
		}
		lines = append(lines, r.Call.Name+": "+strings.ReplaceAll(visible.ClipText(prompt, maxPrompt), "\n", "\n  "))
	}
	return strings.Join(lines, "\n")
}
