package rules

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"a2a-server/approval"
	"a2a-server/task/internal/fold"
	"a2a-server/tool"
)

// askHeld is the prefix of the Ask of a question that holds its call.
const askHeld = "held."

// Held is the [Input] with a question of a running tool that waits for the answer
// ([tool.AskAndWait]). The call stays running: the waiting goroutine is in its process, so
// only that process can pass on the answer.
type Held struct {
	Entry *Execution
	Ask   tool.Question

	// Approval and Refused are set by the rules: the id of the approval, or why there is
	// none.
	Approval string
	Refused  error
}

func (in *Held) put(add additions, b basis) (additions, error) {
	in.Approval, in.Refused = "", nil
	c := b.Call(in.Entry.Call)
	switch {
	case c == nil || c.State != fold.CallRunning:
		in.Refused = errors.New("the call has ended")
		return add, nil
	case c.Canceled:
		in.Refused = errors.New(canceledCall)
		return add, nil
	case c.Held != "":
		in.Refused = errors.New("the call is already waiting for another answer")
		return add, nil
	}
	var a *approval.Approval
	if a, in.Refused = heldAsk(b, c, in); in.Refused != nil {
		return add, nil //nolint:nilerr // the question is refused, not the draft
	}
	add = ask(add, b, a)
	in.Approval = a.ID
	return add, nil
}

// heldAsk builds the approval of a question that holds a call. It has a deadline, and leaves
// the reserve of the log for input that is always accepted.
func heldAsk(b basis, c *fold.Call, in *Held) (*approval.Approval, error) {
	n := 1
	for _, a := range b.Approvals {
		if a.Call == c.ID && strings.HasPrefix(a.Ask, askHeld) {
			n++
		}
	}
	made, err := toolApprovals(b, c, in.Entry, []ToolQuestion{{ID: fmt.Sprintf("%s%d", askHeld, n), Question: in.Ask}})
	if err != nil {
		return nil, err
	}
	a := made[0]
	if a.Kind != approval.KindQuestion {
		return nil, fmt.Errorf("the tool asks a question of kind %q and waits; use question, form or auth", in.Ask.Kind)
	}
	a.Held = true
	limit := b.Limits.HeldTime
	if t := &a.Terms; t.Expires <= 0 || t.Expires > limit || t.OnExpiry == approval.ExpiryKeeps {
		t.Expires, t.OnExpiry = limit, approval.ExpiryRejects
		deadline := a.Asked.Add(limit).Truncate(time.Millisecond)
		a.Deadline = &deadline
	}
	return a, fitsInto(b, openRoom(b), a)
}

// Withdrawn is the [Input] that says that a call does not wait any longer for the answer to
// a question that holds it. If that was answered before, nothing changes.
type Withdrawn struct {
	Approval string // id
	Why      string
}

func (in Withdrawn) put(add additions, b basis) (additions, error) {
	return withdraw(add, b, in.Approval, in.Why), nil
}
