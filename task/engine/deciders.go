package engine

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/guard"
	"a2a-server/internal/share"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/internal/rules"
)

// maxAsked is how many approvals deciders are asked about at a time, and maxOffered how many may
// wait for that or are asked about. Further approvals are left to the client after the time limit
// of a provider.
const (
	maxAsked   = 64
	maxOffered = 4096
)

// maxEdits is how many edits of the program, each of which needs a new approval, may follow each
// other.
const maxEdits = 8

// deciders ask the program's deciders. They are a client of [Approvals]
// like any other approver: they get a pending approval, and decide it by its id and digest, so that
// the first decision counts and a repeated one changes nothing. They are safe for concurrent use.
//
// An [Observer] names each change to them. [Approvals.Watch] says only that there is one, so that
// its client lists all pending approvals each time: 160 ms for 5,000.
type deciders struct {
	any        task.Decider            // Config.Decider
	byTool     map[string]task.Decider // Config.ToolDeciders
	errorFails bool                    // Config.ProviderErrorFails

	env       *env.Env
	logs      logs
	approvals *Approvals              // of all owners
	places    *share.Shares[struct{}] // an element per approval that is asked about

	mu    sync.Mutex
	asked map[string]context.CancelCauseFunc // by approval id; it ends the question
	ended map[string]bool                    // ids of questions that have ended before offerPending; nil after it
}

func newDeciders(e *env.Env, l logs, approvals *Approvals, decider task.Decider, byTool map[string]task.Decider, errorFails bool) *deciders {
	return &deciders{
		any: decider, byTool: byTool, errorFails: errorFails, env: e, logs: l, approvals: approvals,
		places: share.New[struct{}](maxAsked, maxAsked), asked: map[string]context.CancelCauseFunc{}, ended: map[string]bool{},
	}
}

// of returns the decider that may decide an approval, and its name; nil: none may.
func (p *deciders) of(a *approval.Approval) (task.Decider, string) {
	const name = "confirmation provider"
	switch own := p.byTool[a.Tool]; {
	case a.State != approval.Pending:
		return nil, ""
	case own != nil && rules.ToolProviderMayAnswer(a):
		return own, name + " of " + a.Tool
	case rules.ProviderMayAnswer(a):
		return p.any, name
	}
	return nil, ""
}

// errResolved is the cause when a question to a decider ends because the approval was decided
// otherwise, or is not needed any more.
var errResolved = errors.New("the approval has been resolved")

// observer returns the observer that offers new approvals, and ends questions about resolved ones.
func (p *deciders) observer() Observer {
	return Observer{
		Asked: func(e *Audited) {
			if p.any != nil || p.byTool[e.Tool] != nil {
				p.offer(e.Approval)
			}
		},
		Decided: func(e *Audited) {
			if e.What == approval.AuditResolved {
				p.end(e.Approval, errResolved)
			}
		},
	}
}

// end ends a question, if it is asked.
func (p *deciders) end(id string, why error) {
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

// offer asks a decider about an approval as soon as there is a place for it, unless it is asked
// already or none may decide. It reports whether there was room.
func (p *deciders) offer(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.asked[id]; known || p.ended[id] {
		return true
	}
	if len(p.asked) >= maxOffered {
		return false
	}
	e := p.env
	ctx, cancel := context.WithCancelCause(e.Ctx)
	p.asked[id] = cancel // first, so that whatever resolves the approval after it was read ends the question
	e.Begin(func() {
		defer p.end(id, nil)
		a, err := p.approvals.Get(ctx, auth.Principal{}, id)
		if err != nil {
			if e.Ctx.Err() == nil {
				e.Log.Warn().Err(err).Str("approval_id", id).Msg("confirmation provider is not asked")
			}
			return
		}
		decider, name := p.of(a)
		if decider == nil {
			return
		}
		place, leave := p.places.Wait(struct{}{})
		defer leave()
		if e.Wait(place, ctx.Done()) == 0 && ctx.Err() == nil {
			p.ask(ctx, a, decider, name)
		}
	})
	return true
}

// ask asks a decider about an approval. Its answer is a decision like any other: the first decision
// counts. Without an answer, the client is asked.
func (p *deciders) ask(ctx context.Context, a *approval.Approval, decider task.Decider, name string) {
	edits, err := p.edits(ctx, a)
	if err != nil {
		p.ignored(a, err)
		return
	}
	var decision approval.Decision
	if edits < maxEdits {
		decision, err = decide(ctx, decider, a)
	}
	e := p.env
	if errors.Is(context.Cause(ctx), errResolved) || e.Ctx.Err() != nil {
		return // the next process asks
	}
	if err == nil && decision.Type != "" {
		decision.ID, decision.Digest = a.ID, a.Digest
		by := auth.Principal{Tenant: a.Requester.Tenant, Subject: name, Method: "provider"}
		err = p.approvals.Decide(e.Ctx, by, decision)
		if err == nil || !refused(err) {
			p.ignored(a, err)
			return
		}
	}
	in := rules.ProviderFailed{Approval: a.ID, Why: "the confirmation provider leaves it to others"}
	if err != nil {
		// In doubt the approval stays pending, for another approver.
		err = a.Redact(err)
		in.Why = "the confirmation provider failed"
		if p.errorFails {
			in.Fail = in.Why
			if _, is := errors.AsType[*guard.Error](err); !is { // which nobody has written for a client
				in.Fail += ": " + err.Error()
			}
		}
		e.Log.Warn().Err(err).Str("task_id", a.Task).Str("approval_id", a.ID).Bool("call_failed", in.Fail != "").Msg("confirmation provider failed")
	}
	of, _ := taskOf(a.ID)
	p.ignored(a, p.logs.Changed(e.Ctx, store.System(), of, in))
}

// ignored logs that the answer of a decider had no effect, unless err is nil.
func (p *deciders) ignored(a *approval.Approval, err error) {
	if err != nil && p.env.Ctx.Err() == nil {
		p.env.Log.Info().Err(a.Redact(err)).Str("task_id", a.Task).Str("approval_id", a.ID).Msg("answer of the confirmation provider was ignored")
	}
}

// refused reports whether an approval is pending but does not take a decision.
func refused(err error) bool {
	e, is := errors.AsType[*approval.Error](err)
	return is && (e.Reason == approval.ReasonMalformed || e.Reason == approval.ReasonNotAllowed)
}

// edits returns how many edits of the program in a row have led to an approval.
func (p *deciders) edits(ctx context.Context, a *approval.Approval) (n int, err error) {
	for ; a.Supersedes != "" && n < maxEdits; n++ {
		if a, err = p.approvals.Get(ctx, auth.Principal{}, a.Supersedes); err != nil {
			return n, err
		}
		if a.Resolution == nil || a.Resolution.Via != approval.ViaProvider {
			break
		}
	}
	return n, nil
}

// decide asks a decider about a copy of an approval.
func decide(ctx context.Context, decider task.Decider, a *approval.Approval) (d approval.Decision, err error) {
	defer guard.Recover(&err, "panic")
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

// offerPending offers all approvals that are pending when the engine starts: the process that asked
// before is gone.
func (p *deciders) offerPending(pending pending) {
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ended = nil
	}()
	pending.EachPending("the confirmation provider is not asked again", func(_ store.TaskID, a *approval.Approval) bool {
		if decider, _ := p.of(a); decider != nil && !p.offer(a.ID) {
			p.env.Log.Warn().Int("limit", maxOffered).Msg("too many pending approvals; the confirmation provider is not asked about the newest ones again")
			return false
		}
		return true
	})
}
