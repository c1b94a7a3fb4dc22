package task

import (
	"crypto/sha256"
	"fmt"
	"time"

	"a2a-server/store"
)

// Names of a task's rows and due rows. They are on disk.
const (
	RowApproval  = "approval" // key: id of the approval; value: its JSON
	IndexPending = "pending"  // of approvals that wait; see pendingKey
	// IndexHides has the approvals whose gates mask arguments or keep the task, by the id of the task.
	IndexHides = "hides"
	// IndexSettled has the settled approvals of a tenant, IndexTool those of a tool in it, and
	// IndexDigest those of a tool and a digest; each the newest first. Approvals settled
	// before these indexes existed are in none.
	IndexSettled = "settled"
	IndexTool    = "tool"
	IndexDigest  = "digest"

	// RowState is a row of a context. Key: that of the state; value: its JSON.
	RowState = "state"

	// RowTokens has the tokens that a step of a task has used. Key: the number of the step; value:
	// the tokens, both in decimal. IndexSpent has the rows of a caller and day; see SpentPrefix.
	RowTokens  = "tokens"
	IndexSpent = "spent"

	// RowGrant is a row of an owner. Key: the id of the grant; value: its JSON. IndexGrantKey has
	// the grants that are not used up by the hash of their Store, their scope and its id, and their
	// Key, those that end last first; of grants made by earlier versions of this server it has the
	// Key alone, so no call finds them. IndexGrantID has all grants by their id, and IndexGrants
	// those of a tenant in the order in which they end.
	RowGrant      = "grant"
	IndexGrantKey = "key"
	IndexGrantID  = "id"
	IndexGrants   = "until"

	DueExpiry          = "approval.expire"   // key: id of the approval
	DueEscalate        = "approval.escalate" // likewise
	DueRemind          = "approval.remind"   // likewise
	DueProviderTimeout = "approval.silent"   // key: id of the approval; the provider's time is over
	DueWake            = "task.wake"         // key: see wake.go
	DueChildCancel     = "task.cancel_child"
)

// ToolPrefix returns the key prefix of the approvals of a tool in [IndexTool].
func ToolPrefix(tenant, tool string) []byte { return hashed(tenant, tool) }

// DigestPrefix returns the key prefix of the approvals of a tool with a digest in
// [IndexDigest].
func DigestPrefix(tenant, tool, digest string) []byte { return hashed(tenant, tool+"\x00"+digest) }

// SpentPrefix returns the key prefix in [IndexSpent] of a caller and a day, in UTC.
func SpentPrefix(tenant, subject string, at time.Time) []byte {
	return append(hashed(tenant, subject), at.UTC().Format("20060102")...)
}

// hashed returns a key prefix of a tenant and a text, which may be long.
func hashed(tenant, text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return fmt.Appendf(PendingPrefix(tenant), "%x", sum[:8])
}

// PendingPrefix returns the key prefix of a tenant's approvals in [IndexPending].
func PendingPrefix(tenant string) []byte { return fmt.Appendf(nil, "%x", store.Tenant(tenant).Key()) }

// OldPendingPrefix returns the key prefix of the older entries of all tenants. Their keys
// have no tenant and begin with a time before the year 2500. By chance, keys of a tenant
// may have the same prefix.
func OldPendingPrefix() []byte { return []byte("000001") }
