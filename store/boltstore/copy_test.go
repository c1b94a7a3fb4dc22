package boltstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

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

// A copy whose pages do not belong together is refused, and the refusal says how it can
// be told; the copy of a file that nobody wrote to is taken.
func TestIncompleteCopy(t *testing.T) {
	t.Parallel()
	whole := must(os.ReadFile(sample(t)))
	page := os.Getpagesize()
	meta, _ := newestMeta(whole)
	root, free := int(order.Uint64(meta[16:])), int(order.Uint64(meta[32:]))
	list := func(file []byte) []byte { return file[free*page:] }
	for name, tc := range map[string]struct {
		damage func(file []byte)
		says   string
	}{
		"whole": {func([]byte) {}, ""},
		"twice": {func(file []byte) { // the root is free, too
			n := int(order.Uint16(list(file)[10:]))
			order.PutUint16(list(file)[10:], uint16(n+1))
			at := 0
			for at < n && order.Uint64(list(file)[16+8*at:]) < uint64(root) {
				at++
			}
			copy(list(file)[16+8*(at+1):16+8*(n+1)], list(file)[16+8*at:])
			order.PutUint64(list(file)[16+8*at:], uint64(root))
		}, "is used twice"},
		"nothing": {func(file []byte) {
			order.PutUint16(list(file)[10:], order.Uint16(list(file)[10:])-1)
		}, "is not referenced"},
		"itself": {func(file []byte) { // the root is a branch, and its own only child
			p := file[root*page:]
			clear(p[8:page])
			order.PutUint16(p[8:], 0x01)
			order.PutUint16(p[10:], 1)
			order.PutUint32(p[16:], 16)
			order.PutUint32(p[20:], 1)
			order.PutUint64(p[24:], uint64(root))
		}, "is used twice"},
		"out of order": {func(file []byte) {
			for at := 2 * page; at < len(file); at += page { // any leaf with at least two keys, but the root
				if p := file[at:]; at != root*page && order.Uint16(p[8:]) == 0x02 && order.Uint16(p[10:]) > 1 {
					p[16+order.Uint32(p[20:])] = 0xff
				}
			}
		}, "out of order"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := append([]byte{}, whole...)
			tc.damage(file)
			path := filepath.Join(t.TempDir(), "copy.db")
			need(os.WriteFile(path, file, 0o600))
			if tc.says == "" {
				need(must(boltstore.Open(path)).Close())
			} else {
				refused(t, path, tc.says)
			}
		})
	}
}

// A copy in which every page is sound, but a value is missing of which others tell, has pages
// of different commits.
func TestCopyLacksValue(t *testing.T) {
	t.Parallel()
	original := filepath.Join(t.TempDir(), "store.db")
	db, h := handled(boltstore.Options{Ahead: -1}.Open(original))
	for range 2 {
		create, end := turn(anonymous)
		live, _ := turn(anonymous)
		live.Rows = []store.RowChange{{Kind: "kind", Key: []byte("key"), Value: []byte("value"), Index: []store.IndexKey{{Index: "index", Key: []byte("ikey")}}}}
		live.Due = []store.DueChange{{Kind: "kind", Key: []byte("key"), Time: 1}}
		live.Audit = [][]byte{[]byte(`{"an":"entry"}`)}
		commit(h, create, end, live)
	}
	need(db.Close())
	whole := must(os.ReadFile(original))
	for bucket, says := range map[string]string{
		"log": "log values and task headers disagree", "task": "log values and task headers disagree", "due": "due work and task headers disagree", "audit": "its audit",
		"live": "lists disagree with tasks and rows", "list": "lists disagree with tasks and rows", "list.ctx": "lists disagree with tasks and rows", "rowidx": "lists disagree with tasks and rows", "row": "lists disagree with tasks and rows",
	} {
		t.Run(bucket, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "copy.db")
			need(os.WriteFile(path, whole, 0o600))
			file := must(bolt.Open(path, 0o600, nil))
			err := file.Update(func(tx *bolt.Tx) error {
				c := tx.Bucket([]byte(bucket)).Cursor()
				if k, _ := c.First(); k == nil {
					return errors.New("the file has no such value")
				}
				return c.Delete()
			})
			need(errors.Join(err, file.Close()))
			refused(t, path, says, "incomplete copy")
		})
	}
}
