// Package turn runs tasks: a [Turn] is the work on a task from its start or wake-up until it
// waits or ends, and [Turns.Change] puts the inputs of everybody else into the log of a task. A
// turn makes drafts by the rules of package task, commits them, and starts the runs of tools that
// they allow.
package turn

import (
	"context"
	"errors"

	"a2a-server/store"
	"a2a-server/task/engine/internal/call"
	"a2a-server/task/engine/internal/scheduler"
	"a2a-server/task/internal/rules"
)

// Config configures Turns.
type Config struct {
	call.Config // without Late

	// Committed is called with each durable draft, outside all locks. It must not block.
	Committed func(d *rules.Draft)
	// Queued is called with each task whose status says that it waits for its turn.
	Queued func(id store.TaskID)
	// Refused is called when a principal may not decide, with the approval, "" for all of the
	// task, and the reason.
	Refused func(who Sender, id store.TaskID, approval, why string)
	// NotCounted is called with each decision that was refused, for any reason: an
	// [approval.Reason] or, if the principal may not decide, a Barred constant.
	NotCounted func(id store.TaskID, why string)
}

// Turns is what the turns of an engine share. It is safe for concurrent use.
type Turns struct {
	Calls     *call.Runs
	Scheduler *scheduler.Scheduler

	// Check, if set, is called for each turn that is about to wait, with the invariants that it breaks, for
	// tests. It is to be set before the first turn.
	Check func(id store.TaskID, problems []string)

	Config
	large chan struct{} // holds a token unless a turn has read back a large task
}

// New returns Turns without any.
func New(cfg Config) *Turns {
	ts := &Turns{Config: cfg, large: make(chan struct{}, 1)}
	ts.large <- struct{}{}
	cfg.Late = ts.late
	ts.Calls = call.New(cfg.Config)
	ts.Scheduler = scheduler.New(scheduler.Config{Env: cfg.Env, Start: ts.startQueued, Announce: ts.announce})
	return ts
}

// startQueued returns the turn of a task that has waited, and the function that runs it.
func (ts *Turns) startQueued(id store.TaskID, owner store.Scope, fence uint64) (*scheduler.Place, func()) {
	t := ts.newTurn(id, owner)
	t.place.Fence = fence
	return &t.place, t.runQueued
}

// Notify tells the turn of a task, if it runs here, that its log has changed.
func (ts *Turns) Notify(id store.TaskID) {
	if t := ts.running(id); t != nil {
		t.Notify()
	}
}

// running returns the turn of a task, if it runs here.
func (ts *Turns) running(id store.TaskID) *Turn {
	t, _ := ts.Scheduler.Running(id).(*Turn)
	return t
}

// at returns the time and environment for the rules, without those of a turn. ctx is for the code that they call.
func (ts *Turns) at(ctx context.Context, owner store.Scope) rules.At {
	return rules.At{Ctx: ctx, Now: ts.Env.Now(), Held: ts.Env.Held(), Current: ts.Env.Current, Grants: rules.Grants{Owner: owner, Store: ts.Env.Store}}
}

// batch returns the batch of a draft, which is written only while the draft holds.
func (ts *Turns) batch(d *rules.Draft, scope store.Scope, fence *uint64) *store.Batch {
	b := d.Batch(scope, fence)
	b.Holds = func() bool { return d.Holds(ts.Env.Rules(), ts.Env.Now()) }
	return b
}

// announce appends a status update: the task waits for a turn. It writes nothing once the task
// has left the queue, and retries on a conflict.
func (ts *Turns) announce(id store.TaskID, waits func() bool) (announced bool, err error) {
	for {
		f, err := ts.Reader.LoadTurn(ts.Env.Ctx, store.System(), id)
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		if err != nil || !waits() {
			return false, err
		}
		_, err = ts.write(ts.Env.Ctx, store.System(), f, rules.Queued{}, nil)
		switch {
		case err == nil:
			ts.Queued(id)
			return true, nil
		case errors.Is(err, rules.ErrNoChange):
			return false, nil
		case !errors.Is(err, store.ErrConflict):
			return false, err
		}
	}
}
