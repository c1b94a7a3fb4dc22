package rules

import "a2a-server/approval"

// Asked returns the approvals that the draft asks for.
func (d *Draft) Asked() []*approval.Approval { return d.added.asked }

// Resolved returns the ids of the approvals that the draft resolves.
func (d *Draft) Resolved() []string { return d.added.resolved }
