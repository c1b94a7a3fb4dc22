package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/share"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// maxProviding is how many approvals the provider is asked about at a time, and maxOffered how
// many may wait for that or are asked about. Further approvals are left to the client after
// the provider's time limit.
const (
	maxProviding = 64
	maxOffered   = 4096
)

// providing is the approvals that the provider is asked about, or will be.
type providing struct {
	places *share.Shares[struct{}] // an element per approval that it is asked about

	mu    sync.Mutex
	asked map[string]context.CancelCauseFunc // by approval id; it ends the question
}

func (p *providing) init() {
	p.places, p.asked = share.New[struct{}](maxProviding, maxProviding), map[string]context.CancelCauseFunc{}
}

// errResolved is the cause when a request to the provider ends because the approval was
// decided otherwise, or is not needed any more.
var errResolved = errors.New("the approval has been resolved")

// provide offers the approvals that a durable draft asks for to the provider, and
// withdraws those that it resolves.
func (e *Engine) provide(d *rules.Draft) {
	for _, id := range d.Resolved() {
		e.providing.end(id, errResolved)
	}
	for _, a := range d.Asked() {
		if rules.ProviderMayAnswer(a) && a.State == approval.Pending {
			e.offer(a)
		}
	}
}

// end ends a question, if it is asked.
func (p *providing) end(id string, why error) {
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
func (e *Engine) offer(a *approval.Approval) bool {
	p := &e.providing
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.asked[a.ID]; known {
		return true
	}
	if len(p.asked) >= maxOffered {
		return false
	}
	ctx, cancel := context.WithCancelCause(e.ctx)
	p.asked[a.ID] = cancel
	e.begin(func() {
		defer p.end(a.ID, nil)
		place, leave := p.places.Wait(struct{}{})
		defer leave()
		if e.wait(place, ctx.Done()) == 0 && ctx.Err() == nil {
			e.askAbout(ctx, a)
		}
	})
	return true
}

// askAbout asks the provider about an approval. Its answer is a decision like any other: the
// first decision counts. Without an answer, the client is asked.
func (e *Engine) askAbout(ctx context.Context, a *approval.Approval) {
	id, _ := store.ParseTaskID(a.Task)
	if !e.waits(ctx, id, a.ID) {
		return
	}
	ok, err := e.callProvider(ctx, a)
	switch {
	case errors.Is(context.Cause(ctx), errResolved) || e.ctx.Err() != nil:
		return // the next process asks
	case err != nil:
		// In doubt the approval stays pending, for another approver.
		e.log.Warn().Err(err).Str("approval_id", a.ID).Msg("confirmation provider failed; the approval stays pending")
		err = e.changed(e.ctx, store.System(), id, rules.ProviderFailed{Approval: a.ID, Why: "the confirmation provider failed"})
	default:
		verb := approval.Reject
		if ok {
			verb = approval.Approve
		}
		by := auth.Principal{Tenant: a.Requester.Tenant, Subject: "confirmation provider", Method: "provider"}
		err = e.Decide(e.ctx, Decision{By: by, Via: approval.ViaProvider, Scope: store.System(), Task: id, Answers: []approval.Answer{{ID: a.ID, Verb: verb, Digest: a.Digest}}})
	}
	if err != nil && e.ctx.Err() == nil {
		e.log.Info().Err(err).Str("approval_id", a.ID).Msg("answer of the confirmation provider was ignored")
	}
}

// waits reports whether an approval is still pending. It may have been resolved before it
// was offered; if it is resolved later, ctx ends.
func (e *Engine) waits(ctx context.Context, id store.TaskID, approvalID string) bool {
	a, err := e.approval(ctx, store.System(), id, approvalID)
	if _, gone := errors.AsType[*approval.Error](err); gone {
		return false
	}
	return ctx.Err() == nil && (err != nil || a.State == approval.Pending) // an answer will be checked anyway
}

func (e *Engine) callProvider(ctx context.Context, a *approval.Approval) (ok bool, err error) {
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
	return e.cfg.Provider(ctx, req)
}

// provideAgain asks the provider about everything that was pending when the engine
// started: the process that asked before is gone.
func (e *Engine) provideAgain() {
	for _, a := range e.pending("the confirmation provider is not asked again") {
		if rules.ProviderMayAnswer(a) && !e.offer(a) {
			e.log.Warn().Int("limit", maxOffered).Msg("too many pending approvals; the confirmation provider is not asked about the newest ones again")
			return
		}
	}
}

// pending returns the pending approvals of all tasks, and their tasks, until the engine ends. An
// approval that cannot be read is left out; the log says so, and otherwise, the consequence.
func (e *Engine) pending(otherwise string) iter.Seq2[store.TaskID, *approval.Approval] {
	return func(yield func(store.TaskID, *approval.Approval) bool) {
		q := store.RowQuery{Kind: task.RowApproval, Index: task.IndexPending}
		for {
			page, err := e.store.Rows(e.ctx, store.System(), q)
			if err != nil {
				if e.ctx.Err() == nil {
					e.log.Error().Err(err).Msg("pending approvals cannot be read; " + otherwise)
				}
				return
			}
			for _, row := range page.Rows {
				a, err := readApproval(&row)
				if err != nil {
					e.log.Error().Err(err).Str("task_id", row.Task.String()).Msg("an approval cannot be read; " + otherwise)
				} else if !yield(row.Task, &a) {
					return
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				return
			}
		}
	}
}
