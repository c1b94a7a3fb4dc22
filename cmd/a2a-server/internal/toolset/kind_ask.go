package toolset

import (
	"a2a-server/approval"
	"a2a-server/tool/agent"
	"a2a-server/tool/approvaltool"
)

// buildAsk makes the tool of an entry.
func buildAsk(_ *maker, e *entry) (key string, err error) {
	c := &e.config
	out := approvaltool.Config{Name: c.Name, Description: c.Description, Parameters: parameters(c)}
	if c.Hint != "" {
		out.Hint = func(_ agent.ReadonlyContext, args map[string]any) (string, error) {
			return approval.FillHint(c.Hint, args)
		}
	}
	t, err := approvaltool.New(out)
	return e.single("args", t, err)
}
