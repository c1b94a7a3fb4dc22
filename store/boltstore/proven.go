package boltstore

import (
	"bytes"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// proven is the pages on which the writer may build: those that it has checked, and those
// that this process has written. bbolt would copy what a damaged page seems to have into the
// next commit, where nobody could tell any more.
type proven struct {
	before uint64   // pages from here on did not exist when the file was opened
	pages  []uint64 // a bit for each page before
}

func newProven(pages uint64) proven {
	return proven{before: pages, pages: make([]uint64, pages/64+1)}
}

func (p *proven) has(id uint64) bool { return id >= p.before || p.pages[id/64]&(1<<(id%64)) != 0 }

func (p *proven) add(id uint64) {
	if id < p.before {
		p.pages[id/64] |= 1 << (id % 64)
	}
}

// changing is a bucket in the writer's transaction. bbolt reads and writes it, and only what
// has been proven. It panics as an image does.
type changing struct {
	*bolt.Bucket
	was    bucket // when the transaction began
	proven *proven

	above  map[uint64]checked // branches above leaves that keys were deleted from, unless one is the root
	leaves int                // depth of leaves, if there are such branches

	// The bounds of the leaf that was proven last.
	known     bool
	low, high []byte
}

func (b *changing) Get(key []byte) []byte {
	b.prove(key, false)
	return b.Bucket.Get(key)
}

func (b *changing) Put(key, value []byte) error {
	b.prove(key, false)
	if err := b.Bucket.Put(key, value); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// Delete also proves the leaves beside that of the key, which bbolt may merge with it; see
// proveMerges for the branches.
func (b *changing) Delete(key []byte) error {
	b.prove(key, true)
	if err := b.Bucket.Delete(key); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return nil
}

// prove checks the pages from the root to the leaf of a key, unless they are proven. deletes:
// the key is to be deleted.
func (b *changing) prove(key []byte, deletes bool) {
	if b.was.root == 0 {
		return // it is small, and was checked when the round began
	}
	if b.known && !deletes && between(b.low, key, b.high) {
		return
	}
	at, above, depth := b.page(b.was.root, 0, nil, nil), checked{}, 0
	for ; !at.leaf(); depth++ {
		at, above = b.child(at, at.toward(key), depth+1), at
	}
	b.known, b.low, b.high = true, at.low, at.high
	if !deletes || depth == 0 {
		return
	}
	b.before(at, depth)
	b.after(at, depth)
	if depth > 1 {
		above.deleted = b.above[above.id].deleted + 1
		if b.above == nil {
			b.above = map[uint64]checked{}
		}
		b.above[above.id], b.leaves = above, depth
	}
}

// checked is a page that is proven, and the bounds of its keys.
type checked struct {
	page
	id        uint64
	low, high []byte
	deleted   int // keys from the leaves below it
}

// child returns the page that element i of a branch points to.
func (b *changing) child(of checked, i, depth int) checked {
	id, low, high := of.page.child(i, of.high)
	return b.page(id, depth, low, high)
}

// proveMerges proves the branches that bbolt may merge when it commits: one that has become
// small with the one beside it, and if that has not made it large, with the next one. The few
// branches above those are all proven.
func (b *changing) proveMerges() {
	for _, at := range b.above {
		if b.staysLarge(at) {
			continue
		}
		for _, next := range []func(checked, int) (checked, bool){b.before, b.after} {
			p, ok := next(at, b.leaves-1)
			for ok && b.above[p.id].deleted == 0 && !b.staysLarge(p) {
				p, ok = next(p, b.leaves-1)
			}
		}
	}
	for depth := 1; depth < b.leaves-1; depth++ {
		for p, ok := b.after(checked{high: []byte{}}, depth); ok; {
			p, ok = b.after(p, depth)
		}
	}
}

// staysLarge reports whether a branch above leaves is not merged because of its size. A leaf
// that keys are deleted from costs one element at most, and one may be merged with a leaf before
// the first one.
func (b *changing) staysLarge(p checked) bool {
	size, largest, lost := pageHeader, 0, p.deleted+1
	for i := range p.count() {
		n := pageElement + len(p.key(i))
		size, largest = size+n, max(largest, n)
	}
	return p.count()-lost > 2 && size-lost*largest > int(b.was.im.size)/2
}

// before returns the page before one on its level, if there is one.
func (b *changing) before(at checked, depth int) (p checked, ok bool) {
	key := at.low
	p = b.page(b.was.root, 0, nil, nil)
	for level := 1; level <= depth; level++ {
		switch n := p.search(key); {
		case n > 0:
			p = b.child(p, n-1, level)
		case level == 1:
			return checked{}, false
		default: // its first child does not begin where it does
			key, p, level = p.low, b.page(b.was.root, 0, nil, nil), 0
		}
	}
	return p, true
}

// after returns the page after one on its level, if there is one.
func (b *changing) after(at checked, depth int) (p checked, ok bool) {
	if at.high == nil {
		return checked{}, false
	}
	p = b.page(b.was.root, 0, nil, nil)
	for level := 1; level <= depth; level++ {
		p = b.child(p, p.toward(at.high), level)
	}
	return p, true
}

// proveTo proves the leaf of a key, those after it whose keys are below end, and one more: a
// cursor reads as far. nil: there is no end.
func (b *changing) proveTo(key, end []byte) {
	for past := false; ; key = b.high {
		b.prove(key, false)
		if past || b.high == nil {
			return
		}
		past = end != nil && bytes.Compare(b.high, end) >= 0
	}
}

// page returns a page of b, which is proven then.
func (b *changing) page(id uint64, depth int, low, high []byte) checked {
	if !b.proven.has(id) {
		p := b.was.checked(id, depth, false /* loose */, low, high)
		b.proven.add(id)
		return checked{page: p, id: id, low: low, high: high}
	}
	p := b.was.page(id, depth)
	if err := p.within(b.was.has, low, high); err != nil { // what points to it may be wrong
		b.was.damage(id, err)
	}
	return checked{page: p, id: id, low: low, high: high}
}
