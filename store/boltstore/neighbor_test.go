//go:build linux

package boltstore_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
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
	for range 200 {
		b, _ := turn(alice)
		b.Change.Phase = store.Parked // else its key is in live, too
		commit(h, b)
		ids = append(ids, b.Task)
	}
	need(db.Close())
	last := damageLeaf(t, path, ids)
	db = must(boltstore.Open(path))
	h = must(db.Handle())
	unknown := last
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
	order := binary.NativeEndian
	for n, id := range ids[50:150] {
		found := false
		for page := range slices.Chunk(data, pageSize) {
			if at := 16 + int(order.Uint32(page[20:])); order.Uint16(page[8:]) == 2 && at < pageSize && bytes.HasPrefix(page[at:], id[:]) {
				copy(page[8:], bytes.Repeat([]byte{0xff}, pageSize-8)) // also what it was before
				found = true
			}
		}
		if !found {
			continue
		}
		need(os.WriteFile(path, data, 0o600))
		return ids[50+n-1]
	}
	t.Fatal("no page begins with one of the tasks in the middle")
	return store.TaskID{}
}
