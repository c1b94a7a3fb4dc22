package boltstore

// Counters returns how many counters of lists there are, and how many are being
// counted.
func (db *DB) Counters() (kept, counting int) { return db.counts.Len() }

func must[T any](v T, err error) T {
	need(err)
	return v
}

func need(err error) {
	if err != nil {
		panic(err)
	}
}
