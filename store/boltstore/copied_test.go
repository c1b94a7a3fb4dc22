package boltstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// A copy that was made page by page while the file was written to holds pages of
// different commits. It is refused, or it has all that was there when it was begun: no
// task is taken for one that never was.
func TestTornCopy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	db, h := handled(boltstore.Options{Ahead: -1}.Open(path))
	defer db.Close()
	random := rand.New(rand.NewPCG(1, 1))
	var tasks []store.TaskID
	commit := func() {
		create, end := turn(anonymous)
		end.Events[0].Data = noise(random.IntN(20_000)) // so that pages of all kinds are taken and given back
		commit(h, create, end)
		tasks = append(tasks, create.Task)
	}
	for range 100 {
		commit()
	}
	file := must(os.Open(path))
	defer file.Close()
	page := make([]byte, os.Getpagesize())
	served, refused := 0, 0
	for n := range 20 {
		copied := filepath.Join(dir, fmt.Sprintf("copy-%d.db", n))
		out := must(os.Create(copied))
		held := len(tasks)
		between := []int{80, 160, 320, 1 << 20}[n%4] // pages that are copied between two commits
		info := must(file.Stat())
		used := usedPages(t, file)
		for at := range used {
			if at%between == between-1 {
				commit()
			}
			must(file.ReadAt(page, int64(at*len(page))))
			must(out.WriteAt(page, int64(at*len(page))))
		}
		need(errors.Join(out.Truncate(info.Size()), out.Close()))
		err := holdsTasks(copied, tasks[:held])
		switch {
		case err == nil:
			served++
		case errors.Is(err, store.ErrDamaged) && strings.Contains(err.Error(), copied) && strings.Contains(err.Error(), "restore a backup"):
			refused++
		default:
			t.Errorf("copy %d, %d pages between commits: %v", n, between, err)
		}
	}
	t.Logf("%d copies were served, %d refused", served, refused)
	if served == 0 || refused == 0 {
		t.Errorf("%d copies were served and %d refused, want some of each", served, refused)
	}
}

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

// usedPages returns how many pages the newest transaction of a file knows of.
func usedPages(t *testing.T, file *os.File) int {
	t.Helper()
	pages := make([]byte, 2*os.Getpagesize())
	must(file.ReadAt(pages, 0))
	meta, _ := newestMeta(pages)
	return int(order.Uint64(meta[40:]))
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
