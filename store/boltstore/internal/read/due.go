package read

import (
	"bytes"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/layout"
)

// Due returns a page of due rows after a position, and the time of the first row after it.
func Due(tx *bolt.Tx, now store.Millis, after store.DuePosition, limit int) (due []store.Due, next store.Millis, err error) {
	var at []byte
	if after != "" {
		at = []byte(after)
	}
	err = scan(tx.Bucket(layout.BucketDue).Cursor(), nil, at, func(k, v []byte) (bool, error) {
		d := layout.DecodeDue(k, v)
		// The time of a damaged row may itself be damaged: it says nothing about later
		// rows, and no page ends with it, so that the next page begins where it should.
		if d.Damaged && d.Time > now {
			return false, nil
		}
		if d.Time > now || len(due) >= limit && !due[len(due)-1].Damaged {
			next = d.Time
			return true, nil
		}
		due = append(due, d)
		return false, nil
	})
	return due, next, err
}

// Audit returns up to limit audit entries with a number above after.
func Audit(tx *bolt.Tx, after uint64, limit int) (entries []store.AuditEntry, err error) {
	err = scan(tx.Bucket(layout.BucketAudit).Cursor(), nil, layout.U64(after), func(k, v []byte) (bool, error) {
		// No page ends with a damaged entry: its number may itself be damaged.
		if len(entries) >= limit && !entries[len(entries)-1].Damaged {
			return true, nil
		}
		entry := store.AuditEntry{N: layout.ReadU64(k), Damaged: true}
		if v, err := layout.Unseal(layout.BucketAudit, k, v); err == nil && len(v) >= 16 {
			entry.Task, entry.Data, entry.Damaged = store.TaskID(v[:16]), bytes.Clone(v[16:]), false
		}
		entries = append(entries, entry)
		return false, nil
	})
	return entries, err
}
