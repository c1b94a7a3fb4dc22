// Package provider asks the program's deciders and confirmation providers about approvals.
package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/share"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/engine/internal/turn"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// maxAsked is how many approvals the provider is asked about at a time, and maxOffered how
// many may wait for that or are asked about. Further approvals are left to the client after
// the provider's time limit.
const (
	maxAsked   = 64
	maxOffered = 4096
)

// maxEdits is how many edits of the program, each of which needs a new approval, may follow each
// other.
const maxEdits = 8

// Config configures an Asker.
type Config struct {
	Decider task.Decider                         // nil: none
	OfTools map[string]tool.ConfirmationProvider // by the name of a tool
	Fails   bool                                 // an error fails the call, instead of leaving it to the client
}

// Asker asks deciders about approvals: it knows those that a decider is asked about, or will be. It
// is safe for concurrent use.
type Asker struct {
	env    *env.Env
	reader *tasklog.Reader
	turns  *turn.Turns
	cfg    Config

	places *share.Shares[struct{}] // an element per approval that it is asked about

	mu    sync.Mutex
	asked map[string]context.CancelCauseFunc // by approval id; it ends the question
	ended map[string]bool                    // ids of questions that have ended before AskAgain; nil after it
}

// New returns an Asker.
func New(e *env.Env, reader *tasklog.Reader, turns *turn.Turns, cfg Config) *Asker {
	return &Asker{
		env: e, reader: reader, turns: turns, cfg: cfg,
		places: share.New[struct{}](maxAsked, maxAsked), asked: map[string]context.CancelCauseFunc{}, ended: map[string]bool{},
	}
}

// of returns the decider that may answer an approval, and its name; nil: none may.
func (p *Asker) of(a *approval.Approval) (task.Decider, string) {
	const name = "confirmation provider"
	switch own := p.cfg.OfTools[a.Tool]; {
	case own != nil && rules.ToolProviderMayAnswer(a):
		return task.ProviderDecider(own), name + " of " + a.Tool
	case rules.ProviderMayAnswer(a):
		return p.cfg.Decider, name
	}
	return nil, ""
}

// errResolved is the cause when a request to the provider ends because the approval was
// decided otherwise, or is not needed any more.
var errResolved = errors.New("the approval has been resolved")

// Committed offers the approvals that a durable draft asks for to the provider, and
// withdraws those that it resolves.
func (p *Asker) Committed(d *rules.Draft) {
	for _, id := range d.Resolved() {
		p.end(id, errResolved)
	}
	for _, a := range d.Asked() {
		if provider, _ := p.of(a); provider != nil && a.State == approval.Pending {
			p.offer(a)
		}
	}
}

// end ends a question, if it is asked.
func (p *Asker) end(id string, why error) {
	p.mu.Lock()
	cancel := p.asked[id]
	delete(p.asked, id)
	if p.ended != nil {
		p.ended[id] = true
	}
	p.mu.Unlock()
	if cancel != nil {
		cancel(why)
	}
}

// offer asks the provider about an approval as soon as it has a place for it, unless it is
// asked already. It reports whether there was room.
func (p *Asker) offer(a *approval.Approval) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.asked[a.ID]; known || p.ended[a.ID] {
		return true
	}
	if len(p.asked) >= maxOffered {
		return false
	}
	ctx, cancel := context.WithCancelCause(p.env.Ctx)
	p.asked[a.ID] = cancel
	p.env.Begin(func() {
		defer p.end(a.ID, nil)
		place, leave := p.places.Wait(struct{}{})
		defer leave()
		if p.env.Wait(place, ctx.Done()) == 0 && ctx.Err() == nil {
			p.askAbout(ctx, a)
		}
	})
	return true
}

// askAbout asks the decider about an approval. Its answer is a decision like any other: the first
// decision counts. Without an answer, the client is asked.
func (p *Asker) askAbout(ctx context.Context, a *approval.Approval) {
	id, _ := store.ParseTaskID(a.Task)
	if !p.waits(ctx, id, a.ID) {
		return
	}
	decider, name := p.of(a)
	edits, err := p.edits(ctx, id, a)
	if err != nil {
		p.ignored(a, err)
		return
	}
	var decision approval.Decision
	if edits < maxEdits {
		decision, err = call(ctx, decider, a)
	}
	if errors.Is(context.Cause(ctx), errResolved) || p.env.Ctx.Err() != nil {
		return // the next process asks
	}
	if err == nil && decision.Type != "" {
		decision.ID, decision.ByCall, decision.Digest = a.ID, false, a.Digest
		by := auth.Principal{Tenant: a.Requester.Tenant, Subject: name, Method: "provider"}
		err = p.turns.Decide(p.env.Ctx, turn.DecisionInput{By: by, Via: approval.ViaProvider, Scope: store.System(), Task: id, Answers: []approval.Decision{decision}})
		if err == nil || !refused(err) {
			p.ignored(a, err)
			return
		}
	}
	in := rules.ProviderFailed{Approval: a.ID, Why: "the confirmation provider leaves it to others"}
	if err != nil {
		// In doubt the approval stays pending, for another approver.
		in.Why = "the confirmation provider failed"
		if p.cfg.Fails {
			in.Fail = in.Why
			if _, is := errors.AsType[*panicError](err); !is { // which nobody has written for a client
				in.Fail += ": " + err.Error()
			}
		}
		p.env.Log.Warn().Err(err).Str("task_id", a.Task).Str("approval_id", a.ID).Bool("call_failed", p.cfg.Fails).Msg("confirmation provider failed")
	}
	p.ignored(a, p.turns.Changed(p.env.Ctx, store.System(), id, in))
}

// ignored logs that an answer had no effect, unless err is nil.
func (p *Asker) ignored(a *approval.Approval, err error) {
	if err != nil && p.env.Ctx.Err() == nil {
		p.env.Log.Info().Err(err).Str("task_id", a.Task).Str("approval_id", a.ID).Msg("answer of the confirmation provider was ignored")
	}
}

// refused reports whether an approval is pending but does not take a decision.
func refused(err error) bool {
	e, is := errors.AsType[*approval.Error](err)
	return is && (e.Reason == approval.ReasonMalformed || e.Reason == approval.ReasonNotAllowed)
}

// edits returns how many edits of the program in a row have led to an approval.
func (p *Asker) edits(ctx context.Context, id store.TaskID, a *approval.Approval) (n int, err error) {
	for ; a.Supersedes != "" && n < maxEdits; n++ {
		if a, err = p.reader.Approval(ctx, store.System(), id, a.Supersedes); err != nil {
			return n, err
		}
		if a.Resolution == nil || a.Resolution.Via != approval.ViaProvider {
			break
		}
	}
	return n, nil
}

// waits reports whether an approval is still pending. It may have been resolved before it
// was offered; if it is resolved later, ctx ends.
func (p *Asker) waits(ctx context.Context, id store.TaskID, approvalID string) bool {
	a, err := p.reader.Approval(ctx, store.System(), id, approvalID)
	if _, gone := errors.AsType[*approval.Error](err); gone {
		return false
	}
	return ctx.Err() == nil && (err != nil || a.State == approval.Pending) // an answer will be checked anyway
}

// panicError is the panic of a decider.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// call asks a decider about a copy of an approval.
func call(ctx context.Context, decider task.Decider, a *approval.Approval) (d approval.Decision, err error) {
	defer func() {
		if p := recover(); p != nil {
			d, err = approval.Decision{}, &panicError{p}
		}
	}()
	raw, err := json.Marshal(a)
	if err != nil {
		return approval.Decision{}, err
	}
	var own approval.Approval
	if err := json.Unmarshal(raw, &own); err != nil {
		return approval.Decision{}, err
	}
	return decider(ctx, own)
}

// AskAgain asks the providers about everything that was pending when the engine
// started: the process that asked before is gone.
func (p *Asker) AskAgain() {
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ended = nil
	}()
	for _, a := range p.reader.Pending("the confirmation provider is not asked again") {
		if provider, _ := p.of(a); provider != nil && !p.offer(a) {
			p.env.Log.Warn().Int("limit", maxOffered).Msg("too many pending approvals; the confirmation provider is not asked about the newest ones again")
			return
		}
	}
}
