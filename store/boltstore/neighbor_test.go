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
	db, err := boltstore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	h, err := db.Handle()
	if err != nil {
		t.Fatal(err)
	}
	var ids []store.TaskID
	for range 200 {
		b, _ := turn(alice)
		b.Change.Phase = store.Parked // else its key is in live, too
		if _, err := h.Append(t.Context(), b).Wait(); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, b.Task)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	last := damageLeaf(t, path, ids)
	if db, err = boltstore.Open(path); err != nil {
		t.Fatal(err)
	}
	if h, err = db.Handle(); err != nil {
		t.Fatal(err)
	}
	unknown := last
	unknown[15]++
	if err := h.Delete(t.Context(), store.System(), unknown, nil); !errors.Is(err, store.ErrNotFound) || db.Trouble() != nil {
		t.Errorf("Delete() of an unknown task = %v, Trouble() = %v, want ErrNotFound and none", err, db.Trouble())
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// damageLeaf damages a page of headers, and returns the last task of the page before it.
func damageLeaf(t *testing.T, path string, ids []store.TaskID) store.TaskID {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
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
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return ids[50+n-1]
	}
	t.Fatal("no page begins with one of the tasks in the middle")
	return store.TaskID{}
}
