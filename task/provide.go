package task

import (
	"fmt"

	"a2a-server/approval"
	"a2a-server/internal/auth"
	"a2a-server/store"
	"a2a-server/tool"
)

// provide asks the configured provider about what a resting task waits for. Its
// answer is a decision like any other; whoever decides first, counts.
func (e *Engine) provide(f *fold) {
	if e.cfg.Provider == nil {
		return
	}
	for _, a := range f.pending() {
		if a.Kind != approval.KindCall || a.Elsewhere() {
			continue
		}
		e.busy.Go(func() { e.askProvider(a) })
	}
}

func (e *Engine) askProvider(a *approval.Approval) {
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
