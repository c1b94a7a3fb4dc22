package boltstore_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// A long value lies on several pages, of which only the first says what it is. A copy whose
// other ones are of another commit is refused, too.
func TestTornValue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	db, h := handled(boltstore.Options{Ahead: -1}.Open(path))
	long := noise(30_000)
	create, end := turn(anonymous)
	end.Events[0].Data = long
	end.Rows = append(end.Rows, store.RowChange{Kind: "kind", Key: []byte("long"), Value: long})
	commit(h, create, end)
	need(db.Close())
	whole := must(os.ReadFile(path))
	copied := filepath.Join(dir, "whole.db")
	need(os.WriteFile(copied, whole, 0o600))
	need(holdsTasks(copied, []store.TaskID{create.Task}))
	size, torn := os.Getpagesize(), 0
	for at := 0; at < len(whole); at += size {
		page := whole[at : at+size]
		if !bytes.Contains(long, page) {
			continue // it has a header, or the end of a value
		}
		content := bytes.Clone(whole)
		clear(content[at : at+size])
		copied := filepath.Join(dir, fmt.Sprintf("torn-%d", at))
		need(os.WriteFile(copied, content, 0o600))
		refused(t, copied, "incomplete copy")
		torn++
	}
	if torn < 12 {
		t.Errorf("%d pages continue a value, want those of a log value and of a row", torn)
	}
}

// holdsTasks opens a file and looks for tasks.
func holdsTasks(path string, tasks []store.TaskID) error {
	db, err := boltstore.Open(path)
	if err != nil {
		return err
	}
	defer db.Close()
	h, err := db.Handle()
	if err != nil {
		return err
	}
	for _, id := range tasks {
		v, err := h.Read(context.Background(), store.System(), id, store.After(0), store.Limit{Bytes: 1 << 20})
		if err != nil {
			return fmt.Errorf("the copy was opened; task %s: %w", id, err)
		}
		if len(v.Events) == 0 {
			return fmt.Errorf("the copy was opened; task %s has no events", id)
		}
	}
	return nil
}
