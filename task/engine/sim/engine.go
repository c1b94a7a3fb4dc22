package sim

import (
	"context"
	"time"

	"a2a-server/auth"
	"a2a-server/task/engine"
)

// Engine is the API under simulation: an engine's public methods.
type Engine interface {
	Run(ctx context.Context) error
	Stop(grace time.Duration)
	Send(ctx context.Context, s engine.Send) (*engine.Sent, error)
	Answer(by auth.Principal) *engine.Answer
	Decide(ctx context.Context, d engine.Decision) error
	Approvals() *engine.Approvals
	Load() engine.Load
	LoadOf(by auth.Principal) engine.Load
	Cancel(ctx context.Context, by auth.Principal, id engine.ID) error
	CancelCall(ctx context.Context, by auth.Principal, id engine.ID, call string) error
	SetPush(ctx context.Context, by auth.Principal, id engine.ID, c engine.PushConfig) (engine.PushConfig, error)
	DeletePush(ctx context.Context, by auth.Principal, id engine.ID, config string) error
	Follow(ctx context.Context, by auth.Principal, id engine.ID, n uint64, until engine.Until, yield func([]engine.Event) error) error
	Stream(ctx context.Context, by auth.Principal, sent *engine.Sent, begin func(*engine.Snapshot) error) (*engine.Subscription, error)
}

// Config configures a simulation.
type Config struct {
	// New returns an engine that runs on a process: required.
	New func(cfg engine.Config, p *Process) (Engine, error)
	// Coverage counts events. Defaults to a new Coverage.
	Coverage *Coverage
	// Trace, when set, gets each step as a line.
	Trace func(line string)
	// Actions bounds the actions of the world outside in a run. Defaults to 24.
	Actions int
	// Optimistic lets the engine enter read-only tools before their start is durable.
	Optimistic bool
}
