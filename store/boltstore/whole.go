package boltstore

import (
	"encoding/binary"
	"fmt"
)

// manyFree is the count of a freelist whose first element says how many there are.
const manyFree = 0xFFFF

// checkBase checks the parts that bbolt trusts without checking, and returns an error if they
// are damaged. In the freelist, a page that is listed twice, or is not free, would be
// allocated and overwritten. The small buckets inside the page of all buckets are copied into
// memory, and a key outside its bucket would point anywhere in it.
func (im *image) checkBase() error { return im.checkPages(nil) }

// checkWhole reads all pages of a file and returns an error if they are inconsistent: a page
// is used twice, not at all, or differs from the reference to it; keys are out of order; a
// value fails its checksum, or contradicts the values that refer to it. A copy made while the
// file was being written looks like that: it holds pages of different commits, also within one
// long value, and tasks may be missing from it without a sign. The check takes as long as
// reading the file.
func (im *image) checkWhole() error { return im.checkPages(newSums()) }

// checkPages checks the pages of the bucket of all buckets, of the freelist and, unless s is
// nil, of all buckets. It adds their values to s.
func (im *image) checkPages(s *sums) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	im.used = make([]bool, uint64(len(im.data))/im.size)
	dropped := false // pages of dropped buckets are in use, and not walked
	c := im.all().Cursor()
	for name, value := c.First(); name != nil; name, value = c.Next() {
		b := im.in(name, value)
		switch {
		case string(name) == string(bucketDropped):
			dropped = true
		case s != nil:
			err = b.checkValues(s)
		case b.root == 0:
			b.checked(0, 0, nil, nil)
		default:
			err = im.use(b.root)
		}
		if err != nil {
			return err
		}
	}
	if err := im.checkFreelist(); err != nil || s == nil {
		return err
	}
	for id := 2; id < len(im.used) && !dropped; id++ {
		if !im.used[id] {
			return fmt.Errorf("its page %d is not referenced", id)
		}
	}
	return s.check()
}

// checkValues adds the values of a bucket to s.
func (b *bucket) checkValues(s *sums) error {
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if err := s.value(b.name, k, v); err != nil {
			return fmt.Errorf("a value of %s is damaged: %w", b.name, err)
		}
	}
	return nil
}

// checkFreelist checks the freelist, and notes its pages.
func (im *image) checkFreelist() error {
	_, newest, _ := newestMeta(im.data[:2*im.size])
	p, err := im.page(newest.free)
	if err != nil {
		return err
	}
	order := binary.NativeEndian
	count, ids := uint64(p.count()), p[pageHeader:]
	if count == manyFree {
		count, ids = order.Uint64(ids), ids[8:]
	}
	if order.Uint16(p[8:]) != pageFreelist || count > uint64(len(ids))/8 {
		return fmt.Errorf("its page %d is not a freelist page", newest.free)
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
