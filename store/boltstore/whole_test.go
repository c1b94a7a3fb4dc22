package boltstore_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// A copy whose pages do not belong together is refused, and the refusal says how it can
// be told; the copy of a file that nobody wrote to is taken.
func TestWhole(t *testing.T) {
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

// A list of free pages that is damaged is found when the file is opened, copy or not, and
// not by writing over what is in use.
func TestFreelist(t *testing.T) {
	t.Parallel()
	page := os.Getpagesize()
	for name, tc := range map[string]struct {
		damage func(list []byte)
		says   string
	}{
		"beyond the end":   {func(list []byte) { order.PutUint64(list[16:], 1<<50) }, "page"},
		"a meta page":      {func(list []byte) { order.PutUint64(list[16:], 1) }, "refers to page 1"},
		"page 0":           {func(list []byte) { order.PutUint64(list[16:], 0) }, "out of order at page 0"},
		"twice":            {func(list []byte) { order.PutUint64(list[24:], order.Uint64(list[16:])) }, "out of order"},
		"a count too high": {func(list []byte) { order.PutUint16(list[10:], 0x0fff) }, "is not a freelist page"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := sample(t)
			f := must(os.OpenFile(path, os.O_RDWR, 0))
			defer f.Close()
			metas, list := make([]byte, 2*page), make([]byte, page)
			must(f.ReadAt(metas, 0))
			meta, _ := newestMeta(metas)
			at := int64(order.Uint64(meta[32:])) * int64(page)
			must(f.ReadAt(list, at))
			tc.damage(list)
			must(f.WriteAt(list, at))
			refused(t, path, tc.says)
		})
	}
}

// A small bucket is in the page of all buckets, and bbolt copies it as it is: one that is
// damaged is found at open, and when it is in use. bbolt would read anywhere in memory.
func TestSmallBuckets(t *testing.T) {
	t.Parallel()
	d, _, _, _ := newDamaged(t)
	need(d.db.Close())
	d.open(t)
	small := d.small()
	if len(small) < 3 {
		t.Fatalf("there are %d small buckets, want at least 3", len(small))
	}
	for name, at := range small {
		for what, damage := range damagesOfSmall {
			if what == "order" && order.Uint16(d.bytes[at+10:]) == 1 {
				continue
			}
			t.Run(name+"/"+what+"/at open", func(t *testing.T) {
				t.Parallel()
				file := bytes.Clone(d.bytes)
				damage(file[at:])
				path := filepath.Join(t.TempDir(), "store.db")
				need(os.WriteFile(path, file, 0o600))
				refused(t, path, path+": page 0, of "+name) // before anything is read as a copy
			})
			t.Run(name+"/"+what+"/in use", func(t *testing.T) {
				t.Parallel()
				d, rests, other, live := newDamaged(t)
				for _, id := range []store.TaskID{rests, other, live} {
					_ = d.read(t, id) // as it is when the file is whole
				}
				at, ok := d.small()[name]
				if !ok {
					t.Fatal("it is not small")
				}
				page := bytes.Clone(d.bytes[at:min(at+1024, len(d.bytes))])
				damage(page)
				must(d.file.WriteAt(page, int64(at)))
				for _, id := range []store.TaskID{rests, other, live} {
					_ = d.read(t, id)
				}
				for range 2 {
					b := &store.Batch{Scope: alice, Task: rests, Rev: new(uint64(3)), Change: store.Change{Phase: store.Final}}
					refuses(t, d.h, b, store.ErrReadOnly)
				}
			})
		}
	}
}

// Two buckets that say they have the same pages are found at open.
func TestSharedPages(t *testing.T) {
	t.Parallel()
	l := must(newLarge())
	path := l.copy(t)
	file := must(os.ReadFile(path))
	size := os.Getpagesize()
	number := func(bucket string) []byte { return order.AppendUint64(nil, uint64(l.roots[bucket]/size)) }
	if n := bytes.Count(file, append([]byte("live"), number("live")...)); n == 0 {
		t.Fatal("no page has the pointer")
	}
	file = bytes.ReplaceAll(file, append([]byte("live"), number("live")...), append([]byte("live"), number("task")...))
	need(os.WriteFile(path, file, 0o600))
	refused(t, path, "is used twice")
}

var damagesOfSmall = map[string]func(page []byte){
	"kind":  func(page []byte) { page[8] ^= 0x03 },
	"count": func(page []byte) { page[11] |= 0x10 },
	"place": func(page []byte) { page[16+7] |= 0x10 },
	"key":   func(page []byte) { page[16+11] |= 0x10 },
	"value": func(page []byte) { page[16+15] |= 0x10 },
	"order": func(page []byte) { page[16+order.Uint32(page[20:])] = 0xff },
}

// small returns where the small buckets have their pages that are not empty.
func (d *damaged) small() map[string]int {
	meta, _ := newestMeta(d.bytes)
	found := map[string]int{}
	begin := int(order.Uint64(meta[16:])) * os.Getpagesize()
	root := d.bytes[begin:]
	for i := range int(order.Uint16(root[10:])) {
		e := 16 + 16*i
		at := e + int(order.Uint32(root[e+4:]))
		name := string(root[at:][:order.Uint32(root[e+8:])])
		page := at + len(name) + 16 // after the head of the bucket
		if order.Uint64(root[page-16:]) == 0 && order.Uint16(root[page+10:]) > 0 {
			found[name] = begin + page
		}
	}
	return found
}
