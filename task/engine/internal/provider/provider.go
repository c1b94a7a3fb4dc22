// Package provider asks the program's confirmation providers about approvals.
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

// Asker asks providers about approvals: it knows those that a provider is asked about, or will be. It is safe for concurrent use.
type Asker struct {
	env      *env.Env
	reader   *tasklog.Reader
	turns    *turn.Turns
	provider tool.ConfirmationProvider            // nil: none
	ofTools  map[string]tool.ConfirmationProvider // by the name of a tool

	places *share.Shares[struct{}] // an element per approval that it is asked about

	mu    sync.Mutex
	asked map[string]context.CancelCauseFunc // by approval id; it ends the question
}

// New returns an Asker of a provider, which may be nil, and of the providers of single tools.
func New(e *env.Env, reader *tasklog.Reader, turns *turn.Turns, provider tool.ConfirmationProvider, ofTools map[string]tool.ConfirmationProvider) *Asker {
	return &Asker{
		env: e, reader: reader, turns: turns, provider: provider, ofTools: ofTools,
		places: share.New[struct{}](maxAsked, maxAsked), asked: map[string]context.CancelCauseFunc{},
	}
}

// of returns the provider that may answer an approval, and its name; nil: none may.
func (p *Asker) of(a *approval.Approval) (tool.ConfirmationProvider, string) {
	const name = "confirmation provider"
	switch own := p.ofTools[a.Tool]; {
	case own != nil && rules.ToolProviderMayAnswer(a):
		return own, name + " of " + a.Tool
	case rules.ProviderMayAnswer(a):
		return p.provider, name
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
	if _, known := p.asked[a.ID]; known {
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

// askAbout asks the provider about an approval. Its answer is a decision like any other: the
// first decision counts. Without an answer, the client is asked.
func (p *Asker) askAbout(ctx context.Context, a *approval.Approval) {
	id, _ := store.ParseTaskID(a.Task)
	if !p.waits(ctx, id, a.ID) {
		return
	}
	provider, name := p.of(a)
	ok, err := callProvider(ctx, provider, a)
	switch {
	case errors.Is(context.Cause(ctx), errResolved) || p.env.Ctx.Err() != nil:
		return // the next process asks
	case err != nil:
		// In doubt the approval stays pending, for another approver.
		p.env.Log.Warn().Err(err).Str("task_id", id.String()).Str("approval_id", a.ID).Msg("confirmation provider failed; the approval stays pending")
		err = p.turns.Changed(p.env.Ctx, store.System(), id, rules.ProviderFailed{Approval: a.ID, Why: "the confirmation provider failed"})
	default:
		decision := approval.Reject
		if ok {
			decision = approval.Approve
		}
		by := auth.Principal{Tenant: a.Requester.Tenant, Subject: name, Method: "provider"}
		err = p.turns.Decide(p.env.Ctx, turn.DecisionInput{By: by, Via: approval.ViaProvider, Scope: store.System(), Task: id, Answers: []approval.Decision{{ID: a.ID, Type: decision, Digest: a.Digest}}})
	}
	if err != nil && p.env.Ctx.Err() == nil {
		p.env.Log.Info().Err(err).Str("task_id", id.String()).Str("approval_id", a.ID).Msg("answer of the confirmation provider was ignored")
	}
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

func callProvider(ctx context.Context, provider tool.ConfirmationProvider, a *approval.Approval) (ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			ok, err = false, fmt.Errorf("panic: %v", p)
		}
	}()
	req := tool.ConfirmationRequest{
		ToolCallID: a.Call, ToolName: a.Tool, Input: string(a.Args), Hint: a.Hint,
		ApprovalID: a.ID, TaskID: a.Task, ContextID: a.Context, Digest: a.Digest, Requester: a.Requester.Subject,
	}
	if a.Payload != nil {
		if err := json.Unmarshal(a.Payload, &req.Payload); err != nil {
			return false, fmt.Errorf("decode the payload: %w", err)
		}
	}
	return provider(ctx, req)
}

// AskAgain asks the providers about everything that was pending when the engine
// started: the process that asked before is gone.
func (p *Asker) AskAgain() {
	for _, a := range p.reader.Pending("the confirmation provider is not asked again") {
		if provider, _ := p.of(a); provider != nil && !p.offer(a) {
			p.env.Log.Warn().Int("limit", maxOffered).Msg("too many pending approvals; the confirmation provider is not asked about the newest ones again")
			return
		}
	}
}
