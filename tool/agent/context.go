package agent

import "context"

// A ReadonlyContext says for whom, and as part of what, something is done. Predicates,
// gates and toolsets get one: they may read, not change. It is safe for concurrent use,
// and its answers do not change.
type ReadonlyContext interface {
	context.Context

	// InvocationID names the turn: the run of a task between two rests.
	InvocationID() string
	// AgentName is the name of the agent as its card gives it.
	AgentName() string
	// AppName is the name of the program that runs the agent.
	AppName() string
	// UserID is the authenticated principal; "" is the anonymous one.
	UserID() string
	// SessionID is the A2A contextId of the task.
	SessionID() string
	// TaskID is the id of the task, "" before there is one.
	TaskID() string
	// Tenant is the tenant that the principal belongs to, "" without tenants.
	Tenant() string
	// Roles are the roles of the principal. The slice must not be changed.
	Roles() []string
	// Branch is the chain of agents that delegated to this one, "" at its head.
	Branch() string
	// UserContent is the message that the turn answers, nil when there is none.
	UserContent() *Content
	// ReadonlyState is the state of the session, to be read.
	ReadonlyState() ReadonlyState
}

// CallbackContext is a [ReadonlyContext] whose holder may also write state and
// artifacts.
type CallbackContext interface {
	ReadonlyContext

	// State is the state of the session.
	State() State
	// Artifacts are the files that belong to the session.
	Artifacts() Artifacts
}

// CancellableTask is the task that a call belongs to, as far as the tool needs it
// to pass a cancel on to what it started.
type CancellableTask interface {
	// ID is the id of the task.
	ID() string
	// OnCancel has cancel called, once and with the cause, when the call is
	// canceled: at once if that has happened already. remove takes it back; it may
	// be called more than once.
	OnCancel(callID string, cancel func(cause error)) (remove func())
}
