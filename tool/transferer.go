package tool

// Transferer is a tool that hands a task over to an agent: a call of it sets
// agent.EventActions.TransferToAgent. A planner hands over to an agent only if a Transferer to it is
// among the tools of the caller. It is looked up with [As].
type Transferer interface {
	// TransfersTo is the name of the agent's tool.
	TransfersTo() string
}
