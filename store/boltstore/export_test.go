package boltstore

import bolt "go.etcd.io/bbolt"

// Counters returns how many counters of lists there are, and how many are being
// counted.
func (db *DB) Counters() (kept, counting int) {
	db.counts.mu.Lock()
	defer db.counts.mu.Unlock()
	return len(db.counts.kept), len(db.counts.counting)
}

// CheckWhole checks the file at path as a copy is checked when it is first opened.
func CheckWhole(path string) error {
	file, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer file.Close()
	return file.View(func(tx *bolt.Tx) error { return newImage(tx).checkWhole() })
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
