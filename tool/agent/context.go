package agent

import "context"

// A ReadonlyContext identifies the user, the session and the task that a call belongs to.
// Predicates, gates and toolsets get it: they may read, but not write. It is safe for
// concurrent use, and its methods always return the same values.
type ReadonlyContext interface {
	context.Context

	// InvocationID identifies the turn: a run of the task, until it waits or ends.
	InvocationID() string
	// AgentName is the name of the agent as its card gives it.
	AgentName() string
	// AppName is the name of the program that runs the agent.
	AppName() string
	// UserID is the authenticated principal; "" if anonymous.
	UserID() string
	// SessionID is the A2A contextId of the task.
	SessionID() string
	// TaskID is the id of the task, "" if there is none yet.
	TaskID() string
	// Tenant is the tenant that the principal belongs to, "" without tenants.
	Tenant() string
	// Roles are the roles of the principal. The slice must not be changed.
	Roles() []string
	// Branch is the chain of agents that delegated to this one, "" for the first agent.
	Branch() string
	// UserContent is the message that the turn answers, nil if there is none.
	UserContent() *Content
	// ReadonlyState is a read-only view of the session's state.
	ReadonlyState() ReadonlyState
}

// CallbackContext is a [ReadonlyContext] that can also write state and artifacts.
type CallbackContext interface {
	ReadonlyContext

	// State is the state of the session.
	State() State
	// Artifacts are the files that belong to the session.
	Artifacts() Artifacts
}

// CancellableTask is the task that a call belongs to. With it, a tool can pass a
// cancellation on to the work that it started.
type CancellableTask interface {
	// ID is the id of the task.
	ID() string
	// OnCancel registers cancel, which is called once, with the cause, when the call is
	// canceled, or immediately if it already has been. remove unregisters it and may be
	// called more than once.
	OnCancel(callID string, cancel func(cause error)) (remove func())
}
