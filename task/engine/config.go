package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/host"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Host provides an engine's goroutines, waits and timers. With it, a simulation runs a
// whole engine in one goroutine; see package sim.
type Host = host.Host

// Config configures an Engine.
type Config struct {
	Store     store.Handle     // required; the engine does not close it
	Tools     *tool.Registry   // required
	Planner   task.Planner     // required
	Presenter task.Presenter   // required
	Policy    *approval.Policy // nil: only the tools' own gates ask

	// Hooks run before the policy, in order, on each planned call.
	Hooks []task.Hook
	// AfterHooks see the result of each call of a tool that has run, before it is written, and
	// ErrorHooks each failure: see [task.AfterHook].
	AfterHooks, ErrorHooks []task.AfterHook

	// Decider, if set, is called for every new approval of kind call that the A2A client could
	// answer, at most 64 at a time. Other approvers can decide in the meantime; its context then
	// ends. If it leaves the approval to the client, returns an error, or has not answered after
	// ProviderWait, the client is asked (input-required); a later decision still counts. After a
	// restart it is called again for approvals still pending. Stop ends its contexts and waits for
	// it. It is called again when its edit needs a new approval, after eight such edits no more.
	Decider task.Decider
	// ProviderErrorFails makes a call fail, with the text of the error, when a Decider
	// returns one.
	ProviderErrorFails bool
	// ToolDeciders are the deciders of single tools, such as agents, by name. Such a decider is called
	// in place of Decider when its tool asks, while it runs, whether it may continue
	// ([tool.RequestConfirmation], or [tool.AskConfirm]). It never answers a gate that asks about the
	// call itself, an outcome, a question of a destructive call, or an approval that Decider may not
	// answer: four_eyes, approvers and elsewhere remain with people.
	ToolDeciders map[string]task.Decider
	// ProviderWait is how long a Decider may take before the client is asked. Defaults
	// to 30 s.
	ProviderWait time.Duration

	// DelegatedDecisions lets services and their delegates decide. Otherwise only persons may,
	// directly: see [auth.Principal.Direct].
	DelegatedDecisions bool
	// People have several subjects: requesters, editors and voters are judged by all of them, as they are now.
	People auth.People

	// Memory is searched by SearchMemory. Defaults to the ended tasks of the same owner in the same
	// context, of which Rank chooses the passages; without Rank, SearchMemory fails.
	Memory agent.Memory
	Rank   task.Ranking

	Agent         string // name of this agent, part of every digest. Defaults to "a2a-server".
	HoldSiblings  bool   // calls of a step start only when all of them are decided
	NoIdempotency bool   // the same message sent twice creates two tasks
	WholeText     bool   // a stream of text ends with the whole text in place of its pieces, if it fits into an event
	Limits        task.Limits
	Answers       int64 // bytes of memory that answers to clients may take; see [ReadReservation]. Defaults to 256 MiB.
	Page          int64 // bytes of logs that a page of a list is built from; see [TaskPage]. Defaults to 16 MiB.

	// Push seals the secrets of webhooks. Nil: there are no push notifications, and the
	// methods for them return [ErrNoPush].
	Push Sealer

	// Routes announce approvals: the batch that asks or resolves an approval has a row for each
	// route that takes it, which package task/notify sends. Names have at most 64 bytes.
	Routes []task.Route

	// Observers are told of changes to tasks, in this order, after the log.
	Observers []Observer

	// Accepted is called with the principal of each durable message and decision that came with a
	// [Renewal], as it was at the commit, before the sender has the answer. It may write to the store.
	Accepted func(context.Context, auth.Principal)
	// Current returns the maker of a grant, a voter or a decider as they are now: it is asked at each
	// use of a grant and at each decision, also right before the store writes them: it may read the store,
	// and must not wait for a write. A grant whose maker could not approve the call now covers nothing,
	// and a vote that was given with a credential that is withdrawn does not count. A decision is made again
	// if its sender has changed. Defaults to those people as they were.
	Current auth.Current

	Log zerolog.Logger
	Now func() time.Time // Defaults to time.Now.
	// NewID returns ids of tasks, contexts and messages. They must be unguessable: the codes
	// that approve destructive calls by text are made from them. Defaults to store.NewTaskID.
	NewID      func() store.TaskID
	Host       Host               // Defaults to goroutines and timers.
	CrashPoint func(point string) // called at named points, for tests that kill the process
}

// withDefaults returns cfg with its defaults, or what is missing.
func (cfg Config) withDefaults() (Config, error) {
	if cfg.Store == nil || cfg.Tools == nil || cfg.Planner == nil || cfg.Presenter == nil {
		return Config{}, errors.New("task/engine: an engine needs a store, tools, a planner and a presenter")
	}
	if cfg.Policy == nil {
		var err error
		if cfg.Policy, err = approval.NewPolicy(approval.PolicyConfig{}); err != nil {
			return Config{}, fmt.Errorf("task/engine: default policy: %w", err)
		}
	}
	cfg.Agent = cmp.Or(cfg.Agent, "a2a-server")
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = store.NewTaskID
	}
	cfg.ProviderWait = cmp.Or(max(cfg.ProviderWait, 0), 30*time.Second)
	cfg.Limits = cfg.Limits.WithDefaults()
	cfg.Answers = cmp.Or(max(cfg.Answers, 0), 256<<20)
	cfg.Page = cmp.Or(max(cfg.Page, 0), 16<<20)
	return cfg, nil
}

// rules returns the rules of a configuration with its defaults.
func (cfg *Config) rules(report func(rules.Problem)) *rules.Rules {
	r := &rules.Rules{
		Tools: cfg.Tools, Policy: cfg.Policy, Presenter: cfg.Presenter, Planner: cfg.Planner, Hooks: cfg.Hooks, AfterHooks: cfg.AfterHooks, ErrorHooks: cfg.ErrorHooks, Limits: cfg.Limits,
		Agent: cfg.Agent, HoldSiblings: cfg.HoldSiblings, NoIdempotency: cfg.NoIdempotency, Routes: cfg.Routes, Delegated: cfg.DelegatedDecisions, People: cfg.People, EachCall: func() bool { return len(cfg.Observers) > 0 || cfg.Log.Debug().Enabled() }, //nolint:zerologlint // nothing is logged here
		NewID: func() string { return cfg.NewID().String() }, Report: report,
	}
	if cfg.Decider != nil {
		r.ProviderWait = cfg.ProviderWait
	}
	for name, decider := range cfg.ToolDeciders {
		if decider == nil {
			continue
		}
		if r.ToolProviderWait == nil {
			r.ToolProviderWait = map[string]time.Duration{}
		}
		r.ToolProviderWait[name] = cfg.ProviderWait
	}
	return r
}
