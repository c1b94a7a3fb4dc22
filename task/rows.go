package task

import (
	"fmt"

	"a2a-server/auth"
	"a2a-server/store"
)

// Names of a task's rows and due rows. They are on disk.
const (
	RowApproval  = "approval" // key: id of the approval; value: its JSON
	IndexPending = "pending"  // of approvals that wait; see pendingKey

	DueExpiry  = "approval.expire" // key: id of the approval
	DueSilence = "approval.silent" // likewise: its provider has had its time
	DueWake    = "task.wake"       // key: see wake.go
	DueChild   = "task.cancel_child"
)

// pendingKey is where an approval stands in [IndexPending]: by tenant, and by the time it
// was asked at, so that those of a tenant are together. Both are in hexadecimal. Older
// entries have the time alone, in the same 16 digits: a reader of one tenant's finds them
// before any of those, because no tenant's key begins with zeros but by chance.
func pendingKey(owner auth.Principal, asked store.Millis) store.IndexKey {
	return store.IndexKey{Index: IndexPending, Key: fmt.Appendf(nil, "%x%016x", store.Tenant(owner.Tenant).Key(), uint64(asked))}
}
