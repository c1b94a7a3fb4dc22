package boltstore

// Counters returns how many counters of lists there are, and how many are being
// counted.
func (db *DB) Counters() (kept, counting int) { return db.counts.Len() }

// WithMap returns o for a file whose map has so many bytes at first.
func (o Options) WithMap(bytes int) Options {
	o.mapped = bytes
	return o
}

// WithTails returns o for tails of so many bytes.
func (o Options) WithTails(bytes int) Options {
	o.tails = bytes
	return o
}

func must[T any](v T, err error) T {
	need(err)
	return v
}

func need(err error) {
	if err != nil {
		panic(err)
	}
}
