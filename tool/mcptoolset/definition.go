package mcptoolset

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// definition is the kept part of a server's definition of a tool.
type definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Hints       hints           `json:"hints"`
}

// hints are a server's claims about the effects of a tool. Nil: no claim.
type hints struct {
	ReadOnly    *bool `json:"read_only,omitempty"`
	Destructive *bool `json:"destructive,omitempty"`
	Idempotent  *bool `json:"idempotent,omitempty"`
	OpenWorld   *bool `json:"open_world,omitempty"`
}

// definitionOf returns the definition to keep of a listed tool: texts within their limits,
// without invisible characters.
func definitionOf(t *mcp.Tool) (definition, error) {
	d := definition{Name: t.Name, Description: clipText(t.Description, maxDescription)}
	schema := t.InputSchema
	if schema == nil {
		return d, errors.New("it has no schema of its arguments")
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return d, fmt.Errorf("the schema of its arguments: %w", err)
	}
	if len(raw) > maxSchema {
		return d, fmt.Errorf("the schema of its arguments has %d bytes; at most %d are accepted", len(raw), maxSchema)
	}
	parameters, err := strictjson.DecodeObject(raw)
	if err != nil {
		return d, fmt.Errorf("the schema of its arguments: %w", err)
	}
	clipSchema(parameters)
	d.Parameters, _ = json.Marshal(parameters) // it was decoded
	if a := t.Annotations; a != nil {
		d.Hints = hints{Destructive: a.DestructiveHint, OpenWorld: a.OpenWorldHint}
		// The SDK does not tell false from nothing; false is the default of both.
		if a.ReadOnlyHint {
			d.Hints.ReadOnly = &a.ReadOnlyHint
		}
		if a.IdempotentHint {
			d.Hints.Idempotent = &a.IdempotentHint
		}
	}
	return d, nil
}

// clipText returns text with at most limit bytes, without invisible characters.
func clipText(text string, limit int) string {
	clipped := visible.ClipText(text, limit)
	for n := limit; len(clipped) > limit; {
		n = n * 3 / 4
		clipped = visible.ClipText(text, n)
	}
	return clipped
}

// claims are the hints as they are shown to people.
func (h hints) claims() []string {
	var out []string
	say := func(v *bool, yes, no string) {
		switch {
		case v == nil:
		case *v:
			out = append(out, yes)
		case no != "":
			out = append(out, no)
		}
	}
	say(h.ReadOnly, tool.ClaimReadOnly, "")
	say(h.Destructive, tool.ClaimDestructive, tool.ClaimNotDestructive)
	say(h.Idempotent, "idempotent", "")
	say(h.OpenWorld, "open world", "closed world")
	return out
}

// annotations are the hints of a trusted tool. If they contradict each other, the cautious one
// counts. Without a claim, MCP assumes that a tool that is not read-only is destructive.
func (h hints) annotations() tool.Annotations {
	is := func(v *bool) bool { return v != nil && *v }
	readOnly := is(h.ReadOnly) && !is(h.Destructive)
	return tool.Annotations{
		ReadOnly:    readOnly,
		Idempotent:  is(h.Idempotent),
		Destructive: !readOnly && (h.Destructive == nil || *h.Destructive),
	}
}
