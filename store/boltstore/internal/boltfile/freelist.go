package boltfile

import (
	"encoding/binary"
	"fmt"
)

// CheckBase checks the parts that bbolt trusts without checking, and returns an error if they
// are damaged. In the freelist, a page that is listed twice, or is not free, would be
// allocated and overwritten. The small buckets inside the page of all buckets are copied into
// memory, and a key outside its bucket would point anywhere in it. dropped is the name of a bucket
// that is not read. The image is not usable afterwards.
func (im *Image) CheckBase(dropped []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	im.used = make([]bool, uint64(len(im.data))/im.size)
	c := im.all().Cursor()
	for name, value := c.First(); name != nil; name, value = c.Next() {
		b := im.bucketIn(name, value)
		switch {
		case string(name) == string(dropped):
		case b.root == 0:
			b.checked(0, 0, nil, nil)
		default:
			if err := im.use(b.root); err != nil {
				return err
			}
		}
	}
	return im.checkFreelist()
}

// checkFreelist checks the freelist, and notes its pages.
func (im *Image) checkFreelist() error {
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
