package boltstore

import (
	"path/filepath"
	"testing"
)

// An append is answered when its commit has returned, and a commit is worth
// something when it syncs: no option may take that away.
func TestSyncs(t *testing.T) {
	t.Parallel()
	db := must(Open(filepath.Join(t.TempDir(), "store.db")))
	defer db.Close()
	if b := db.file.Bolt(); b.NoSync || b.NoGrowSync || b.NoFreelistSync {
		t.Errorf("NoSync = %v, NoGrowSync = %v, NoFreelistSync = %v; want all off", b.NoSync, b.NoGrowSync, b.NoFreelistSync)
	}
}
