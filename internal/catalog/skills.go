package catalog

import (
	"errors"
	"fmt"

	"a2a-server/a2a/agentcard"
	"a2a-server/approval"
	"a2a-server/internal/guard"
	"a2a-server/internal/visible"
	"a2a-server/task/planner/direct"
	"a2a-server/tool"
)

// The limits of the card's skills, which need no authentication. Toolsets may have any names
// and descriptions, and any number of them.
const (
	maxSkills           = 1000
	maxCard             = 1 << 20 // bytes of their texts
	maxSkillName        = 128     // characters
	maxSkillDescription = 2000    // characters
	maxSkillExample     = 500     // bytes
)

// skills returns the card's skills, a skill for each tool. The error lists the tools that are
// left out.
func skills(tools []*tool.Registered, of *Tools) ([]agentcard.Skill, error) {
	var all []agentcard.Skill
	var errs []error
	size := 0
	for i, e := range tools {
		made, err := skill(e, of)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		size += len(made.ID) + len(made.Name) + len(made.Description)
		for _, example := range made.Examples {
			size += len(example)
		}
		if len(all) == maxSkills || size > maxCard {
			errs = append(errs, fmt.Errorf("the card has room for %d tools with %d KiB of names and descriptions: it leaves out %d", maxSkills, maxCard>>10, len(tools)-i))
			break
		}
		all = append(all, made)
	}
	return all, errors.Join(errs...)
}

// skill returns the skill of a tool. A tool that panics has none.
func skill(e *tool.Registered, of *Tools) (_ agentcard.Skill, err error) {
	name := visible.Clip(e.Definition.Name, maxSkillName)
	defer guard.Recover(&err, fmt.Sprintf("tool %q panicked when it was described", name))
	made := agentcard.Skill{
		ID: name, Name: name, Description: visible.ClipText(e.Definition.Description, maxSkillDescription),
		Tags: tags(e.Tool, of.Policy),
	}
	if of.Examples {
		if example := direct.Example(e.Definition); len(example) <= maxSkillExample && visible.Text(example) == example {
			made.Examples = []string{example}
		}
	}
	return made, nil
}

// tags returns the tags of a tool, from its declarations. The configuration's gates are not in
// them: whether a gate asks depends on the call.
func tags(t tool.Tool, p *approval.Policy) []string {
	tags := []string{"tool"}
	add := func(is bool, tag string) {
		if is {
			tags = append(tags, tag)
		}
	}
	says := tool.AnnotationsOf(t)
	add(tool.Streams(t), "streaming")
	add(says.ReadOnly, "read-only")
	add(says.Idempotent, "idempotent")
	add(says.Destructive, "destructive")
	add(t.RequiresApproval() && p.Heeds(t), "needs approval")
	return tags
}
