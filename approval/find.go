package approval

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Find returns the approval that ans names among approvals, which all belong to a single task,
// oldest first. No other function reads names: dialects call it to learn the subject of an
// answer, [Match] to decide. Match also knows the calls that were never asked about ([Names]),
// and refuses a name that they share.
//
// The id of an approval always names it. With ByCall, the name of a call may stand for it,
// because some dialects ask by the call. That name is weak: callers choose it, and it stays
// the same for successive questions about the call. So it stands only for the question whether
// the call may run:
//
//   - It finds the approval of [KindCall] of its call, when exactly one is pending and
//     the call was never decided on before.
//   - When the call was decided on, it finds the newest decided approval, so that the
//     answer can repeat that decision, or conflict with it.
//   - When an approval of the call was replaced, it is refused with [Changed]: the new
//     question was not shown under this name.
//   - A name of several calls is refused, and so is the name of a call that only has
//     questions of other kinds.
//   - The name of a call that was planned before a restoration from a backup does not find an
//     approval that was asked after it: the decision may be from the time that was lost.
//   - An alias in the form of our own ids finds nothing; see [LooksLikeOurID].
func Find(ans Decision, approvals []*Approval) (*Approval, *Error) {
	if ans.ID == "" {
		return nil, Unknown(ans.ID, approvals)
	}
	for _, a := range approvals {
		if a.ID == ans.ID {
			return a, nil
		}
	}
	if !ans.ByCall {
		return nil, Unknown(ans.ID, approvals)
	}
	call, err := callNamed(ans.ID, approvals)
	if err != nil {
		return nil, err
	}
	return ofCall(ans.ID, call, approvals)
}

// callNamed returns the id of the only call with this name.
func callNamed(name string, approvals []*Approval) (string, *Error) {
	call := ""
	for _, a := range approvals {
		if a.Call == call || a.Call != name && a.Alias != name {
			continue
		}
		if call != "" {
			return "", shared(name, approvals)
		}
		call = a.Call
	}
	if call == "" || call != name && LooksLikeOurID(name) {
		return "", Unknown(name, approvals)
	}
	return call, nil
}

// ofCall returns the approval that the call with this name stands for.
func ofCall(name, call string, approvals []*Approval) (*Approval, *Error) {
	var pending []*Approval
	var decided, other *Approval // the newest of each
	for _, a := range approvals {
		switch {
		case a.Call != call:
		case a.Kind != KindCall:
			other = a
		case a.Supersedes != "":
			return nil, replaced(name, predecessor(a, approvals), approvals)
		case a.State == Superseded:
			return nil, replaced(name, a, approvals)
		case a.OfRestoredCall():
			return nil, NotAllowed(a, fmt.Sprintf("%s names a call from before the restoration of the server from a backup; answer by the id of the approval", quote(name)))
		case a.State == Pending:
			pending = append(pending, a)
		default:
			decided = a
		}
	}
	switch {
	case decided != nil:
		return decided, nil
	case len(pending) == 1:
		return pending[0], nil
	case len(pending) > 1:
		return nil, Malformed(name, "answer by the id of an approval: "+strings.Join(pendingIDs(pending), ", "),
			Violation{Field: "id", Description: "names a call with several open questions"})
	}
	return nil, NotAllowed(other, fmt.Sprintf("%s names the call, which only answers whether it may run, and something else is asked; answer by the id of the approval",
		quote(name)))
}

// repeated returns the decided approval of the same call as a that ans repeats; else a, which
// was found by the name of its call. A call may have several decided approvals: about its
// start, and about questions while it ran.
func repeated(a *Approval, ans Decision, approvals []*Approval) *Approval {
	if ans.ID == a.ID || a.settledBy(ans) {
		return a
	}
	for _, b := range slices.Backward(approvals) {
		if b.Call == a.Call && b.Kind == KindCall && b.settledBy(ans) {
			return b
		}
	}
	return a
}

// successor returns the approval that replaced a, or nil.
func successor(a *Approval, approvals []*Approval) *Approval {
	if i := slices.IndexFunc(approvals, func(b *Approval) bool { return b.Supersedes == a.ID }); i >= 0 {
		return approvals[i]
	}
	return nil
}

// predecessor returns the approval that a has replaced; a itself when that is not there.
func predecessor(a *Approval, approvals []*Approval) *Approval {
	if i := slices.IndexFunc(approvals, func(b *Approval) bool { return b.ID == a.Supersedes }); i >= 0 {
		return approvals[i]
	}
	return a
}

// replaced returns the error for the name of a call whose question has been replaced.
func replaced(name string, a *Approval, approvals []*Approval) *Error {
	newest := a
	for range approvals { // no chain is longer
		next := successor(newest, approvals)
		if next == nil {
			break
		}
		newest = next
	}
	if newest == a {
		return Conflict(a)
	}
	e := Changed(a, newest)
	ids := pendingIDs(approvals)
	e.Message = fmt.Sprintf("approval %s was replaced by %s, because its question or its terms have changed, so that %s names neither; look again, and %s",
		a.ID, newest.ID, quote(name), answerPending(ids))
	maps.Copy(e.Metadata, meta(metaPending, strings.Join(ids, ",")))
	return e
}

// shared returns the error for a name of several calls of the task. A guess could approve a
// call that the decider has not seen.
func shared(name string, approvals []*Approval) *Error {
	return Malformed(name, answerPending(pendingIDs(approvals)),
		Violation{Field: "id", Description: "is the name of several calls of this task, so it is ambiguous"})
}

// answerPending says how to continue, by ids.
func answerPending(ids []string) string {
	if len(ids) == 0 {
		return "no approval of this task is pending: read the task for its current state"
	}
	return "answer a pending one by its id: " + strings.Join(ids, ", ")
}
