package task

import (
	"encoding/json"
	"fmt"
	"sync"

	"a2a-server/approval"
	"a2a-server/internal/auth"
	"a2a-server/store"
	"a2a-server/tool"
)

// maxProviding is how many approvals a provider is asked about at a time.
const maxProviding = 64

// providing is what the provider is being asked about.
type providing struct {
	slots chan struct{} // holds a token for each call of the provider

	mu  sync.Mutex
	ids map[string]bool // approvals, also those that wait for a slot
}

func (p *providing) init() {
	p.slots = make(chan struct{}, maxProviding)
	p.ids = map[string]bool{}
}

// begin reports whether an approval is not among them yet, and adds it.
func (p *providing) begin(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ids[id] {
		return false
	}
	p.ids[id] = true
	return true
}

func (p *providing) end(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.ids, id)
}

// provide asks the configured provider about what a resting task waits for. Its
// answer is a decision like any other; whoever decides first, counts.
func (e *Engine) provide(f *fold) {
	if e.cfg.Provider == nil {
		return
	}
	for _, a := range f.pending() {
		if provided(a) {
			e.busy.Go(func() { e.askProvider(a) })
		}
	}
}

// provideAgain asks the provider about everything that was pending when the engine
// started: whoever asked it before is gone.
func (e *Engine) provideAgain() {
	cursor := ""
	for {
		page, err := e.store.Rows(e.ctx, store.System(), store.RowQuery{Kind: rowApproval, Index: indexPending, Cursor: cursor})
		if err != nil {
			if e.ctx.Err() == nil {
				e.log.Error().Err(err).Msg("pending approvals cannot be read; the confirmation provider is not asked about them again")
			}
			return
		}
		var asked sync.WaitGroup
		for _, row := range page.Rows {
			a := &approval.Approval{}
			if err := json.Unmarshal(row.Value, a); err != nil {
				e.log.Error().Err(err).Str("task_id", row.Task.String()).Msg("an approval cannot be read; the confirmation provider is not asked about it again")
				continue
			}
			if provided(a) {
				asked.Go(func() { e.askProvider(a) })
			}
		}
		// A page at a time, so that what waits for the provider stays on disk.
		asked.Wait()
		if cursor = page.Next; cursor == "" {
			return
		}
	}
}

// provided reports whether an approval is the provider's to answer.
func provided(a *approval.Approval) bool { return a.Kind == approval.KindCall && !a.Elsewhere() }

// askProvider asks about one approval, unless that is being done, and decides.
func (e *Engine) askProvider(a *approval.Approval) {
	if !e.providing.begin(a.ID) {
		return
	}
	defer e.providing.end(a.ID)
	select {
	case e.providing.slots <- struct{}{}:
		defer func() { <-e.providing.slots }()
	case <-e.ctx.Done():
	}
	if e.ctx.Err() != nil {
		return // the next process asks
	}
	ok, err := e.callProvider(a)
	if err != nil {
		// Doubt means ask: it stays pending, for somebody else to answer.
		e.log.Warn().Err(err).Str("approval_id", a.ID).Msg("confirmation provider failed; the approval stays pending")
		return
	}
	id, _ := store.ParseTaskID(a.Task)
	verb := approval.Reject
	if ok {
		verb = approval.Approve
	}
	by := auth.Principal{Tenant: a.Requester.Tenant, Subject: "confirmation provider", Method: "provider"}
	if err := e.Decide(e.ctx, Decision{By: by, Via: "provider", Scope: store.System(), Task: id, Answers: []approval.Answer{{ID: a.ID, Verb: verb, Digest: a.Digest}}}); err != nil && e.ctx.Err() == nil {
		e.log.Info().Err(err).Str("approval_id", a.ID).Msg("decision of the confirmation provider did not count")
	}
}

func (e *Engine) callProvider(a *approval.Approval) (ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			ok, err = false, fmt.Errorf("panic: %v", p)
		}
	}()
	req := tool.ConfirmationRequest{ToolCallID: a.Call, ToolName: a.Tool, Input: string(a.Args)}
	if a.Ask != "" { // declarative confirmation has neither
		req.Hint, req.Payload = a.Hint, a.Payload
	}
	return e.cfg.Provider(e.ctx, req)
}
