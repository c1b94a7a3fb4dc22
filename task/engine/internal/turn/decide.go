package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/scheduler"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/internal/rules"
)

// DecisionInput is a decision about approvals of one task, made other than by a message.
type DecisionInput struct {
	By      auth.Principal
	Via     string      // "api" or "provider"; messages come through Send
	Scope   store.Scope // with which the approvals were read
	Task    store.TaskID
	Answers []approval.Decision
	// Renew, if set, authenticates By again. It is called right before the decision is
	// committed: a credential that has been revoked by then decides nothing, and roles count
	// as they are then. Its error is returned.
	Renew Renewal
}

// Decide applies decisions. When it returns nil they are durable, and the task continues.
func (ts *Turns) Decide(ctx context.Context, d DecisionInput) error {
	_, err := ts.ChangeAs(ctx, Sender{By: d.By, Via: d.Via, Renew: d.Renew}, d.Scope, d.Task, func(by auth.Principal) rules.Input {
		return rules.Decisions{By: by, Via: d.Via, List: d.Answers}
	})
	if errors.Is(err, rules.ErrNoChange) {
		return nil
	}
	return tasklog.Translate(err)
}

// renewed is an input that authenticates its sender again right before the commit.
type renewed struct {
	rules.Input
	still func(context.Context) error
}

// still authenticates the sender of an input again, if it has one with a Renewal.
func still(ctx context.Context, in rules.Input) error {
	if r, ok := in.(renewed); ok {
		return r.still(ctx)
	}
	return nil
}

// errRenewed means that the sender of an input is another principal, or has other roles, than
// when its draft was made.
var errRenewed = errors.New("the principal has changed")

// A Renewal authenticates a caller again, with the errors of an [auth.Authenticator].
type Renewal func(context.Context) (auth.Principal, error)

// Sender is the principal that sends an input, and the proof of its identity.
type Sender struct {
	By    auth.Principal
	Via   string
	Renew Renewal // nil: By counts as it is
}

// ChangeAs is changeFresh for inputs of a principal. The rules have seen the principal as it is
// when the input is committed. It logs whom they do not let decide.
func (ts *Turns) ChangeAs(ctx context.Context, who Sender, s store.Scope, id store.TaskID, in func(auth.Principal) rules.Input) (Landed, error) {
	l, err := ts.changeRenewed(ctx, who, s, id, in)
	refused, ok := errors.AsType[*approval.Error](err)
	if ok && refused.Barred != "" {
		ts.refused(who, id, refused.ID, refused.Barred)
	}
	if ended, is := errors.AsType[*task.StateError](err); is && ended.Decided != nil {
		refused, ok = ended.Decided, true
	}
	if ok {
		ts.uncounted(id, cmp.Or(refused.Barred, string(refused.Reason)))
	}
	return l, err
}

func (ts *Turns) changeRenewed(ctx context.Context, who Sender, s store.Scope, id store.TaskID, in func(auth.Principal) rules.Input) (Landed, error) {
	if who.Renew == nil {
		return ts.changeFresh(ctx, s, id, in(who.By))
	}
	by := who.By
	for range MaxFreshen {
		input := in(by)
		l, err := ts.changeFresh(ctx, s, id, renewed{input, func(ctx context.Context) error {
			now, err := who.Renew(ctx)
			if err != nil {
				if m, is := input.(*rules.FollowUp); !is || m.Decides() {
					ts.refused(who, id, "", "their credential is no longer valid")
				}
				return err
			}
			if !now.Equal(by) {
				by = now
				return errRenewed
			}
			return nil
		}})
		if err == nil {
			ts.env.Accepted(ctx, by)
		}
		if !errors.Is(err, errRenewed) {
			return l, err
		}
	}
	return Landed{}, fmt.Errorf("%w: the roles of the caller change faster than it can decide", scheduler.ErrBusy)
}

// MaxFreshen is how often approvals are refreshed before one decision: each time, a tool
// has changed since the last time.
const MaxFreshen = 8

// changeFresh is Change for decisions: before they are applied, overdue approvals expire,
// and questions about a tool that has changed are asked again. Both are written even if
// the decision is then refused.
func (ts *Turns) changeFresh(ctx context.Context, s store.Scope, id store.TaskID, in rules.Input) (Landed, error) {
	for range MaxFreshen {
		l, err := ts.Change(ctx, s, id, in)
		if !errors.Is(err, rules.ErrStale) {
			return l, err
		}
		if err := ts.Changed(ctx, s, id, rules.Refresh{}); err != nil {
			return Landed{}, err
		}
	}
	return Landed{}, fmt.Errorf("%w: the tools change faster than their calls can be decided", scheduler.ErrBusy)
}
