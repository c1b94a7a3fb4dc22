package boltstore_test

import (
	"os"
	"path/filepath"
	"testing"

	"a2a-server/store/boltstore"
)

// A sound file that a machine with other pages has made says nothing.
func TestNoteOfOtherPages(t *testing.T) {
	t.Parallel()
	for _, size := range []int{os.Getpagesize() / 2, 4 * os.Getpagesize(), 16 * os.Getpagesize()} {
		path := filepath.Join(t.TempDir(), "other.db")
		emptyWithPages(t, path, size)
		db := must(boltstore.Open(path))
		if said := db.Note(); said != "" {
			t.Errorf("pages of %d bytes: Note() = %q of a sound file", size, said)
		}
		need(db.Close())
	}
}
