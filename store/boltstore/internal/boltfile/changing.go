package boltfile

import (
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// Changing is a bucket in the writer's transaction. bbolt reads and writes it, once the pages
// on the way to the key have been checked: bbolt follows a page that refers to itself until
// the process ends. Of the pages that bbolt may merge with them, only the neighbors of a leaf
// that loses a key are checked. Its methods panic like the methods of an image.
type Changing struct {
	*bolt.Bucket
	Was *Bucket // when the transaction began; nil: it was made since

	path   [maxDepth + 1]uint64 // the pages that were checked last, from the root on
	beside uint64               // the leaf whose neighbors were checked last
}

// Get returns the value of a key, or nil.
func (b *Changing) Get(key []byte) []byte {
	b.Check(key)
	return b.Bucket.Get(key)
}

// Put sets the value of a key.
func (b *Changing) Put(key, value []byte) error {
	b.Check(key)
	if err := b.Bucket.Put(key, value); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// Delete removes a key, if it exists.
func (b *Changing) Delete(key []byte) error {
	b.checkBeside(b.check(key))
	if err := b.Bucket.Delete(key); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return nil
}

// Check checks the pages from the root to the leaf of a key, as they were when the transaction
// began.
func (b *Changing) Check(key []byte) { b.check(key) }

// check is Check. It returns the branch above the leaf, and which of its elements that is.
func (b *Changing) check(key []byte) (above step, depth int) {
	if b.Was == nil || b.Was.root == 0 { // a small bucket was checked when the round began
		return step{}, 0
	}
	defer b.Was.blame()
	id, low, high := b.Was.root, []byte(nil), []byte(nil)
	for ; ; depth++ {
		p := b.Was.page(id, depth)
		if b.path[depth] != id {
			b.Was.checked(id, depth, low, high)
			b.path[depth] = id
		}
		if p.leaf() {
			return above, depth
		}
		above = step{page: p, i: p.toward(key), high: high}
		id, low, high = p.child(above.i, high)
	}
}

// checkBeside checks the leaves beside a leaf.
func (b *Changing) checkBeside(above step, depth int) {
	if above.page == nil || b.beside == above.childID(above.i) {
		return
	}
	for _, i := range []int{above.i - 1, above.i + 1} {
		if i >= 0 && i < above.count() {
			id, low, high := above.child(i, above.high)
			b.Was.checked(id, depth, low, high)
		}
	}
	b.beside = above.childID(above.i)
}
