package boltstore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A list of free pages that is damaged is found by the check after a failure.
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
			mark(path)
			refused(t, path, tc.says)
		})
	}
}

// A small bucket is in the page of all buckets: the check after a failure finds one that is damaged.
// A derived bucket is made anew.
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
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "store.db")
				need(os.WriteFile(path, nil, 0o600))
				file := bytes.Clone(d.bytes)
				damage(file[at:])
				need(os.WriteFile(path, bytes.ReplaceAll(file, identity(d.path), identity(path)), 0o600))
				mark(path)
				if isDerived(name) {
					mended(t, path, name)
				} else {
					refused(t, path, "page 0, of "+name)
				}
			})
		}
	}
}

// Of two buckets that say they have the same pages, the check after a failure takes the derived one for
// damaged.
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
	mark(path)
	mended(t, path, "live")
	l.intact(t, path)
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
