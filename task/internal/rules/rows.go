package rules

import (
	"fmt"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
)

// pendingKey is the key of an approval in [task.IndexPending]: the tenant, then the time of the
// request, so that the approvals of a tenant are together. Both are in hexadecimal. Older keys
// have the time alone, in the same 16 digits.
func pendingKey(owner auth.Principal, asked store.Millis) store.IndexKey {
	return store.IndexKey{Index: task.IndexPending, Key: fmt.Appendf(task.PendingPrefix(owner.Tenant), "%016x", uint64(asked))}
}

// settledKeys are the keys of a settled approval in [task.IndexSettled], [task.IndexTool] and
// [task.IndexDigest].
func settledKeys(owner auth.Principal, a *approval.Approval) []store.IndexKey {
	newest := ^uint64(0) - uint64(store.MillisOf(a.Resolution.At))
	key := func(index string, prefix []byte) store.IndexKey {
		return store.IndexKey{Index: index, Key: fmt.Appendf(prefix, "%016x", newest)}
	}
	return []store.IndexKey{
		key(task.IndexSettled, task.PendingPrefix(owner.Tenant)),
		key(task.IndexTool, task.ToolPrefix(owner.Tenant, a.Tool)),
		key(task.IndexDigest, task.DigestPrefix(owner.Tenant, a.Tool, a.Digest)),
	}
}
