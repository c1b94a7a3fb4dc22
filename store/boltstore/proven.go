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

// Delete also proves the pages beside those on the way to the key, which bbolt may merge with
// them.
func (b *changing) Delete(key []byte) error {
	b.prove(key, true)
	if err := b.Bucket.Delete(key); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return nil
}

// prove checks the pages from the root to the leaf of a key, unless they are proven.
func (b *changing) prove(key []byte, beside bool) {
	if b.was.root == 0 {
		return // it is small, and was checked when the round began
	}
	if b.known && !beside && between(b.low, key, b.high) {
		return
	}
	var low, high []byte
	id := b.was.root
	for depth := 0; ; depth++ {
		p := b.page(id, depth, low, high)
		if p.leaf() {
			b.known, b.low, b.high = true, low, high
			return
		}
		n := p.toward(key)
		if beside {
			for _, i := range []int{n - 1, n + 1} {
				if i >= 0 && i < p.count() {
					sibling, from, to := p.child(i, high)
					b.page(sibling, depth+1, from, to)
				}
			}
		}
		id, low, high = p.child(n, high)
	}
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
func (b *changing) page(id uint64, depth int, low, high []byte) page {
	if !b.proven.has(id) {
		p := b.was.checked(id, depth, false /* loose */, low, high)
		b.proven.add(id)
		return p
	}
	p := b.was.page(id, depth)
	if err := p.within(low, high); err != nil { // what points to it may be wrong
		b.was.damage(id, err)
	}
	return p
}
