package rules

import (
	"encoding/json"
	"fmt"
	"time"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/record"
)

// ChildCancel is the payload of due work of kind [record.DueChildCancel].
type ChildCancel struct {
	Tool  string          `json:"tool"`
	Call  string          `json:"call"`
	State json.RawMessage `json:"state,omitempty"`
	// Kept replaces State by the state that the log has for the call at the end of its task.
	// It may be newer than the state known when the task was ended. Without a kept state,
	// there is nothing to cancel.
	Kept bool `json:"kept,omitempty"`
	Try  int  `json:"try,omitempty"`
	Down int  `json:"down,omitempty"` // tries in a row that did not find the tool
}

// How often the engine tries to cancel the work that a call has running elsewhere: so many
// times if the tool fails; if the tool cannot be looked up, for about a day.
const (
	childTries = 8
	childDown  = 100
)

// addChildCancel adds due work that cancels the remote work of a call.
func addChildCancel(add additions, b basis, c *fold.Call) additions {
	state, kept := b.Kept(c.ID)
	if !kept {
		return add
	}
	return stopChild(add, b, c, ChildCancel{State: state})
}

// stopChild adds due work that cancels the remote work of a call, with the state in p.
func stopChild(add additions, b basis, c *fold.Call, p ChildCancel) additions {
	if !hasChildren(b, c) {
		return add
	}
	p.Tool, p.Call = c.Tool, c.ID
	return cancelLater(add, b, p, 0)
}

// cancelLater adds due work that cancels the remote work of a call after a pause.
func cancelLater(add additions, b basis, p ChildCancel, pause time.Duration) additions {
	payload, err := json.Marshal(p)
	if err != nil {
		return add.failed(fmt.Errorf("encode child cancel: %w", err))
	}
	add.due = append(add.due, store.DueChange{Time: store.MillisOf(b.Now.Add(pause)), Kind: record.DueChildCancel, Key: []byte(p.Call), Payload: payload})
	return add
}

// ChildCancelResult is the result of due work of kind [record.DueChildCancel].
type ChildCancelResult struct {
	Row         store.Due
	Failed      error // nil: it was canceled
	Unreachable bool  // Failed says that the tool could not be looked up
	Nothing     bool  // there was nothing to cancel
}

func (in ChildCancelResult) put(add additions, b basis) (additions, error) {
	var p ChildCancel
	if err := json.Unmarshal(in.Row.Payload, &p); err != nil {
		return add, fmt.Errorf("decode child cancel: %w", err)
	}
	add = drop(add, in.Row)
	if in.Nothing {
		return add, nil
	}
	pause := time.Second << (p.Try + 1)
	if p.Down++; in.Unreachable {
		pause = backoff(p.Down, firstRetry, maxRetry)
	} else {
		p.Try++
		p.Down = 0
	}
	if in.Failed != nil && p.Try < childTries && p.Down < childDown {
		return cancelLater(add, b, p, pause), nil
	}
	entry := approval.Audit{What: approval.AuditCanceled, Call: p.Call, Tool: p.Tool}
	if in.Failed != nil {
		c := b.Call(p.Call)
		entry.Reason = "gave up canceling its remote work: " + redacted(c == nil || hides(b, c), in.Failed).Error()
	}
	add.record(b, entry)
	return add, nil
}
