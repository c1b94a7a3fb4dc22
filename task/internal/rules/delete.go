package rules

import (
	"fmt"
	"time"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task/internal/event"
)

// Deletion returns the audit entry for the deletion of a task, and its JSON. by is the
// principal that deletes it, owner the owner of the task. The entry is written with the first
// step of the deletion, so that nothing is deleted without a record.
func Deletion(id store.TaskID, owner store.Scope, by auth.Principal, at time.Time) (Audited, []byte, error) {
	entry := approval.Audit{V: approval.AuditVersion, At: at, What: approval.AuditDeleting, Task: id.String(), Tenant: owner.TenantName(), Owner: owner.Subject(), By: by}
	data, err := event.AppendAudit(nil, &entry)
	if err != nil {
		return Audited{}, nil, fmt.Errorf("encode audit entry: %w", err)
	}
	return Audited{Audit: entry}, data, nil
}
