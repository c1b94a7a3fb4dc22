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

	// RowState is a row of a context. Key: that of the state; value: its JSON.
	RowState = "state"

	DueExpiry          = "approval.expire" // key: id of the approval
	DueProviderTimeout = "approval.silent" // key: id of the approval; the provider's time is over
	DueWake            = "task.wake"       // key: see wake.go
	DueChildCancel     = "task.cancel_child"
)

// pendingKey is the key of an approval in [IndexPending]: the tenant, then the time when
// it was requested, so that those of a tenant are together. Both are in hexadecimal.
// Older entries have the time alone, in the same 16 digits.
func pendingKey(owner auth.Principal, asked store.Millis) store.IndexKey {
	return store.IndexKey{Index: IndexPending, Key: fmt.Appendf(PendingPrefix(owner.Tenant), "%016x", uint64(asked))}
}

// PendingPrefix returns the key prefix of a tenant's approvals in [IndexPending].
func PendingPrefix(tenant string) []byte { return fmt.Appendf(nil, "%x", store.Tenant(tenant).Key()) }

// OldPendingPrefix returns the key prefix of the older entries of all tenants. Their keys
// have no tenant and begin with a time before the year 2500. By chance, keys of a tenant
// may have the same prefix.
func OldPendingPrefix() []byte { return []byte("000001") }
