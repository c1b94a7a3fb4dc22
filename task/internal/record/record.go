// Package record has what tasks keep in the store beside their logs: rows and due rows, with their kinds,
// keys, indexes and values. All of it is on disk.
package record

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"time"

	"a2a-server/store"
)

// Names of a task's rows and due rows. They are on disk.
const (
	KindApproval = "approval" // key: id of the approval; value: its JSON
	// IndexPending has the pending approvals of a tenant, the oldest first, and IndexOwn those of an
	// owner. IndexDeadline has those of tenants and of owners, the least time left first.
	IndexPending  = "pending"
	IndexOwn      = "own"
	IndexDeadline = "deadline"
	// IndexEqual has the pending approvals of a tenant that ask the same, the oldest first; see EqualPrefix.
	IndexEqual = "equal"
	// IndexHides has the approvals whose gates mask arguments or keep the task, by the id of the task.
	IndexHides = "hides"
	// IndexSettled has the settled approvals of a tenant, IndexTool those of a tool in it, and
	// IndexDigest those of a tool and a digest; each the newest first.
	IndexSettled = "settled"
	IndexTool    = "tool"
	IndexDigest  = "digest"

	// KindMessage is a row of an owner: a message that has created a task. Key: the hash of the message; value:
	// the id of the task. It is removed when the server has run for an hour after the end of the task, or longer.
	KindMessage = "message"

	// KindState is a row of a context. Key: that of the state; value: its JSON.
	KindState = "state"

	// KindTokens has the tokens that a step of a task has used. Key: the number of the step; value:
	// the tokens, both in decimal. IndexSpent has the rows of a caller and day; see SpentPrefix.
	KindTokens = "tokens"
	IndexSpent = "spent"

	// KindGrant is a row of an owner. Key: the id of the grant; value: its JSON. IndexGrantKey has
	// the grants that are not used up by the hash of their Store, their scope and its id, and their
	// Key, those that end last first. IndexGrantID has all grants by their id, and IndexGrants
	// those of a tenant in the order in which they end.
	KindGrant     = "grant"
	IndexGrantKey = "key"
	IndexGrantID  = "id"
	IndexGrants   = "until"

	DueExpiry          = "approval.expire"   // key: id of the approval
	DueEscalate        = "approval.escalate" // likewise
	DueRemind          = "approval.remind"   // likewise
	DueProviderTimeout = "approval.silent"   // key: id of the approval; the provider's time is over
	DueWake            = "task.wake"         // key: see wake.go
	DueLook            = "task.look"         // key: id of a suspended call, which its tool looks at
	DueChildCancel     = "task.cancel_child"
)

// MessageTask returns the task in a row of kind [KindMessage].
func MessageTask(row *store.Row) (id store.TaskID) {
	copy(id[:], row.Value)
	return id
}

// LookTime is the time of all rows of kind [DueLook]: they come before all others, so that work that is
// due need not read them.
const LookTime store.Millis = 1

// ToolPrefix returns the key prefix of the approvals of a tool in [IndexTool].
func ToolPrefix(tenant, tool string) []byte { return hashed(tenant, tool) }

// DigestPrefix returns the key prefix of the approvals of a tool with a digest in
// [IndexDigest].
func DigestPrefix(tenant, tool, digest string) []byte { return hashed(tenant, tool+"\x00"+digest) }

// EqualPrefix returns the key prefix of the approvals of a tool with a digest in [IndexEqual], of those that
// hide something or of the others: equality tells hidden values.
func EqualPrefix(tenant, tool, digest string, hides bool) []byte {
	if hides {
		digest += "\x00hides"
	}
	sum := sha256.Sum256([]byte(tool + "\x00" + digest))
	return fmt.Appendf(PendingPrefix(tenant), "%x", sum)
}

// SpentPrefix returns the key prefix in [IndexSpent] of a caller and a day, in UTC.
func SpentPrefix(tenant, subject string, at time.Time) []byte {
	return append(hashed(tenant, subject), at.UTC().Format("20060102")...)
}

// hashed returns a key prefix of a tenant and a text, which may be long.
func hashed(tenant, text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return fmt.Appendf(PendingPrefix(tenant), "%x", sum[:8])
}

// PendingPrefix returns the key prefix of a tenant's approvals in [IndexPending] and [IndexDeadline].
func PendingPrefix(tenant string) []byte { return ScopePrefix(store.Tenant(tenant)) }

// IndexTime returns the time at the end of a key in [IndexPending]; false: it has none.
func IndexTime(key []byte) (time.Time, bool) {
	at, err := strconv.ParseInt(string(key[max(0, len(key)-16):]), 16, 64)
	return store.Millis(at).Time(), err == nil
}

// ScopePrefix returns the key prefix of the approvals of a tenant or an owner in [IndexDeadline],
// and in [IndexPending] or [IndexOwn].
func ScopePrefix(s store.Scope) []byte { return fmt.Appendf(nil, "%x", s.Key()) }
