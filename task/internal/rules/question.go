package rules

import (
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/internal/sight"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/view"
	"a2a-server/tool"
)

// question is a message that asks about approvals: as the requester and the deciders see it, and without
// what gates mask.
type question struct {
	whole, masked *a2a.Message // masked nil: no gate masks anything
}

// questionAbout returns the question about pending approvals, with the decisions elsewhere for which calls
// wait, unless that is too large; no is a message that was no answer, or nil.
func questionAbout(b basis, pending []*approval.Approval, no *a2a.Message) (*question, error) {
	waits := b.Waits()
	q, err := questionWith(b, pending, waits, no)
	if err != nil || len(waits) == 0 {
		return q, err
	}
	if size, err := q.size(); err != nil || size > b.Limits.Content() {
		return questionWith(b, pending, nil, no)
	}
	return q, nil
}

func questionWith(b basis, pending []*approval.Approval, waits []tool.Waiting, no *a2a.Message) (q *question, err error) {
	q = &question{}
	if q.whole, err = present(b, pending, waits, no); err != nil {
		return nil, fmt.Errorf("present approvals: %w", err)
	}
	all := make([]*approval.Approval, len(pending))
	keeps := b.KeepsTask()
	hides := keeps && (no != nil || len(waits) > 0)
	for i, a := range pending {
		all[i] = a.For(sight.Of(sight.Overseer, sight.Task))
		hides, keeps = hides || a.Hides(), keeps || a.Terms.MaskTask
	}
	if !hides {
		return q, nil
	}
	if keeps {
		no, waits = nil, nil // a message of the conversation, and texts about the task
	}
	if q.masked, err = present(b, all, waits, no); err != nil {
		return nil, fmt.Errorf("present masked approvals: %w", err)
	}
	q.masked.ID = q.whole.ID
	return q, nil
}

// add adds a part to both forms.
func (q *question) add(p *a2a.Part) {
	q.whole.Parts = append(q.whole.Parts, p)
	if q.masked != nil {
		q.masked.Parts = append(q.masked.Parts, p)
	}
}

// size returns the bytes of both forms.
func (q *question) size() (n int, _ error) {
	for _, m := range []*a2a.Message{q.whole, q.masked} {
		if m == nil {
			continue
		}
		raw, err := event.EncodeMessage(m)
		if err != nil {
			return 0, err
		}
		n += len(raw)
	}
	return n, nil
}

// maxRepeated is up to how many bytes a question is published again because of a vote.
const maxRepeated = 8 << 10

// tellVotes publishes the question again, with the new votes, if it is short or the state is another. Else it
// publishes how far the approvals with new votes are, as progress of their calls, so that votes take little
// of the log.
func tellVotes(add additions, b basis, state a2a.TaskState, pending []*approval.Approval) additions {
	q, err := questionAbout(b, pending, nil)
	if err != nil {
		return add.failed(err)
	}
	if size, err := q.size(); err != nil || size <= maxRepeated || state != b.View.State() {
		return publish(add, b, state, *q, nil /* own */)
	}
	for i := range add.events {
		var vote event.ApprovalVoted
		if add.events[i].Kind != event.KindVoted || json.Unmarshal(add.events[i].Data, &vote) != nil {
			continue
		}
		a := b.Approval(vote.ID)
		t := a.Tally()
		raw, err := event.EncodeValue(map[string]any{task.ProgressKey: map[string]any{"callId": a.Call, "tool": a.Tool, "done": t.Have, "total": t.Need, "message": "Votes: " + t.String()}})
		if err != nil {
			return add.failed(fmt.Errorf("encode votes: %w", err))
		}
		metadata, start := view.MergeMetadata(b.metadata(), raw), len(add.buf)
		add.buf = event.AppendStatusUpdate(add.buf, b.View.IDs(), b.View.State(), b.millis(), nil /* message */, metadata)
		add.public(b, event.KindProgress, start)
		b.View.AddProgress(metadata)
	}
	return add
}

// tell publishes a state, with the question about the pending approvals and with text, where
// present.
func tell(add additions, b basis, state a2a.TaskState, pending []*approval.Approval, text string) additions {
	switch {
	case len(pending)+len(b.Waits()) > 0:
		return askMore(add, b, state, pending, nil, text)
	case text != "":
		return say(add, b, state, b.message(text))
	}
	return say(add, b, state, nil)
}

// tellParked publishes what a parked task waits for; a running turn does so itself.
func tellParked(add additions, b basis) additions {
	if b.Header.Phase != store.Parked {
		return add
	}
	add.phase = store.Parked
	return tell(add, b, waitingState(b, b.Pending()), b.Pending(), "")
}

// askMore publishes a state with the question about everything that is pending, with text, if any, and with a
// message that was no answer, or nil.
func askMore(add additions, b basis, state a2a.TaskState, pending []*approval.Approval, no *a2a.Message, text string) additions {
	q, err := questionAbout(b, pending, no)
	if err != nil {
		return add.failed(err)
	}
	if text != "" {
		q.add(a2a.NewTextPart(text))
	}
	return publish(add, b, state, *q, nil /* own */)
}

// waitingState returns the state in which the task waits for pending, see [approval.Interrupting];
// working while all are left to the confirmation provider.
func waitingState(b basis, pending []*approval.Approval) a2a.TaskState {
	left := true
	for _, a := range pending {
		left = left && b.offers(a) && !b.Approval(a.ID).Opened && b.Now.Before(a.Asked.Add(b.providerWait(a)))
	}
	switch state := approval.Interrupting(pending); {
	case left || state == approval.WaitsWorking:
		return a2a.TaskStateWorking
	case state == approval.WaitsAuth:
		return a2a.TaskStateAuthRequired
	}
	return a2a.TaskStateInputRequired
}
