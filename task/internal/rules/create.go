package rules

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/view"
)

// New is a message that creates a task.
type New struct {
	ID      store.TaskID
	Message *a2a.Message // must not be changed any more
	JSON    []byte       // as [EncodeMessage] gives it
	Context *task.ReadonlyContext
	Listed  Lookup
	Session *fold.Session // of its context; nil: it is not known
	Webhook *SetWebhook   // nil: none
	Refers  []a2a.TaskID  // added to the tasks that the message refers to
}

// Create returns the draft of a new task: the message, the task and its submitted state.
func Create(r *Rules, at At, n New) (d *Draft, err error) {
	id := n.ID.String()
	defer r.guard(id, "code supplied by the application", &err)
	contextID := n.Message.ContextID
	if contextID == "" {
		contextID = r.NewID()
	}
	f := fold.NewWithText(n.ID, id, contextID)
	if n.Session != nil {
		f.Join(n.Session)
	}
	d = newDraft(r, at, f, draftBytes+len(n.JSON))
	d.accepted = n.Listed
	kept, raw, err := n.inTask(f.View)
	if err != nil {
		return d, err
	}
	if err := d.added.message(d.basis, &event.MessageReceived{Message: raw, By: n.Context.Owner()}, event.ForPlanner); err != nil {
		return d, err
	}
	f.Messages[0].Decoded = kept
	d.added = keepMailbox(d.added, d.basis, n.Context.Owner().Email)
	d.added = begin(d.added, d.basis, a2a.TaskStateSubmitted)
	if n.Webhook != nil {
		d.added, err = setWebhook(d.added, d.basis, n.Webhook, 0)
	}
	return d, cmp.Or(d.added.err, err)
}

// inTask is inTask for the message, with the tasks that it refers to.
func (n *New) inTask(v *view.View) (*a2a.Message, json.RawMessage, error) {
	m, raw := *n.Message, n.JSON
	for _, id := range n.Refers {
		if !slices.Contains(m.ReferenceTasks, id) {
			m.ReferenceTasks = append(slices.Clip(m.ReferenceTasks), id)
		}
	}
	if len(m.ReferenceTasks) > len(n.Message.ReferenceTasks) {
		var err error
		if raw, err = EncodeMessage(&m); err != nil {
			return nil, nil, fmt.Errorf("encode message: %w", err)
		}
	}
	kept, in := inTask(&m, raw, v)
	return kept, in, nil
}

// keepMailbox adds the address of the requester of a new task, if a route writes to requesters.
func keepMailbox(add additions, b basis, address string) additions {
	if address != "" && slices.ContainsFunc(b.Routes, func(r task.Route) bool { return r.Requester }) {
		add.rows = append(add.rows, store.RowChange{Kind: record.KindMailbox, Key: []byte(record.MailboxKey), IfRev: store.Any, Value: []byte(address)})
	}
	return add
}
