package approval

import (
	"bytes"
	"encoding/json"

	"a2a-server/internal/strictjson"
)

// Matched is a decision with the approval that it is for.
type Matched struct {
	Approval *Approval
	Decision Decision
	// Settled says that the approval has been decided already, in just this way, so
	// that the answer has no effect. It need not be checked.
	Settled bool
}

// Match finds the approval of each decision among approvals, which all belong to a single task,
// oldest first. names are all calls of the task. It matches all answers or none; the error is
// then an *[Error] that lists all mistakes.
//
// [Find] reads the names. The name of a call must belong to a single call of the task, past
// and present.
//
// Two answers for the same approval have to agree, and then count as a single decision. An
// answer to an approval that is not pending is Settled if it repeats the decision, and else
// refused: as expired, replaced by another, or in conflict.
func Match(answers []Decision, approvals []*Approval, names Names) ([]Matched, error) {
	var decisions []Matched
	var errs []*Error
	place := map[*Approval]int{}
	for _, ans := range answers {
		a, err := find(ans, approvals, names)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if at, ok := place[a]; ok {
			if !merge(&decisions[at].Decision, ans) {
				errs = append(errs, Malformed(a.ID, "decide each approval once",
					Violation{Field: "id", Description: "is answered twice, differently"}))
			}
			continue
		}
		place[a] = len(decisions)
		decisions = append(decisions, Matched{Approval: a, Decision: ans})
	}
	for i := range decisions {
		d := &decisions[i]
		if d.Approval.State == Pending {
			continue
		}
		d.Approval = repeated(d.Approval, d.Decision, approvals)
		d.Settled = d.Approval.settledBy(d.Decision)
		if !d.Settled {
			errs = append(errs, d.Approval.refusal(approvals))
		}
	}
	if err := joined(errs); err != nil {
		return nil, err
	}
	return decisions, nil
}

// find is Find, and takes the other calls of the task into account.
func find(ans Decision, approvals []*Approval, names Names) (*Approval, *Error) {
	a, err := Find(ans, approvals)
	switch {
	case err != nil:
		return nil, err
	case a.ID == ans.ID || names[ans.ID] == 1:
		return a, nil
	case names[ans.ID] == 0:
		return nil, Unknown(ans.ID, approvals)
	default:
		return nil, shared(ans.ID, approvals)
	}
}

// merge adds more to ans if both agree, and reports whether they do. A message may carry a
// decision in several shapes, and not all have room for a reason, a digest or a payload, so a
// missing member is no difference.
func merge(ans *Decision, more Decision) bool {
	same := ans.Type == more.Type &&
		sameJSON(ans.Args, more.Args) &&
		sameJSON(ans.Response, more.Response) &&
		(len(ans.Payload) == 0 || len(more.Payload) == 0 || sameJSON(ans.Payload, more.Payload)) &&
		agree(ans.Reason, more.Reason) &&
		agree(ans.Digest, more.Digest) &&
		(ans.Grant == more.Grant || ans.Grant != nil && more.Grant != nil && *ans.Grant == *more.Grant)
	if same {
		ans.Reason = max(ans.Reason, more.Reason)
		ans.Digest = max(ans.Digest, more.Digest)
		if len(ans.Payload) == 0 {
			ans.Payload = more.Payload
		}
	}
	return same
}

func agree(a, b string) bool { return a == b || a == "" || b == "" }

// sameJSON reports whether a and b are the same value, however they are written.
func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	ca, errA := canonical(a)
	cb, errB := canonical(b)
	return errA == nil && errB == nil && bytes.Equal(ca, cb)
}

func canonical(raw json.RawMessage) ([]byte, error) {
	v, err := strictjson.Decode(raw)
	if err != nil {
		return nil, err
	}
	return strictjson.Canonical(v)
}

// settledBy reports whether ans repeats the end of a, which is not pending. An answer with
// another digest was meant for another question.
func (a *Approval) settledBy(ans Decision) bool {
	r := a.Resolution
	if ans.Digest != "" && ans.Digest != a.Digest && (r == nil || ans.Digest != r.Digest) {
		return false
	}
	args, response, payload := len(ans.Args) > 0, len(ans.Response) > 0, len(ans.Payload) > 0
	switch a.State {
	case Approved:
		granted := ans.Grant == nil || r != nil && r.Grant != nil && r.Grant.GrantRequest == *ans.Grant
		return ans.Type == Approve && r != nil && sameJSON(ans.Payload, r.Payload) && granted && !args && !response
	case Edited:
		return ans.Type == Edit && ans.Grant == nil && r != nil && sameJSON(ans.Args, r.Args) && !response && !payload
	case Rejected:
		return ans.Type == Reject && !args && !response && (!payload || r != nil && sameJSON(ans.Payload, r.Payload))
	case Responded:
		return ans.Type == Respond && r != nil && sameJSON(ans.Response, r.Response) && !args && !payload
	case Canceled:
		// A question that a person ended together with its call says nothing of the task.
		withTask := r == nil || r.Decision == Cancel || r.Via == ViaSystem
		return ans.Type == Cancel && withTask && !args && !response && !payload
	case Pending, Expired, Superseded:
	}
	return false
}

// refusal says why a, which is not pending, accepts no other answer.
func (a *Approval) refusal(approvals []*Approval) *Error {
	switch a.State {
	case Expired:
		return tooLate(a)
	case Superseded:
		if next := successor(a, approvals); next != nil {
			return Changed(a, next)
		}
	case Pending, Approved, Edited, Rejected, Responded, Canceled:
	}
	return Conflict(a)
}
