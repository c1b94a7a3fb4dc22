package boltstore_test

import (
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store/boltstore"
)

// A sound file that a machine with other pages has made says nothing.
func TestNoteOfOtherPages(t *testing.T) {
	t.Parallel()
	for _, size := range []int{os.Getpagesize() / 2, 4 * os.Getpagesize(), 16 * os.Getpagesize()} {
		from, err := bolt.Open(sample(t), 0o600, &bolt.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "other.db")
		to, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: size})
		if err != nil {
			t.Fatal(err)
		}
		if err := bolt.Compact(to, from, 1<<20); err != nil {
			t.Fatal(err)
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
		if err := from.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := boltstore.Open(path)
		if err != nil {
			t.Fatalf("pages of %d bytes: %v", size, err)
		}
		if said := db.Note(); said != "" {
			t.Errorf("pages of %d bytes: Note() = %q of a sound file", size, said)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
