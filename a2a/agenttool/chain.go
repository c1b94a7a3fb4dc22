package agenttool

import (
	"encoding/json"
	"fmt"
	"slices"
)

// delegationKey is the key of a [delegation] in the metadata of a message and of its text.
const delegationKey = "urn:a2a-server:delegation"

// delegation says which agents have passed a message on. It is in the message alone, and in no
// header: a message is in the log of its task, so that the limits hold after a crash, too.
type delegation struct {
	Depth  int      `json:"depth"`  // how many, from 1
	Agents []string `json:"agents"` // hashes of the URLs of their cards
}

// passedOn returns the metadata that the messages of the call have. Answers have it, too: a call
// that the agent makes after a question is as deep as the one before it.
func (r *run) passedOn() map[string]any { return map[string]any{delegationKey: r.state.Chain} }

// delegation returns the delegation for the messages of the call. It returns an error if the message
// would go too deep, or to an agent that has had it already. A client can shorten or lengthen the
// chain of its own message only.
func (r *run) delegation() (delegation, error) {
	var passed delegation
	if content := r.ctx.UserContent(); content != nil {
		for _, part := range content.Parts {
			raw, err := json.Marshal(part.Metadata[delegationKey])
			var d delegation
			if err == nil && json.Unmarshal(raw, &d) == nil && d.Depth > passed.Depth {
				passed = d
			}
		}
	}
	own := hashed(8, []byte(r.Card))
	if passed.Depth >= r.Depth {
		return delegation{}, fmt.Errorf("nothing was sent: %d agents have passed the message on already, and depth allows %d", passed.Depth, r.Depth)
	}
	if slices.Contains(passed.Agents, own) {
		return delegation{}, fmt.Errorf("nothing was sent: the message comes from this agent, so that sending it would make a circle")
	}
	if len(passed.Agents) > maxDepth {
		passed.Agents = passed.Agents[:maxDepth]
	}
	return delegation{Depth: passed.Depth + 1, Agents: append(slices.Clone(passed.Agents), own)}, nil
}
