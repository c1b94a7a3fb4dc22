package boltstore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"a2a-server/store"
)

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
