package rules

import (
	"context"
	"fmt"
	"time"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/task/internal/fold"
)

// AskAnew is the [Input] that asks a pending approval of a call that has not begun again, on its terms and
// those of the present gates, without its votes. It needs the same permission as a decision, and is refused
// where the gates demand nothing more.
type AskAnew struct {
	By        auth.Principal
	Via       string  // a Via constant of package approval
	Approval  string  // id
	Digest    string  // that was shown
	Successor *string // gets the id of the new approval
}

func (in AskAnew) put(add additions, b basis) (additions, error) {
	a, by, err := permitted(b, in.Approval, in.Digest, b.decider(in.By, in.Via))
	if err != nil {
		return add, err
	}
	add.decider = by
	refuse := func(why string) error { return approval.NotAllowed(&a.Approval, why) }
	if in.Via == approval.ViaProvider || !mayBeAnew(b.Fold, a) {
		return add, refuse("only the question whether a call may begin can be asked anew, by a person; decide it as it is")
	}
	c, l := b.Call(a.Call), lookOf(b, &a.Approval)
	switch {
	case l.trouble != nil:
		return add, refuse("its tool cannot be reached now, so that its gates are not known: try again later")
	case outdated(b, &a.Approval, &l):
		return add, ErrStale
	}
	x, room := examine(b, c, l, c.Args, false /* open */), openRoom(b)
	if x.invalid != nil {
		return add, refuse("its call is not valid any more: reject it; it would be stopped")
	}
	if x.verdict.Action == approval.ActionDeny {
		return add, refuse("a gate denies the call now: reject it; it would be stopped")
	}
	if len(stricter(a, &x.verdict).Beyond(a.Terms)) == 0 {
		return add, refuse("its gates demand nothing more now; decide it as it is")
	}
	keepTerms(a, &x.verdict)
	add = resolve(add, b, a, approval.Superseded, approval.Resolution{By: in.By, Via: in.Via, At: b.Now, Reason: "asked anew, because its gates demand more now"})
	asked := len(b.Approvals)
	add = askCall(add, b, c, &x, a.ID)
	if len(b.Approvals) == asked { // the call has ended instead
		return add, refuse("the question cannot be shown on these terms; decide it as it is")
	}
	add = tellParked(add, b)
	if n := add.size(); n > room {
		return add, refuse(fmt.Sprintf("asking it anew takes %d bytes, and the log of the task has room for %d more beside decisions and results; decide it as it is", n, max(room, 0)))
	}
	*in.Successor = b.Approvals[asked].ID
	return add, nil
}

// mayBeAnew reports whether an approval asks whether a call may begin.
func mayBeAnew(f *fold.Fold, a *fold.Approval) bool {
	c := f.Call(a.Call)
	return a.State == approval.Pending && a.Kind == approval.KindCall && a.Ask == "" && c.Attempt == 0 && c.Cause == "" && !c.Paused
}

// Stricter returns what the gates demand beyond the terms of a pending approval, in words; empty: it cannot
// be asked anew. Hooks have no say: [AskAnew] asks them.
func Stricter(ctx context.Context, r *Rules, f *fold.Fold, id string, now time.Time) (more []string) {
	var err error // reported
	defer r.guard(f.View.TaskID(), "code supplied by the application", &err)
	b := basis{r, &At{Ctx: ctx, Now: now.UTC()}, f}
	a := f.Approval(id)
	if a == nil || !mayBeAnew(b.Fold, a) {
		return nil
	}
	l := lookOf(b, &a.Approval)
	if outdated(b, &a.Approval, &l) {
		return nil // it is asked again before it is decided
	}
	x := judged(b, f.Call(a.Call), l)
	return stricter(a, &x.verdict).Beyond(a.Terms)
}
