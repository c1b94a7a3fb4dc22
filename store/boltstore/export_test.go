package boltstore

// Counters returns how many counters of lists there are, and how many are being
// counted.
func (db *DB) Counters() (kept, counting int) {
	db.counts.mu.Lock()
	defer db.counts.mu.Unlock()
	return len(db.counts.kept), len(db.counts.counting)
}
