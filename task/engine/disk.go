package engine

import (
	"fmt"
	"sync"
	"time"

	"a2a-server/internal/failure"
	"a2a-server/store"
	"a2a-server/task/engine/internal/env"
)

// DiskError means that no new task is accepted because of limits.disk or
// limits.disk_per_caller. These limits never refuse decisions and other messages to existing
// tasks, nor writes of existing tasks.
type DiskError struct {
	Used, Limit uint64 // in bytes
	Caller      bool   // Used and Limit count the caller's tasks; else the whole store
}

// Error names the limit and the next step.
func (e *DiskError) Error() string {
	if e.Caller {
		return fmt.Sprintf("your tasks use %d of the %d bytes of disk that they may use, so new ones are refused: have limits.disk_per_caller raised; existing tasks continue and accept decisions", e.Used, e.Limit)
	}
	return "the server's store has reached its size limit, so new tasks are refused: have limits.disk raised; existing tasks continue and accept decisions"
}

// Kind says that disk space is at its limit.
func (*DiskError) Kind() failure.Kind { return failure.DiskFull }

// diskPause is the minimum time between two log messages about a disk limit.
const diskPause = time.Minute

// diskWatch logs, not too often, that a disk limit is nearly reached. Its zero value is
// ready to use.
type diskWatch struct {
	mu            sync.Mutex
	caller, store time.Time // when it was last logged
}

// look checks the usage after a new task of a caller, or after its refusal.
func (w *diskWatch) look(e *env.Env, by store.Scope, used store.Disk) {
	limit := e.Limits.DiskBounds()
	if nearlyFull(used.Owner, limit.Owner) && w.mayLog(e, &w.caller) {
		e.Log.Warn().Str("tenant", by.TenantName()).Str("subject", by.Subject()).Uint64("used_bytes", used.Owner).Uint64("limit_bytes", limit.Owner).
			Msg("the tasks of a caller use most of limits.disk_per_caller: when it is reached, new ones are refused")
	}
	if nearlyFull(used.All, limit.All) && w.mayLog(e, &w.store) {
		e.Log.Warn().Uint64("used_bytes", used.All).Uint64("limit_bytes", limit.All).
			Msg("the store uses most of limits.disk: when it is reached, new tasks are refused")
	}
}

// nearlyFull reports whether at least 80 % of a limit is used.
func nearlyFull(used, limit uint64) bool { return limit > 0 && used >= limit/5*4 }

// mayLog reports whether something may be logged again, and if so records that it was.
func (w *diskWatch) mayLog(e *env.Env, last *time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := e.Now()
	if !last.IsZero() && now.Sub(*last) < diskPause {
		return false
	}
	*last = now
	return true
}
