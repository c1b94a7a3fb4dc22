package task

import (
	"fmt"
	"time"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task/internal/event"
)

// Deletion returns the audit entry of the deletion of an owner's task by somebody, and its JSON. It
// is written with the first step of the deletion: what is gone without it, nobody could account
// for.
func Deletion(id store.TaskID, owner store.Scope, by auth.Principal, at time.Time) (Audited, []byte, error) {
	entry := approval.Audit{V: approval.AuditVersion, At: at, What: approval.AuditDeleting, Task: id.String(), Tenant: owner.TenantName(), Owner: owner.Subject(), By: by}
	data, err := event.AppendAudit(nil, &entry)
	if err != nil {
		return Audited{}, nil, fmt.Errorf("encode audit entry: %w", err)
	}
	return Audited{Audit: entry}, data, nil
}
