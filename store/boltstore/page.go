package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
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

// begins checks what says how much there is: the number of elements, where the first one has
// its key, and where the last one ends. A page is as many units long as it needs: pages of the
// file, or bytes, if it is of a small bucket.
func (p page) begins(unit uint64) error {
	if len(p) < pageHeader {
		return errors.New("has no header")
	}
	order := binary.NativeEndian
	count := p.count()
	if kind := order.Uint16(p[8:]); kind != pageLeaf && kind != pageBranch || pageHeader+count*pageElement > len(p) {
		return errors.New("is not a tree page")
	}
	end := pageHeader
	if count > 0 {
		_, begin, err := p.at(0)
		if err != nil {
			return err
		}
		if begin != pageHeader+count*pageElement {
			return errors.New("has another number of elements than it says")
		}
		e, begin, err := p.at(count - 1)
		if err != nil {
			return err
		}
		end = begin + len(e.key) + len(e.value)
	} else if unit > 1 {
		return errors.New("has no elements")
	}
	if (uint64(end)+unit-1)/unit*unit != uint64(len(p)) {
		return errors.New("has another size than it says")
	}
	return nil
}

// check checks the rest of a page that begins as it should. Its keys must be in order, at
// least low and below high; nil: no bound. loose: it is enough that one is there; the others
// may be damaged.
func (p page) check(loose bool, low, high []byte) error {
	next, in := pageHeader+p.count()*pageElement, 0
	var last []byte
	for i := range p.count() {
		e, begin, err := p.at(i)
		if err != nil {
			return err
		}
		if begin != next {
			return errors.New("has elements that do not follow each other")
		}
		next = begin + len(e.key) + len(e.value)
		if between(low, e.key, high) && (i == 0 || loose || bytes.Compare(last, e.key) < 0) {
			in++
		}
		last = e.key
	}
	if in < p.count() && (in == 0 || !loose) {
		return errOrder
	}
	return nil
}

// within checks only the first and the last key of a page whose others are between them.
func (p page) within(low, high []byte) error {
	for _, i := range []int{0, p.count() - 1} {
		if e, _, err := p.at(i); err != nil {
			return err
		} else if !between(low, e.key, high) {
			return errOrder
		}
	}
	return nil
}

func between(low, key, high []byte) bool {
	return bytes.Compare(low, key) <= 0 && (high == nil || bytes.Compare(key, high) < 0)
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
