package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task/internal/rules"
)

// Decision is a decision about approvals of one task, made other than by a message.
type Decision struct {
	By      auth.Principal
	Via     string      // "api" or "provider"; messages come through Send
	Scope   store.Scope // with which the approvals were read
	Task    store.TaskID
	Answers []approval.Answer
	// Renew, if set, authenticates By again. It is called right before the decision is
	// committed: a credential that has been revoked by then decides nothing, and roles count
	// as they are then. Its error is returned.
	Renew Renewal
}

// A Renewal authenticates a caller again, with the errors of an [auth.Authenticator].
type Renewal func(context.Context) (auth.Principal, error)

// Decide applies decisions. When it returns nil they are durable, and the task
// continues. The errors are those of [Engine.Send].
func (e *Engine) Decide(ctx context.Context, d Decision) error {
	_, err := e.changeAs(ctx, decider{d.By, d.Via, d.Renew}, d.Scope, d.Task, func(by auth.Principal) rules.Input {
		return rules.Decisions{By: by, Via: d.Via, List: d.Answers}
	})
	if errors.Is(err, rules.ErrNoChange) {
		return nil
	}
	return translate(err)
}

// renewed is an input that authenticates its sender again right before the commit.
type renewed struct {
	rules.Input
	still func(context.Context) error
}

// still authenticates the sender of an input again, if a draft of it decides anything.
func still(ctx context.Context, in rules.Input, d *rules.Draft) error {
	r, ok := in.(renewed)
	if !ok || len(d.Resolved()) == 0 {
		return nil
	}
	return r.still(ctx)
}

// errRenewed means that the sender of an input is another principal, or has other roles, than
// when its draft was made.
var errRenewed = errors.New("the principal has changed")

// decider is the principal that decides, and the proof of its identity.
type decider struct {
	by    auth.Principal
	via   string
	renew Renewal // nil: by counts as it is
}

// changeAs is changeFresh for decisions of a principal. The rules have seen the principal as
// it is when the decision is committed. It logs whom they do not let decide.
func (e *Engine) changeAs(ctx context.Context, who decider, s store.Scope, id store.TaskID, in func(auth.Principal) rules.Input) (landed, error) {
	l, err := e.changeRenewed(ctx, who, s, id, in)
	if refused, ok := errors.AsType[*approval.Error](err); ok && refused.Barred != "" {
		e.tellRefused(who, id, refused.ID, refused.Barred)
	}
	return l, err
}

func (e *Engine) changeRenewed(ctx context.Context, who decider, s store.Scope, id store.TaskID, in func(auth.Principal) rules.Input) (landed, error) {
	if who.renew == nil {
		return e.changeFresh(ctx, s, id, in(who.by))
	}
	by := who.by
	for range maxFreshen {
		l, err := e.changeFresh(ctx, s, id, renewed{in(by), func(ctx context.Context) error {
			now, err := who.renew(ctx)
			if err != nil {
				e.tellRefused(who, id, "", "their credential is no longer valid")
				return err
			}
			if !sameCaller(now, by) {
				by = now
				return errRenewed
			}
			return nil
		}})
		if !errors.Is(err, errRenewed) {
			return l, err
		}
	}
	return landed{}, fmt.Errorf("%w: the roles of the caller change faster than it can decide", ErrBusy)
}

// sameCaller reports whether two principals are the same for a decision. Authenticators need
// not return roles in an order.
func sameCaller(p, q auth.Principal) bool {
	p.Expires = q.Expires
	p.Roles, q.Roles = slices.Sorted(slices.Values(p.Roles)), slices.Sorted(slices.Values(q.Roles))
	return reflect.DeepEqual(p, q)
}

// maxFreshen is how often approvals are refreshed before one decision: each time, a tool
// has changed since the last time.
const maxFreshen = 8

// changeFresh is change for decisions: before they are applied, overdue approvals expire,
// and questions about a tool that has changed are asked again. Both are written even if
// the decision is then refused.
func (e *Engine) changeFresh(ctx context.Context, s store.Scope, id store.TaskID, in rules.Input) (landed, error) {
	for range maxFreshen {
		l, err := e.change(ctx, s, id, in)
		if !errors.Is(err, rules.ErrStale) {
			return l, err
		}
		if err := e.changed(ctx, s, id, rules.Refresh{}); err != nil {
			return landed{}, err
		}
	}
	return landed{}, fmt.Errorf("%w: the tools change faster than their calls can be decided", ErrBusy)
}

// CancelCall cancels one call of a task that by may cancel, by its id or alias: see
// [rules.CancelCall]. When it returns nil that is durable, and a restart continues it.
func (e *Engine) CancelCall(ctx context.Context, by auth.Principal, id store.TaskID, call string) error {
	return translate(e.changed(ctx, ScopeFor(by, auth.Cancel), id, rules.CancelCall{By: by, Via: approval.ViaAPI, Call: call}))
}

// Cancel cancels a task that by may cancel. Canceling a canceled task again changes nothing.
func (e *Engine) Cancel(ctx context.Context, by auth.Principal, id store.TaskID) error {
	return translate(e.changed(ctx, ScopeFor(by, auth.Cancel), id, rules.Cancel{By: by}))
}
