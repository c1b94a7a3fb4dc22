package pages

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sort"
)

// The parts of bbolt's pages that are used here: a header with the page's number, its kind,
// the number of elements and the number of overflow pages; then the elements; then their keys
// and values.
const (
	pageHeader   = 16
	pageElement  = 16
	bucketHeader = 16
	pageBranch   = 0x01
	pageLeaf     = 0x02
	pageFreelist = 0x10
	leafBucket   = 0x01 // of an element of a leaf: its value is a bucket

	maxDepth = 64 // of a tree
)

// page is a page of a tree, with its overflow pages. That of a small bucket is in the value
// that the bucket is, and ends with its last element.
type page []byte

var (
	errOrder   = errors.New("has keys that are out of order")
	errOutside = errors.New("has an element outside the page")
	errKind    = errors.New("has an element of another kind")
)

func (p page) leaf() bool { return binary.NativeEndian.Uint16(p[8:]) == pageLeaf }

func (p page) count() int { return int(binary.NativeEndian.Uint16(p[10:])) }

// begins checks the header of a page and returns its end. The page is as many units long as it
// needs: pages of the file, or bytes in a small bucket.
func (p page) begins(unit uint64) error {
	if len(p) < pageHeader {
		return errors.New("has no header")
	}
	order := binary.NativeEndian
	count := p.count()
	if kind := order.Uint16(p[8:]); kind != pageLeaf && (kind != pageBranch || unit == 1) || pageHeader+count*pageElement > len(p) {
		return errors.New("is not a tree page")
	}
	end := uint64(pageHeader)
	if count > 0 {
		start, key, value := p.place(count - 1)
		end = start + key + value
	} else if unit > 1 {
		return errors.New("has no elements")
	}
	if (end+unit-1)/unit*unit != uint64(len(p)) {
		return errors.New("has another size than it says")
	}
	return nil
}

// check checks the elements of a page after begins: each follows its predecessor, so that the
// stated number fits. The keys must be in order, at least low and below high; nil: no bound.
// The elements of a leaf are all buckets, or none is.
func (p page) check(buckets bool, low, high []byte) error {
	next := uint64(pageHeader + p.count()*pageElement)
	var last []byte
	for i := range p.count() {
		start, n, value := p.place(i)
		switch {
		case start+n+value > uint64(len(p)):
			return errOutside
		case start != next:
			return errors.New("has elements that do not follow each other")
		case n == 0:
			return errors.New("has an empty key")
		}
		next += n + value
		key := p.key(i)
		switch {
		case p.leaf() && p.bucket(i) != buckets:
			return errKind
		case i > 0 && bytes.Compare(last, key) >= 0, !between(low, key, high):
			return errOrder
		}
		last = key
	}
	return nil
}

func between(low, key, high []byte) bool {
	return bytes.Compare(low, key) <= 0 && (high == nil || bytes.Compare(key, high) < 0)
}

// place returns where element i has its key, and how long the key and its value are.
func (p page) place(i int) (start, key, value uint64) {
	begin := pageHeader + i*pageElement
	h, order := p[begin:][:pageElement], binary.NativeEndian
	if p.leaf() {
		return uint64(begin) + uint64(order.Uint32(h[4:])), uint64(order.Uint32(h[8:])), uint64(order.Uint32(h[12:]))
	}
	return uint64(begin) + uint64(order.Uint32(h)), uint64(order.Uint32(h[4:])), 0
}

// key returns the key of element i of a page that was checked.
func (p page) key(i int) []byte {
	start, n, _ := p.place(i)
	return p[start : start+n : start+n]
}

// value returns the value of element i of a leaf that was checked.
func (p page) value(i int) []byte {
	start, key, n := p.place(i)
	return p[start+key : start+key+n : start+key+n]
}

func (p page) bucket(i int) bool {
	return binary.NativeEndian.Uint32(p[pageHeader+i*pageElement:])&leafBucket != 0
}

// child returns the page that element i of a branch points to, and the bounds of the keys there.
// high is that of the branch.
func (p page) child(i int, high []byte) (id uint64, from, to []byte) {
	if i+1 < p.count() {
		high = p.key(i + 1)
	}
	return binary.NativeEndian.Uint64(p[pageHeader+i*pageElement+8:]), p.key(i), high
}

// search returns the number of elements whose keys are smaller than key.
func (p page) search(key []byte) int {
	return sort.Search(p.count(), func(i int) bool { return bytes.Compare(p.key(i), key) >= 0 })
}

// toward returns the number of the element of a branch below which a key is, if anywhere.
func (p page) toward(key []byte) int {
	n := p.search(key)
	if n < p.count() && bytes.Equal(p.key(n), key) {
		return n
	}
	return max(n-1, 0)
}
