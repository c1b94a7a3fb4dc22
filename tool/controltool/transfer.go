package controltool

import (
	"errors"

	"a2a-server/tool"
)

// TransferTo returns the tool transfer_to_NAME, which hands the task over to the tool called name:
// an agent, whose only argument is message, a text. It sets TransferToAgent. description says when
// to hand over; it defaults to a plain sentence.
//
// The tool is also the permission: a planner hands over to name only for callers that may use both
// tools. It is a [tool.Transferer].
func TransferTo(name, description string) (tool.Tool, error) {
	if name == "" {
		return nil, errors.New("make a tool that transfers to an agent: it needs the name of the agent's tool")
	}
	if description == "" {
		description = "Hands the task over to the agent " + name + ", whose answer ends it. Call it alone."
	}
	t, err := steering("transfer_to_"+name, description, func(ctx tool.Context, _ struct{}) string {
		ctx.Actions().TransferToAgent = name
		return "The agent " + name + " takes over."
	})
	if err != nil {
		return nil, err
	}
	return transfer{t, name}, nil
}

// transfer is a tool that hands over.
type transfer struct {
	tool.StreamingTool
	to string
}

// Unwrap implements [tool.Unwrapper].
func (t transfer) Unwrap() tool.Tool { return t.StreamingTool }

// TransfersTo implements [tool.Transferer].
func (t transfer) TransfersTo() string { return t.to }
