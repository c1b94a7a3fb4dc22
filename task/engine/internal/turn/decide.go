package turn

import (
	"cmp"
	"context"
	"errors"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
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
	Already []bool // see [rules.Decisions]
	// Renew, if set, authenticates By again. It is called right before the decision is
	// committed: a credential that has been revoked by then decides nothing, and roles count
	// as they are then. Its error is returned.
	Renew Renewal
}

// Decide applies decisions. When it returns nil they are durable, and the task continues.
func (ts *Turns) Decide(ctx context.Context, d DecisionInput) error {
	_, err := ts.ChangeAs(ctx, Sender{By: d.By, Via: d.Via, Renew: d.Renew}, d.Scope, d.Task, func(by auth.Principal) (rules.Input, error) {
		return rules.Decisions{By: by, Via: d.Via, List: d.Answers, Already: d.Already}, nil
	})
	if errors.Is(err, rules.ErrNoChange) {
		return nil
	}
	return tasklog.Translate(err)
}

// A Renewal authenticates a caller again, with the errors of an [auth.Authenticator].
type Renewal func(context.Context) (auth.Principal, error)

// Sender is the principal that sends an input, and the proof of its identity.
type Sender struct {
	By    auth.Principal
	Via   string
	Renew Renewal // nil: By counts as it is
}

// ChangeAs applies an input of a principal, like [Turns.Change]. input makes it, for the principal as
// it is at the commit. ChangeAs logs whom the rules do not let decide.
func (ts *Turns) ChangeAs(ctx context.Context, who Sender, s store.Scope, id store.TaskID, input func(auth.Principal) (rules.Input, error)) (Landed, error) {
	l, err := ts.change(ctx, who, s, id, input)
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

// errRenewed means that the sender of an input is another principal, or has other roles, than
// when its draft was made.
var errRenewed = errors.New("the principal has changed")

// proof authenticates the sender of an input again; now gets the sender if it has changed. Nil: the
// sender counts as it is.
func (ts *Turns) proof(who Sender, id store.TaskID, in rules.Input, by auth.Principal, now *auth.Principal) func(context.Context) error {
	if who.Renew == nil {
		return nil
	}
	return func(ctx context.Context) (err error) {
		if *now, err = who.Renew(ctx); err != nil {
			if m, is := in.(*rules.FollowUp); !is || m.Decides() {
				ts.refused(who, id, "", "their credential is no longer valid")
			}
			return err
		}
		if !now.Equal(by) {
			return errRenewed
		}
		return nil
	}
}

// commit appends a draft, after proof, the last word on the rights of its sender. It is nil for an
// input without a sender. then gets the outcome in each case.
func (ts *Turns) commit(ctx context.Context, s store.Scope, d *rules.Draft, proof func(context.Context) error, then func(store.Receipt, error)) (store.Receipt, error) {
	if proof != nil {
		if err := proof(ctx); err != nil {
			then(store.Receipt{}, err)
			return store.Receipt{}, err
		}
	}
	return ts.env.Append(ctx, ts.batch(d, s, nil), "", then)
}
