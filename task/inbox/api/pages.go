package api

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// Explain returns the problem of an error about an approval, with the approval as it is now where
// that helps. It logs the cause of an error that has none of the API's reasons.
func (s *Service) Explain(ctx context.Context, c Caller, err error, id string) *client.Error {
	return shown(s.problem(ctx, c, err, id))
}

// Listed returns an approval as lists show it.
func (s *Service) Listed(ctx context.Context, c Caller, id string) (client.Approval, error) {
	list := s.approvals(c)
	a, err := list.Get(ctx, c.By, id)
	if err != nil {
		return client.Approval{}, err
	}
	return s.listed(c, list, a, s.equals(ctx, c, list)), nil
}

// maxHistory is how many entries a call of [Service.History] looks at.
const maxHistory = 20_000

// History returns entries of the audit before a number that c may see and wanted selects, newest
// first; before 0 begins with the newest. Next of the page is the number to continue before: it may
// have fewer than limit entries, even none, while that is above 1. reach is nil if the caller sees no
// entries of approvals.
func (s *Service) History(ctx context.Context, c Caller, before uint64, limit int, wanted func(*client.AuditEntry) bool) (page client.AuditPage, reach *client.Reach, err error) {
	sight, err := engine.AuditSightOf(c.By)
	if err != nil {
		return page, nil, err
	}
	if before == 0 {
		if before, err = s.feed.last(ctx, 0); err != nil {
			return page, nil, err
		}
		before++
	}
	page.Next = before
	if c.By.May(auth.Review) == nil {
		reach = c.reach(auth.Review, "entries about")
	}
	const window = 500
	for looked := 0; page.Next > 1 && looked < maxHistory; looked += window {
		from := page.Next - 1 - min(page.Next-1, window)
		var found []client.AuditEntry
		_, err := s.cfg.Audit.EachAudit(ctx, from, func(one *engine.AuditEntry) bool {
			if one.N >= page.Next {
				return false
			}
			if e := entryOf(one); sight.Sees(&one.Audit) && wanted(&e) {
				found = append(found, e)
			}
			return true
		})
		if err != nil {
			return page, nil, err
		}
		for _, e := range slices.Backward(found) {
			if page.Items = append(page.Items, e); len(page.Items) == limit {
				page.Next = e.N
				return page, reach, nil
			}
		}
		page.Next = from + 1
	}
	return page, reach, nil
}

// TaskLog returns the public events that a task has now, as A2A StreamResponses.
func (s *Service) TaskLog(ctx context.Context, c Caller, id string) ([]json.RawMessage, error) {
	if err := c.By.May(auth.Follow); err != nil {
		return nil, err
	}
	parsed, ok := engine.ParseID(id)
	if !ok {
		return nil, task.ErrTaskNotFound
	}
	var out []json.RawMessage
	err := s.cfg.Events.Events(ctx, c.By, parsed, 0, func(events []engine.Event) error {
		for i := range events {
			out = append(out, events[i].Data)
		}
		return nil
	})
	return out, err
}

// Prompt returns what the planner has asked a language model for a step of a task: see
// [engine.Tasks.Prompt].
func (s *Service) Prompt(ctx context.Context, c Caller, id, step string) (task.Prompt, error) {
	n, err := strconv.Atoi(step)
	if err != nil {
		return task.Prompt{}, task.Invalid("step", "is not the number of a step")
	}
	return s.tasks(c).Prompt(ctx, c.By, id, n)
}

// TaskChanges calls yield with the seq of the newest event of a task, first of the existing
// events and then as more become durable. It returns when the task ends, ctx ends, or yield fails.
func (s *Service) TaskChanges(ctx context.Context, c Caller, id string, yield func(seq uint64) error) error {
	return s.taskEvents(ctx, c, id, 0, func(events []engine.Event) error {
		if len(events) == 0 {
			return nil
		}
		return yield(events[len(events)-1].Seq)
	})
}

// selects reports whether q selects a.
func (s *Service) selects(c Caller, list *engine.Approvals, q client.ApprovalQuery, a *approval.Approval) bool {
	state := client.State(a.State)
	switch {
	case q.State == settled && state == client.Pending,
		q.State != "" && q.State != settled && q.State != state,
		q.Tool != "" && q.Tool != a.Tool,
		q.Gate != "" && q.Gate != gateOf(a),
		q.Mine && list.May(c.By, a) != nil:
		return false
	}
	return true
}
