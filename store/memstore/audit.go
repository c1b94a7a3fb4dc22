package memstore

import (
	"context"
	"slices"

	"a2a-server/store"
)

func (db *DB) putAudit(id store.TaskID, entries ...[]byte) {
	for _, data := range entries {
		db.audit = append(db.audit, store.AuditEntry{N: uint64(len(db.audit)) + 1, Task: id, Data: data})
	}
}

// Audit lists audit entries; see [store.AuditLog].
func (h *handle) Audit(ctx context.Context, after uint64, limit int) ([]store.AuditEntry, error) {
	if err := h.lock(ctx); err != nil {
		return nil, err
	}
	defer h.db.mu.Unlock()
	later := h.db.audit[min(after, uint64(len(h.db.audit))):] // entry n is at n-1
	return slices.Clone(later[:min(store.PageSize(limit), len(later))]), nil
}
