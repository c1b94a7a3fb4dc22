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

	DueExpiry          = "approval.expire" // key: id of the approval
	DueProviderTimeout = "approval.silent" // likewise: its provider has had its time
	DueWake            = "task.wake"       // key: see wake.go
	DueChildCancel     = "task.cancel_child"
)

// pendingKey is where an approval stands in [IndexPending]: by tenant, and by the time it
// was asked at, so that those of a tenant are together. Both are in hexadecimal. Older
// entries have the time alone, in the same 16 digits.
func pendingKey(owner auth.Principal, asked store.Millis) store.IndexKey {
	return store.IndexKey{Index: IndexPending, Key: fmt.Appendf(PendingPrefix(owner.Tenant), "%016x", uint64(asked))}
}

// PendingPrefix returns what the entries of a tenant's approvals in [IndexPending] begin with.
func PendingPrefix(tenant string) []byte { return fmt.Appendf(nil, "%x", store.Tenant(tenant).Key()) }

// OldPendingPrefix returns what the older entries of all tenants begin with, which have no
// tenant: a time until the year 2500. Entries of a tenant may begin so, too, by chance.
func OldPendingPrefix() []byte { return []byte("000001") }
