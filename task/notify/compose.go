package notify

import (
	"context"
	"encoding/json"
	"fmt"

	"a2a-server/approval"
	"a2a-server/internal/sight"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/record"
)

// message returns the message of a job, or nil if nobody is to get it: its approval is gone, it
// says that the approval waits, and the approval has ended or is overdue, or it is for a requester whose
// address is not known.
func (p *Pump) message(ctx context.Context, r *Route, j *job) (*Message, error) {
	rows, err := p.cfg.Store.Rows(ctx, store.System(), store.RowQuery{Kind: record.KindApproval, Task: j.row.Task, Key: []byte(j.n.Approval)})
	if err != nil {
		return nil, fmt.Errorf("read approval %s: %w", j.n.Approval, err)
	}
	if len(rows.Rows) == 0 {
		return nil, nil //nolint:nilnil // see above
	}
	var a approval.Approval
	if row := &rows.Rows[0]; row.Damaged || json.Unmarshal(row.Value, &a) != nil || a.CheckVersion() != nil {
		return nil, fmt.Errorf("read approval %s: %w", j.n.Approval, store.ErrDataLoss)
	}
	seen := a.For(sight.Of(sight.Route, sight.Message))
	m := &Message{
		ID: record.NotificationID(j.row.Key), Event: EventAsked, Route: r.Name, At: j.n.At.Time(),
		Task: a.Task, Context: a.Context, Approval: a.ID, Tool: a.Tool, Hint: seen.Summary(), Risk: string(a.Risk()), Requester: a.Requester.Subject,
		Link: p.link(a.ID),
	}
	if r.Arguments {
		m.Hint, m.Args, m.Digest = seen.Question(), seen.Args, seen.Digest
	}
	if r.Requester {
		if m.To, err = p.mailbox(ctx, j.row.Task); err != nil || m.To == "" {
			return nil, err
		}
	}
	if a.Deadline != nil {
		m.Expires = *a.Deadline
	}
	if j.n.Event != task.NotifyResolved {
		if a.State != approval.Pending || approval.Overdue(&a, p.box.Now()) {
			return nil, nil //nolint:nilnil // see above
		}
		m.Event = "approval." + j.n.Event
		if j.n.Event == task.NotifyEscalated {
			m.Roles = a.Terms.Escalate.AddRoles
		}
		return m, nil
	}
	m.Event, m.State = EventResolved, string(a.State)
	if of := a.Resolution; of != nil {
		m.By, m.Reason = of.By.Subject, of.Reason
	}
	return m, nil
}

// mailbox returns the address of the requester of a task; "": it is not known.
func (p *Pump) mailbox(ctx context.Context, id store.TaskID) (string, error) {
	rows, err := p.cfg.Store.Rows(ctx, store.System(), store.RowQuery{Kind: record.KindMailbox, Task: id, Key: []byte(record.MailboxKey)})
	switch {
	case err != nil:
		return "", fmt.Errorf("read the requester's address: %w", err)
	case len(rows.Rows) == 0:
		return "", nil
	case rows.Rows[0].Damaged:
		return "", fmt.Errorf("read the requester's address: %w", store.ErrDataLoss)
	}
	return string(rows.Rows[0].Value), nil
}

func (p *Pump) link(id string) string {
	if p.cfg.Link == nil {
		return ""
	}
	return p.cfg.Link(id)
}
