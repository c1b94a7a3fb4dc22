package app_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"a2a-server/store/boltstore"
	"a2a-server/task/engine"
)

// An operator lets a restored store continue, once.
func TestStoreResume(t *testing.T) {
	t.Parallel()
	s := serve(t, os.Getuid(), allRoles)
	s.want(0, "The store does not wait to be resumed.", "store", "resume")
	s.stop()
	db, err := boltstore.Open(filepath.Join(s.folder, "data", "tasks.db"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := db.Handle()
	if err == nil {
		err = engine.MarkRestored(t.Context(), h, time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC), time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s = serveConfig(t, s.console)
	s.want(0, "The store that was restored from a backup of 2026-11-27T10:00:00Z continues.", "store", "resume")
	s.want(0, "The store does not wait to be resumed.", "store", "resume")
	s.want(2, "", "store", "resume", "now")
}
