package confirm

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"a2a-server/approval"
	"a2a-server/internal/strictjson"
)

// Decider returns a function that decides approvals of calls with s, for Config.Decider of a
// server. Approvals of tools without strategy are left to the client. values, if not nil, returns
// the Values of a call.
//
// The reason of a decision has only the person's feedback from a [BlockingStrategy], because
// reasons are audited and arguments are not, and all the feedback of another strategy.
func (s *Strategies) Decider(values func(context.Context, approval.Approval) map[string]any) func(context.Context, approval.Approval) (approval.Decision, error) {
	return func(ctx context.Context, a approval.Approval) (approval.Decision, error) {
		strategy := s.For(a.Tool)
		if strategy == nil || a.Kind != approval.KindCall {
			return approval.Decision{}, nil
		}
		c, err := callOf(&a)
		if err != nil {
			return approval.Decision{}, err
		}
		if values != nil {
			c.Values = values(ctx, a)
		}
		var decision Decision
		var reason string
		if blocking, ok := strategy.(*BlockingStrategy); ok {
			var answer UIResult
			decision, answer, err = blocking.ask(ctx, c)
			reason = answer.Feedback
		} else if decision, err = strategy.Run(ctx, c); decision.Feedback != nil {
			reason = *decision.Feedback
		}
		if err != nil {
			return approval.Decision{}, err
		}
		return decision.of(&a, reason)
	}
}

// callOf returns the call that an approval is for.
func callOf(a *approval.Approval) (Call, error) {
	args, err := strictjson.DecodeObject(a.Args)
	if err != nil {
		return Call{}, fmt.Errorf("decode the arguments of %s: %w", a.ID, err)
	}
	requester, err := json.Marshal(append([]string{a.Requester.Tenant, a.Requester.Subject}, a.Requester.Chain...))
	if err != nil {
		return Call{}, err
	}
	terms, err := json.Marshal(a.Terms)
	if err != nil {
		return Call{}, err
	}
	c := Call{
		ToolName: a.Tool, ToolCallID: a.Call, Params: args, Hint: a.Words(), Question: a.Ask != "",
		NoModify: !slices.Contains(a.Decisions(), approval.Edit), Requester: string(requester), Context: a.Context, Definition: a.Definition, Terms: string(terms),
	}
	if a.About != nil {
		c.Description = a.About.Description
	}
	if len(a.Payload) > 0 {
		if c.Payload, err = strictjson.Decode(a.Payload); err != nil {
			return Call{}, fmt.Errorf("decode the payload of %s: %w", a.ID, err)
		}
	}
	return c, nil
}

// of returns the decision for an approval: approve, or edit if the arguments are others than those
// of the call, or reject.
func (d *Decision) of(a *approval.Approval, reason string) (approval.Decision, error) {
	if d.ToolName != a.Tool || d.ToolCallID != nil && *d.ToolCallID != a.Call {
		return approval.Decision{}, fmt.Errorf("the strategy of %q has decided another call: %q", a.Tool, d.ToolName)
	}
	if err := d.check(); err != nil {
		return approval.Decision{}, err
	}
	out := approval.Decision{Type: approval.Reject, Reason: fit(reason)}
	if !d.Execute {
		return out, nil
	}
	final, err := strictjson.Canonical(d.FinalToolParams)
	if err != nil {
		return approval.Decision{}, err
	}
	args, err := strictjson.DecodeObject(a.Args)
	if err != nil {
		return approval.Decision{}, err
	}
	asked, err := strictjson.Canonical(args)
	if err != nil {
		return approval.Decision{}, err
	}
	if out.Type = approval.Approve; string(final) != string(asked) {
		out.Type, out.Args = approval.Edit, final
	}
	return out, nil
}

// fit returns the beginning of a text that a decision has room for, without a part of a character.
func fit(reason string) string {
	reason = strings.ToValidUTF8(reason, "\uFFFD")
	return strings.ToValidUTF8(reason[:min(len(reason), approval.MaxReason)], "")
}
