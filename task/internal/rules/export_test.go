package rules

import (
	"a2a-server/approval"
	"a2a-server/task/internal/event"
)

// Asked returns the approvals that the draft asks for, oldest first.
func (d *Draft) Asked() []*approval.Approval {
	asked := 0
	for _, e := range d.added.events {
		if e.Kind == event.KindAsked {
			asked++
		}
	}
	all := d.Fold().AllApprovals()
	return all[len(all)-asked:]
}

// Resolved returns the ids of the approvals that the draft resolves.
func (d *Draft) Resolved() []string { return d.added.resolved }
