package boltstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

const (
	metaRoot = 16 // offsets within the meta data
	metaFree = 32
	metaHigh = 40

	manyFree = 0xFFFF // of a freelist: its first element says how many there are
)

// checkBase checks the parts that bbolt trusts without checking, and returns an error if they
// are damaged. In the freelist, a page that is listed twice, or is not free, would be
// allocated and overwritten. The small buckets inside the page of all buckets are copied into
// memory, and a key outside its bucket would point anywhere in it.
func checkBase(file io.ReaderAt) error {
	c, err := newPageCheck(file)
	if err != nil {
		return err
	}
	if err := c.tree(nil, c.root, nil, nil, 0 /* depth */); err != nil {
		return err
	}
	return c.freelist()
}

// checkWhole reads all pages of a file and returns an error if they are inconsistent: a page
// is used twice, not at all, or differs from the reference to it; keys are out of order; a
// value fails its checksum, or contradicts the values that refer to it. A copy made while the
// file was being written looks like that: it holds pages of different commits, also within one
// long value, and tasks may be missing from it without a sign. The check takes as long as
// reading the file.
func checkWhole(file io.ReaderAt) error {
	c, err := newPageCheck(file)
	if err != nil {
		return err
	}
	c.sums = newSums()
	if err := c.tree(nil, c.root, nil, nil, 0 /* depth */); err != nil {
		return err
	}
	if err := c.freelist(); err != nil {
		return err
	}
	for id := uint64(2); id < c.high; id++ {
		if !c.seen[id] && !c.dropped {
			return fmt.Errorf("its page %d is not referenced", id)
		}
	}
	return c.sums.check()
}

// pageCheck is a check of a file as of its newest transaction.
type pageCheck struct {
	file    io.ReaderAt
	size    uint64 // of a page, in bytes
	root    uint64 // page of the bucket of all buckets
	free    uint64 // page of the freelist
	high    uint64 // number of pages
	seen    []bool // pages that are in use
	dropped bool   // pages of dropped buckets are in use, and not walked
	sums    *sums  // not nil: buckets that have pages of their own are checked, too, and values
}

func newPageCheck(file io.ReaderAt) (*pageCheck, error) {
	size := pageSize(file)
	both := make([]byte, 2*size)
	if _, err := file.ReadAt(both, 0); err != nil {
		return nil, fmt.Errorf("its meta pages cannot be read: %w", err)
	}
	newest, other := readMeta(both[:size]), readMeta(both[size:])
	if !newest.valid || other.valid && other.tx > newest.tx {
		newest = other
	}
	m, order := newest.page[metaAt:], binary.NativeEndian
	c := &pageCheck{
		file: file, size: uint64(size),
		root: order.Uint64(m[metaRoot:]), free: order.Uint64(m[metaFree:]), high: order.Uint64(m[metaHigh:]),
	}
	if c.high > 1<<40 {
		return nil, fmt.Errorf("it says that it has %d pages", c.high)
	}
	c.seen = make([]bool, c.high)
	return c, nil
}

// page reads a page with its overflow pages, and notes that they are in use.
func (c *pageCheck) page(id uint64) ([]byte, error) {
	if id < 2 || id >= c.high {
		return nil, fmt.Errorf("it refers to page %d; valid pages are 2 to %d", id, c.high-1)
	}
	var header [pageHeader]byte
	if _, err := c.file.ReadAt(header[:], int64(id*c.size)); err != nil {
		return nil, fmt.Errorf("its page %d cannot be read: %w", id, err)
	}
	order := binary.NativeEndian
	more := uint64(order.Uint32(header[12:]))
	if order.Uint64(header[:]) != id || more >= c.high-id {
		return nil, fmt.Errorf("its page %d says that it is page %d, with %d more", id, order.Uint64(header[:]), more)
	}
	for n := id; n <= id+more; n++ {
		if err := c.use(n); err != nil {
			return nil, err
		}
	}
	p := make([]byte, (more+1)*c.size)
	if _, err := c.file.ReadAt(p, int64(id*c.size)); err != nil {
		return nil, fmt.Errorf("its page %d cannot be read: %w", id, err)
	}
	return p, nil
}

func (c *pageCheck) use(id uint64) error {
	if id < 2 || id >= c.high {
		return fmt.Errorf("it refers to page %d; valid pages are 2 to %d", id, c.high-1)
	}
	if c.seen[id] {
		return fmt.Errorf("its page %d is used twice", id)
	}
	c.seen[id] = true
	return nil
}

// tree checks a page of a bucket, the pages below it, and the buckets in them. Its keys must
// be at least low and below high; nil: no bound. The bucket of all buckets has no name.
func (c *pageCheck) tree(bucket []byte, id uint64, low, high []byte, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("its page %d is its own ancestor", id)
	}
	p, err := c.page(id)
	if err != nil {
		return err
	}
	keys, children, err := c.elements(bucket, p, c.size, low, high)
	if err != nil {
		return fmt.Errorf("its page %d %w", id, err)
	}
	for i, child := range children {
		in, from, to := keys[i], []byte(nil), []byte(nil) // a bucket begins again
		switch {
		case !page(p).leaf():
			in = bucket
			_, from, to = page(p).child(i, high)
		case child == 0:
			continue
		case bytes.Equal(keys[i], bucketDropped):
			c.dropped = true
			continue
		case c.sums == nil:
			if err := c.use(child); err != nil {
				return err
			}
			continue
		}
		if err := c.tree(in, child, from, to, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// elements checks the elements of a page of a bucket, and of the small buckets within it. It
// returns the keys, and the page that each points to; 0: to none.
func (c *pageCheck) elements(bucket []byte, p page, unit uint64, low, high []byte) (keys [][]byte, children []uint64, err error) {
	if err := p.begins(unit); err != nil {
		return nil, nil, err
	}
	if err := p.check(bucket == nil, low, high); err != nil {
		return nil, nil, err
	}
	keys, children = make([][]byte, p.count()), make([]uint64, p.count())
	for i := range keys {
		keys[i] = p.key(i)
		if !p.leaf() {
			children[i] = p.childID(i)
			continue
		}
		switch value, isBucket := p.value(i); {
		case !isBucket:
			if c.sums != nil {
				if err := c.sums.value(bucket, keys[i], value); err != nil {
					return nil, nil, fmt.Errorf("has a value of %s that is damaged: %w", bucket, err)
				}
			}
		case len(value) < bucketHeader:
			return nil, nil, fmt.Errorf("has an invalid bucket %s", keys[i])
		default:
			if children[i] = binary.NativeEndian.Uint64(value); children[i] != 0 {
				if len(value) > bucketHeader {
					return nil, nil, fmt.Errorf("has a bucket %s with both a root page and inline elements", keys[i])
				}
				continue
			}
			if _, _, err := c.elements(keys[i], value[bucketHeader:], 1, nil, nil); err != nil {
				return nil, nil, fmt.Errorf("has a bucket %s that %w", keys[i], err)
			}
		}
	}
	return keys, children, nil
}

// freelist checks the freelist, and notes its pages.
func (c *pageCheck) freelist() error {
	p, err := c.page(c.free)
	if err != nil {
		return err
	}
	order := binary.NativeEndian
	count, ids := uint64(order.Uint16(p[10:])), p[pageHeader:]
	if count == manyFree {
		count, ids = order.Uint64(ids), ids[8:]
	}
	if order.Uint16(p[8:]) != pageFreelist || count > uint64(len(ids))/8 {
		return fmt.Errorf("its page %d is not a freelist page", c.free)
	}
	last := uint64(0)
	for i := range count {
		id := order.Uint64(ids[i*8:])
		if id <= last {
			return fmt.Errorf("its freelist is out of order at page %d", id)
		}
		if err := c.use(id); err != nil {
			return err
		}
		last = id
	}
	return nil
}
