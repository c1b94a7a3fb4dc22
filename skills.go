package a2aserver

import (
	"a2a-server/a2a"
	"a2a-server/internal/app/config"
	"a2a-server/tool"
)

// skills returns the skills that the card lists, one for each tool.
func skills(tools []tool.Tool, c *config.Config) []a2a.Skill {
	var all []a2a.Skill
	for _, t := range tools {
		all = append(all, a2a.Skill{ID: t.Name(), Name: t.Name(), Description: t.Description(), Tags: tags(t, c)})
	}
	return all
}

// tags returns the tags of a tool, from what it declares. The configuration's gates are not
// in them: whether a gate asks depends on the call.
func tags(t tool.Tool, c *config.Config) []string {
	tags := []string{"tool"}
	add := func(is bool, tag string) {
		if is {
			tags = append(tags, tag)
		}
	}
	_, streams := tool.As[tool.StreamingTool](t)
	says := tool.AnnotationsOf(t)
	add(streams, "streaming")
	add(says.ReadOnly, "read-only")
	add(says.Idempotent, "idempotent")
	add(says.Destructive, "destructive")
	add(t.RequiresApproval() && c.Confirmation != config.OptIn, "needs approval")
	return tags
}
