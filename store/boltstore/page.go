package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// The parts of bbolt's pages that are used here: a header with the page's number, its kind,
// the number of elements and the number of overflow pages; then the elements; then their keys
// and values, one after the other.
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

// element is what a page has of one key: a value, or the page where such keys are.
type element struct {
	key, value []byte
	child      uint64 // of a branch
	bucket     bool   // the value is a bucket
}

var errOrder = errors.New("has keys that are out of order")

func (p page) leaf() bool { return binary.NativeEndian.Uint16(p[8:]) == pageLeaf }
func (p page) count() int { return int(binary.NativeEndian.Uint16(p[10:])) }

// begins checks what says how many elements there are: the number, and where the first one
// has its key. small: it is of a small bucket.
func (p page) begins(small bool) error {
	if len(p) < pageHeader {
		return errors.New("has no header")
	}
	order := binary.NativeEndian
	count := uint64(order.Uint16(p[10:]))
	end := pageHeader + count*pageElement
	if kind := order.Uint16(p[8:]); kind != pageLeaf && (kind != pageBranch || small) || end > uint64(len(p)) {
		return errors.New("is not a tree page")
	}
	if count == 0 {
		if small && len(p) == pageHeader {
			return nil
		}
		return errors.New("has no elements")
	}
	at := pageHeader + uint64(order.Uint32(p[pageHeader:])) // of the key of the first one
	if p.leaf() {
		at = pageHeader + uint64(order.Uint32(p[pageHeader+4:]))
	}
	if at != end {
		return errors.New("has another number of elements than it says")
	}
	return nil
}

// check checks the whole page after begins. Its keys must be at least low and below high; nil:
// no bound. loose: they need not be in order.
func (p page) check(small, loose bool, low, high []byte) error {
	at, n := pageHeader+p.count()*pageElement, 0
	var last []byte
	for i := range p.count() {
		e, start, err := p.at(i)
		switch {
		case err != nil:
			return err
		case start != at:
			return errors.New("has elements that do not follow each other")
		case loose:
		case i == 0 && bytes.Compare(e.key, low) < 0, i > 0 && bytes.Compare(last, e.key) >= 0, high != nil && bytes.Compare(e.key, high) >= 0:
			return errOrder
		}
		last, at, n = e.key, start+len(e.key)+len(e.value), i
	}
	if small && at != len(p) {
		return fmt.Errorf("does not end with its element %d", n)
	}
	return nil
}

// within checks only the first and the last key of a page whose others are between them.
func (p page) within(low, high []byte) error {
	for _, i := range []int{0, p.count() - 1} {
		if e, _, err := p.at(i); err != nil {
			return err
		} else if bytes.Compare(e.key, low) < 0 || high != nil && bytes.Compare(e.key, high) >= 0 {
			return errOrder
		}
	}
	return nil
}

// at returns element i, and where its key begins.
func (p page) at(i int) (element, int, error) {
	order := binary.NativeEndian
	begin := pageHeader + i*pageElement
	h := p[begin:][:pageElement]
	var e element
	var start, key, value uint64
	if p.leaf() {
		e.bucket = order.Uint32(h)&leafBucket != 0
		start, key, value = uint64(order.Uint32(h[4:])), uint64(order.Uint32(h[8:])), uint64(order.Uint32(h[12:]))
	} else {
		start, key, e.child = uint64(order.Uint32(h)), uint64(order.Uint32(h[4:])), order.Uint64(h[8:])
	}
	if start += uint64(begin); start+key+value > uint64(len(p)) {
		return element{}, 0, errors.New("has an element outside the page")
	}
	if key == 0 {
		return element{}, 0, errors.New("has an empty key")
	}
	e.key, e.value = p[start:][:key:key], p[start+key:][:value:value]
	return e, int(start), nil
}

// element returns element i of a page that has been checked.
func (p page) element(i int) element {
	e, _, err := p.at(i)
	if err != nil {
		panic(err)
	}
	return e
}

// toward returns the number of the element of a branch below which a key is, if anywhere.
func (p page) toward(key []byte) (int, error) {
	n, err := p.search(key)
	if err == nil && n < p.count() {
		var e element
		if e, _, err = p.at(n); bytes.Equal(e.key, key) {
			return n, nil
		}
	}
	return max(n-1, 0), err
}

// below returns the page that element i of a branch points to, and the bounds of the keys there.
// high is that of the branch.
func (p page) below(i int, high []byte) (child uint64, from, to []byte) {
	e := p.element(i)
	if i+1 < p.count() {
		high = p.element(i + 1).key
	}
	return e.child, e.key, high
}

// search returns the number of elements whose keys are smaller than key.
func (p page) search(key []byte) (int, error) {
	low, high := 0, p.count()
	for low < high {
		middle := (low + high) / 2
		e, _, err := p.at(middle)
		if err != nil {
			return 0, err
		}
		if bytes.Compare(e.key, key) < 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, nil
}
