package boltstore

import (
	bolt "go.etcd.io/bbolt"

	"a2a-server/store/boltstore/internal/boltfile"
	"a2a-server/store/boltstore/internal/copycheck"
)

// Counters returns how many counters of lists there are, and how many are being
// counted.
func (db *DB) Counters() (kept, counting int) { return db.counts.Len() }

// CheckWhole checks the file at path as a copy is checked when it is first opened.
func CheckWhole(path string) error {
	file, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer file.Close()
	return file.View(func(tx *bolt.Tx) error { return copycheck.Check(boltfile.NewImage(tx)) })
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
