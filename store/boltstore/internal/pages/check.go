package pages

import (
	"encoding/binary"
	"fmt"
	"slices"

	"a2a-server/store/boltstore/internal/boltfile"
)

// Damage has the first fault of each damaged bucket. Bucket "": the file is damaged apart from
// its buckets.
type Damage map[string]error

// Check reads every page that is in use, and returns the damage. A page belongs to one bucket or to
// the freelist, and each key and value passes entry. derived are read last, so that of two buckets
// with the same page a derived bucket is said to be damaged. dropped is a bucket that is not read.
func (im *Image) Check(derived [][]byte, dropped []byte, entry func(bucket, key, value []byte) error) Damage {
	im.used = make([]bool, uint64(len(im.data))/im.size)
	defer func() { im.used = nil }()
	damage := Damage{}
	part := func(name string, read func() error) {
		defer func() {
			if p := recover(); p != nil {
				damage[name] = fmt.Errorf("%v", p)
			}
		}()
		if err := read(); err != nil {
			damage[name] = err
		}
	}
	var last []*Bucket
	walk := func(b *Bucket) {
		part(string(b.name), func() error {
			c := b.Cursor()
			for k, v := c.First(); k != nil; k, v = c.Next() {
				if err := entry(b.name, k, v); err != nil {
					return fmt.Errorf("bucket %s has an entry %x that is not one: %w", b.name, k, err)
				}
			}
			return nil
		})
	}
	part("", func() error {
		c := im.all().Cursor()
		for name, value := c.First(); name != nil; name, value = c.Next() {
			switch {
			case string(name) == string(dropped):
			case slices.ContainsFunc(derived, func(d []byte) bool { return string(d) == string(name) }):
				part(string(name), func() error { last = append(last, im.bucketIn(name, value)); return nil })
			default:
				part(string(name), func() error { walk(im.bucketIn(name, value)); return nil })
			}
		}
		return im.checkFreelist()
	})
	for _, b := range last {
		walk(b)
	}
	return damage
}

// checkFreelist checks the freelist, and notes its pages. A page that is listed twice, or is not
// free, would be allocated and overwritten.
func (im *Image) checkFreelist() error {
	free := boltfile.FreelistPage(im.data[:2*im.size])
	p, err := im.page(free)
	if err != nil {
		return err
	}
	order := binary.NativeEndian
	count, ids := uint64(p.count()), p[pageHeader:]
	if count == manyFree {
		count, ids = order.Uint64(ids), ids[8:]
	}
	if order.Uint16(p[8:]) != pageFreelist || count > uint64(len(ids))/8 {
		return fmt.Errorf("its page %d is not a freelist page", free)
	}
	last := uint64(0)
	for i := range count {
		id := order.Uint64(ids[i*8:])
		if id <= last {
			return fmt.Errorf("its freelist is out of order at page %d", id)
		}
		if err := im.use(id); err != nil {
			return err
		}
		last = id
	}
	return nil
}

// manyFree is the count of a freelist whose first element says how many there are.
const manyFree = 0xFFFF
