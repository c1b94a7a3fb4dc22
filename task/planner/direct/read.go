package direct

import (
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
	"a2a-server/tool"
)

// read returns the calls that m names, in the order of its parts, and the problems of calls
// that cannot be read, or that have the id of another call.
func read(m *a2a.Message, tools []tool.Tool) (calls []task.PlannedCall, problems []string) {
	if m == nil {
		return nil, nil
	}
	var ids map[string]string // ids that the caller chose, to their place in the message
	for i, part := range m.Parts {
		if part == nil {
			continue
		}
		found, err := readPart(part, tools)
		if err != nil {
			problems = append(problems, fmt.Sprintf("part %d: %v", i+1, err))
			continue
		}
		for j, call := range found {
			if call.Alias == "" {
				continue
			}
			place := fmt.Sprintf("part %d", i+1)
			if len(found) > 1 {
				place += fmt.Sprintf(": calls[%d]", j)
			}
			if first, ok := ids[call.Alias]; ok {
				problems = append(problems, fmt.Sprintf(`%s: "id" %q is already used by the call at %s; give each call its own id, or none`, place, clip(call.Alias, 100), first))
				continue
			}
			if ids == nil {
				ids = map[string]string{}
			}
			ids[call.Alias] = place
		}
		if calls == nil {
			calls = found
			continue
		}
		calls = append(calls, found...)
	}
	if len(calls) > MaxCalls {
		problems = append(problems, fmt.Sprintf("the message names %d calls; at most %d are allowed, send the others in separate messages", len(calls), MaxCalls))
		calls = nil
	}
	return calls, problems
}

// readPart returns the calls of a part, none if the part is something else.
func readPart(part *a2a.Part, tools []tool.Tool) ([]task.PlannedCall, error) {
	switch content := part.Content.(type) {
	case a2a.Data:
		return readData(content.Value, part.Metadata)
	case a2a.Text:
		return readText(string(content), tools)
	case a2a.Raw, a2a.URL: // a file is never a call
	}
	return nil, nil
}
