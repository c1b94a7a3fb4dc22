package turn

import (
	"cmp"
	"context"
	"errors"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
)

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
		ts.Refused(who, id, refused.ID, refused.Barred)
	}
	if ended, is := errors.AsType[*task.StateError](err); is && ended.Decided != nil {
		refused, ok = ended.Decided, true
	}
	if ok {
		ts.NotCounted(id, cmp.Or(refused.Barred, string(refused.Reason)))
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
				ts.Refused(who, id, "", "their credential is no longer valid")
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
	return ts.Env.Append(ctx, ts.batch(d, s, nil), "", then)
}
