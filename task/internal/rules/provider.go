package rules

import (
	"time"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/record"
	"a2a-server/tool"
)

// ProviderTimeout is the [Input] of a due row of kind [record.DueProviderTimeout]: the
// confirmation provider has not answered an approval in time.
type ProviderTimeout struct{ Row store.Due }

func (in ProviderTimeout) put(add additions, b basis) (additions, error) {
	add = drop(add, in.Row)
	return openApproval(add, b, string(in.Row.Key), "the confirmation provider has not answered in time"), nil
}

// ProviderFailed is the [Input] that says that the confirmation provider has not answered
// an approval, and will not.
type ProviderFailed struct {
	Approval string // id
	Why      string // for people
	Fail     string // not empty: the call fails with it, if the approval is pending
}

func (in ProviderFailed) put(add additions, b basis) (additions, error) {
	if in.Fail != "" {
		a := b.Approval(in.Approval)
		if a == nil || a.State != approval.Pending {
			return add, ErrNoChange
		}
		add = supersede(add, b, a, in.Why)
		return notRun(add, b, b.Call(a.Call), ending{outcome: task.OutcomeError, problem: in.Fail}), nil
	}
	add = openApproval(add, b, in.Approval, in.Why)
	if add.blank() {
		return add, ErrNoChange
	}
	return add, nil
}

// openApproval ends the provider's exclusive time to decide an approval.
func openApproval(add additions, b basis, id, why string) additions {
	a := b.Approval(id)
	if a == nil || a.State != approval.Pending || a.Opened {
		return add
	}
	add.event(b, event.KindOpened, &event.ApprovalOpened{ID: id, Why: why})
	if b.offers(&a.Approval) {
		add.due = append(add.due, removed(b.silence(&a.Approval)))
	}
	return tellParked(add, b)
}

// ProviderMayAnswer reports whether a confirmation provider may answer an approval: it is
// none of the approvers that a rule names, no person, and does not know that a call may have run
// before a restoration.
func ProviderMayAnswer(a *approval.Approval) bool {
	return a.Kind == approval.KindCall && !a.Elsewhere() && a.Terms.Approvers == nil && len(a.Terms.Needs) == 0 && !a.Terms.Human && !a.OfRestoredCall()
}

// ToolProviderMayAnswer reports whether the confirmation provider of a tool may answer an approval: a
// question of a running call whether it may continue, of a kind that [ProviderMayAnswer] leaves to
// programs, and not of a destructive call.
func ToolProviderMayAnswer(a *approval.Approval) bool {
	return ProviderMayAnswer(a) && a.AskKind == string(tool.AskConfirm) && !a.Terms.Destructive
}

// providerWait is the time for which only a confirmation provider may decide an approval; 0: there
// is none that may.
func (r *Rules) providerWait(a *approval.Approval) time.Duration {
	switch own := r.ToolProviderWait[a.Tool]; {
	case own > 0 && ToolProviderMayAnswer(a):
		return own
	case ProviderMayAnswer(a):
		return r.ProviderWait
	}
	return 0
}

// offers reports whether an approval is left to a confirmation provider first.
func (r *Rules) offers(a *approval.Approval) bool { return r.providerWait(a) > 0 }

// silence is the due row for the end of the provider's time.
func (r *Rules) silence(a *approval.Approval) store.DueChange {
	return store.DueChange{Time: store.MillisOf(a.Asked.Add(r.providerWait(a))), Kind: record.DueProviderTimeout, Key: []byte(a.ID)}
}
