package task

import (
	"context"
	"encoding/json"
	"fmt"

	"a2a-server/approval"
	"a2a-server/tool"
)

// Decider decides the approval of a call within the program, before the client is asked. It gets a
// copy of the approval, and returns a decision of type approve, edit, reject or cancel, which is
// checked like that of a person: an edit needs arguments that the tool accepts, and if other terms
// apply to the edited call, a new approval is asked for. Reason is kept with the decision, and the
// planner is told of it. ID and Digest are filled in. The zero Decision leaves the approval to the
// client.
//
// It may take as long as it needs; ctx ends when the approval is decided elsewhere or the task has
// ended. An error, or a decision that the approval does not take, decides nothing. It is called
// from several goroutines, and again after a restart, with the same ID and Digest: a decider that
// asks elsewhere sends the ID as its idempotency key.
type Decider func(ctx context.Context, a approval.Approval) (approval.Decision, error)

// ProviderDecider returns the Decider that asks a provider, which approves or rejects.
func ProviderDecider(p tool.ConfirmationProvider) Decider {
	return func(ctx context.Context, a approval.Approval) (approval.Decision, error) {
		req := tool.ConfirmationRequest{
			ToolCallID: a.Call, ToolName: a.Tool, Input: string(a.Args), Hint: a.Question(),
			ApprovalID: a.ID, TaskID: a.Task, ContextID: a.Context, Digest: a.Digest, Requester: a.Requester.Subject,
		}
		if a.Payload != nil {
			if err := json.Unmarshal(a.Payload, &req.Payload); err != nil {
				return approval.Decision{}, fmt.Errorf("decode the payload: %w", err)
			}
		}
		yes, err := p(ctx, req)
		switch {
		case err != nil:
			return approval.Decision{}, err
		case yes:
			return approval.Decision{Type: approval.Approve}, nil
		}
		return approval.Decision{Type: approval.Reject}, nil
	}
}
