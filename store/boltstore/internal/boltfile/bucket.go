package boltfile

import (
	"bytes"
	"errors"
	"fmt"
)

// Bucket is a bucket of an image.
type Bucket struct {
	im    *Image
	name  []byte
	root  uint64 // page; 0: the bucket is small
	small page

	buckets bool // it is the bucket of all buckets
}

// PageError is a fault of a page, with its bucket.
type PageError struct {
	Bucket []byte
	err    error
}

// NewPageError returns a fault of a page of a bucket.
func NewPageError(bucket []byte, err error) error { return &PageError{bucket, err} }

// Error describes the fault.
func (e *PageError) Error() string { return e.err.Error() }

// damage panics with the fault of a page.
func (b *Bucket) damage(id uint64, err error) {
	panic(&PageError{b.name, fmt.Errorf("page %d, of %s, %w", id, b.name, err)})
}

// blame adds the bucket to the error of a page that could not be read. It is deferred.
func (b *Bucket) blame() {
	switch p := recover().(type) {
	case nil:
	case *PageError:
		panic(p)
	default:
		panic(&PageError{b.name, fmt.Errorf("a page of %s: %v", b.name, p)})
	}
}

// page returns a page of b that begins as it should; 0: that of a small bucket.
func (b *Bucket) page(id uint64, depth int) page {
	if depth > maxDepth {
		b.damage(id, errors.New("is its own ancestor"))
	}
	p, unit := b.small, uint64(1)
	if b.root != 0 {
		var err error
		if p, err = b.im.page(id); err != nil {
			panic(&PageError{b.name, fmt.Errorf("bucket %s: %w", b.name, err)})
		}
		unit = b.im.size
	}
	if err := p.begins(unit); err != nil {
		b.damage(id, err)
	}
	return p
}

// checked returns a page of b that passes all checks.
func (b *Bucket) checked(id uint64, depth int, low, high []byte) page {
	p := b.page(id, depth)
	if err := p.check(b.buckets, low, high); err != nil {
		b.damage(id, err)
	}
	return p
}

// Name returns the name of the bucket.
func (b *Bucket) Name() []byte { return b.name }

// Get returns the value of a key, or nil if the key does not exist. The pages that prove its
// absence have been checked.
func (b *Bucket) Get(key []byte) []byte {
	value, _ := b.find(key)
	return value
}

// find returns the value of a key.
func (b *Bucket) find(key []byte) (value []byte, found bool) {
	defer b.blame()
	id := b.root
	for depth := 0; ; depth++ {
		p := b.page(id, depth)
		if !p.leaf() {
			id = p.childID(p.toward(key))
			continue
		}
		if n := p.search(key); n < p.count() && bytes.Equal(p.key(n), key) {
			value, is := p.value(n)
			if is != b.buckets {
				b.damage(id, errKind)
			}
			return value, true
		}
		b.Cursor().Seek(key) // checks the pages that were used
		return nil, false
	}
}

// Cursor returns a cursor over keys in order. It checks each page that it comes to.
func (b *Bucket) Cursor() *Cursor {
	return &Cursor{b: b}
}
