//go:build linux

package boltstore_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// To ask for a task that there is not is no reason to read a page on which it could not be:
// the store continues if that one is damaged.
func TestUnknownTaskNextToDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	db, h := handled(boltstore.Open(path))
	var ids []store.TaskID
	var commits []*store.Commit
	for range 200 {
		b, _ := turn(alice)
		b.Change.Phase = store.Parked // else its key is in live, too
		commits = append(commits, h.Append(t.Context(), b))
		ids = append(ids, b.Task)
	}
	waitAll(commits)
	unknown := damageLeaf(t, path, ids)
	unknown[15]++
	if err := h.Delete(t.Context(), store.System(), unknown, nil); !errors.Is(err, store.ErrNotFound) || db.Trouble() != nil {
		t.Errorf("Delete() of an unknown task = %v, Trouble() = %v, want ErrNotFound and none", err, db.Trouble())
	}
	need(db.Close())
}

// damageLeaf damages a page of headers, and returns the last task of the page before it.
func damageLeaf(t *testing.T, path string, ids []store.TaskID) store.TaskID {
	t.Helper()
	data := must(os.ReadFile(path))
	for n, id := range ids[50:150] {
		found := false
		for begin := 0; begin < len(data); begin += pageSize {
			page := data[begin:][:pageSize]
			if at := 16 + int(order.Uint32(page[20:])); order.Uint16(page[8:]) == 2 && at < pageSize && bytes.HasPrefix(page[at:], id[:]) {
				put(t, path, bytes.Repeat([]byte{0xff}, pageSize-8), begin+8) // also what it was before
				found = true
			}
		}
		if found {
			return ids[50+n-1]
		}
	}
	t.Fatal("no page begins with one of the tasks in the middle")
	return store.TaskID{}
}
